/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kinds.c has to know of an algorithm: how its recorded ACKs are read, and what is worth to be changed of them. It is
 * compiled once for each, with its KINDS_H.
 */
#ifndef ORACLE_CHANGES_H
#define ORACLE_CHANGES_H

#include KINDS_H

#define LIKE_RECORDED 4 /* one in so many ACKs has the recorded parameters */

/* Takes the ACKs of a file, each into the next place; NULL: there are enough. Ends the program if it cannot be read. */
void read_recording(const char *path);
struct replay *next_ack(void);

/* Draws the parameters of a batch, and changes one thing of an ACK. */
void change_params(void);
void change(struct replay *r);
extern struct bbr_params params;

/* xorshift64* */
extern __u64 state;

static inline __u64 any(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static inline __u32 below(__u32 n)
{
	return (any() >> 32) * n >> 32;
}

static inline __u64 beside(__u64 v)
{
	return v + below(5) - 2;
}

/* Of any order of magnitude. */
static inline __u64 of_any_size(void)
{
	return any() >> below(64);
}

/* Within its range, more often at its ends than not. */
static inline __u32 within(__u32 lo, __u32 hi)
{
	switch (below(4)) {
	case 0:
		return lo;
	case 1:
		return hi;
	default:
		return lo + below(hi - lo + 1);
	}
}

#endif
