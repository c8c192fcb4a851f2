/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ACK of BBR version 3, run twice: as in cong_control, and as any ACK. ../bbr/kinds.h has the
 * same for version 1. An ACK of the general kind is left unchanged here: the verifier has enough to
 * do.
 */
#ifndef ORACLE_BBR3_KINDS_H
#define ORACLE_BBR3_KINDS_H

#include "bbr3/algorithm.h"
#include "replay.h"

#define KINDS_BATCH 1024 /* ACKs passed to the BPF program at once */

struct twice {
	struct replay of_kind, of_any;
};

/* The lowest bit of `packets` says whether there is memory for the second part of the state. */
static inline struct shell_sock kinds_sock(struct replay *r, const struct bbr_params *params)
{
	struct shell_sock sk = replay_sock(r, params);

	if (!(r->packets & 1))
		sk.more = NULL, sk.history = NULL;
	return sk;
}

#ifdef __bpf__
extern struct bbr_params params;
static struct bbr_ack ack_of_any;

/*
 * The parts of a run are global functions, so the verifier verifies each on its own, and each has a
 * stack: together they are too much for it.
 */
#define KINDS_PART(name, ...)                                \
	__attribute__((noinline)) int name(struct replay *r) \
	{                                                    \
		struct shell_sock sk;                        \
                                                             \
		if (!r)                                      \
			return 0;                            \
		sk = kinds_sock(r, &params);                 \
		__VA_ARGS__;                                 \
		r->sk = sk;                                  \
		return 0;                                    \
	}
#define KINDS_OF(KIND) sk.kind = KIND, bbr_main(&r->b, &sk, &r->rs)

KINDS_PART(choose_kind, sk.kind = bbr_kind(&r->b, &sk, &r->rs))
KINDS_PART(run_fast_1, KINDS_OF(SHELL_FAST_1))
KINDS_PART(run_fast_2, KINDS_OF(SHELL_FAST_2))
KINDS_PART(run_regular, KINDS_OF(SHELL_REGULAR))
KINDS_PART(estimate_any, sk.kind = SHELL_GENERAL, r->b.steps = 0,
	   bbr_estimate_ack(&r->b, &sk, &r->rs, &ack_of_any))
KINDS_PART(take_any, bbr_acked(&r->b, &sk, &r->rs, &ack_of_any))

static inline void run_of_kind(struct replay *r, const struct bbr_params *unused)
{
	choose_kind(r);
	if (r->sk.kind == SHELL_FAST_1)
		run_fast_1(r);
	else if (r->sk.kind == SHELL_FAST_2)
		run_fast_2(r);
	else if (r->sk.kind == SHELL_REGULAR)
		run_regular(r);
}

static inline void run_of_any(struct replay *r, const struct bbr_params *unused)
{
	estimate_any(r);
	take_any(r);
}
#else
static inline void run_of_kind(struct replay *r, const struct bbr_params *params)
{
	struct shell_sock sk = kinds_sock(r, params);

	sk.kind = bbr_kind(&r->b, &sk, &r->rs);
	if (sk.kind != SHELL_GENERAL)
		bbr_main(&r->b, &sk, &r->rs);
	r->sk = sk;
}

static inline void run_of_any(struct replay *r, const struct bbr_params *params)
{
	struct shell_sock sk = kinds_sock(r, params);

	bbr_main(&r->b, &sk, &r->rs);
	r->sk = sk;
}
#endif

static inline bool is_left(const struct replay *r)
{
	return r->sk.kind == SHELL_GENERAL;
}

static inline void forget_kind(struct replay *r)
{
	r->sk.kind = 0;
	r->sk.param = NULL;
	r->sk.more = NULL;
	r->sk.history = NULL;
}

#endif
