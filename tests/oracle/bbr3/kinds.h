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
static inline struct bbr_sock kinds_sock(struct replay *r, const struct bbr_params *params)
{
	struct bbr_sock sk = replay_sock(r, params);

	if (!(r->packets & 1))
		sk.more = NULL, sk.history = NULL;
	return sk;
}

static inline void run_of_kind(struct replay *r, const struct bbr_params *params)
{
	struct bbr_sock sk = kinds_sock(r, params);

	switch (bbr_kind(&r->b, &sk, &r->rs)) {
	case BBR_FAST_1:
		sk.kind = BBR_FAST_1;
		bbr_main(&r->b, &sk, &r->rs);
		break;
	case BBR_FAST_2:
		sk.kind = BBR_FAST_2;
		bbr_main(&r->b, &sk, &r->rs);
		break;
	case BBR_REGULAR:
		sk.kind = BBR_REGULAR;
		bbr_main(&r->b, &sk, &r->rs);
		break;
	default:
		sk.kind = BBR_GENERAL;
	}
	r->sk = sk;
}

#ifdef __bpf__
/*
 * bbr_main() in two halves. They are global functions, so the verifier verifies each on its own:
 * together they are too much for it.
 */
extern struct bbr_params params;
static struct bbr_ack ack_of_any;

__attribute__((noinline)) int estimate_any(struct replay *r)
{
	struct bbr_sock sk;

	if (!r)
		return 0;
	sk = kinds_sock(r, &params);
	r->b.steps = 0;
	bbr_estimate_ack(&r->b, &sk, &r->rs, &ack_of_any);
	r->sk = sk;
	return 0;
}

__attribute__((noinline)) int take_any(struct replay *r)
{
	struct bbr_sock sk;

	if (!r)
		return 0;
	sk = kinds_sock(r, &params);
	bbr_acked(&r->b, &sk, &r->rs, &ack_of_any);
	r->sk = sk;
	return 0;
}

static inline void run_of_any(struct replay *r, const struct bbr_params *unused)
{
	estimate_any(r);
	take_any(r);
}
#else
static inline void run_of_any(struct replay *r, const struct bbr_params *params)
{
	struct bbr_sock sk = kinds_sock(r, params);

	bbr_main(&r->b, &sk, &r->rs);
	r->sk = sk;
}
#endif

static inline bool is_left(const struct replay *r)
{
	return r->sk.kind == BBR_GENERAL;
}

static inline void forget_kind(struct replay *r)
{
	r->sk.kind = 0;
	r->sk.param = NULL;
	r->sk.more = NULL;
	r->sk.history = NULL;
}

#endif
