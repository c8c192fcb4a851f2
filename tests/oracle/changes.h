/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kinds.c needs from an algorithm: how to read its recorded ACKs, and what to change in them.
 * It is compiled once for each algorithm, with its KINDS_H.
 */
#ifndef ORACLE_CHANGES_H
#define ORACLE_CHANGES_H

#include KINDS_H

/*
 * Reads the ACKs of a file, each into next_ack(). That is NULL if there are enough. Ends the
 * program if the file cannot be read.
 */
void read_recording(const char *path);
struct replay *next_ack(void);

/* Changes one thing in an ACK. */
void change(struct replay *r);
extern struct bbr_params params, recorded_params; /* of this batch; of the recordings */

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

/* A number of any order of magnitude. */
static inline __u64 of_any_size(void)
{
	return any() >> below(64);
}

/* A number within the range, at one of its ends half of the time. */
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

static inline void change_aggregation(struct bbr *b, const struct shell_sock *sk, u64 bw)
{
	__u64 us = sk->delivered_mstamp - b->ack_epoch_mstamp;

	b->ack_epoch_acked =
		below(4) ? beside(bw * us >> BW_SCALE) : beside(params.ack_epoch_max[0]);
	b->extra_acked[below(2)] = below(3) ? below(100) : of_any_size();
	b->extra_acked_win_rtts = below(32);
}

static inline void change_socket(struct bbr *b, struct shell_sock *sk)
{
	switch (below(8)) {
	case 0:
		sk->cwnd = below(2) ? below(8) : of_any_size();
		break;
	case 1:
		sk->pacing_rate = of_any_size() >> 16;
		break;
	case 2:
		sk->mss = below(2) ? 1 + below(65535) : beside(sk->mss);
		break;
	case 3:
		sk->inflight = below(2) ? below(100) : of_any_size();
		break;
	case 4:
		sk->snd_cwnd_clamp = of_any_size();
		break;
	case 5:
		sk->max_pacing_rate = of_any_size();
		break;
	case 6:
		sk->srtt_us = below(2) * of_any_size();
		break;
	default:
		b->min_rtt_us = below(2) ? BBR_RTT_NONE : (__u32)of_any_size();
	}
}

#endif
