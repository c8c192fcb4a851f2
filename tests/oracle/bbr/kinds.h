/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ACK twice: as cong_control deals with it, by its kind (bpf/bbr/kind.h), and by the algorithm as it is for any ACK.
 * Both must come to the same. kinds.c says what is done with it.
 */
#ifndef ORACLE_KINDS_H
#define ORACLE_KINDS_H

#include "replay.h"

#define KINDS_BATCH 1024 /* ACKs that the BPF program is given at once */

struct twice {
	struct replay of_kind, of_any;
};

static inline void run_of_kind(struct replay *r, const struct bbr_params *params)
{
	replay_callback(r, params);
}

/* Was it left to be dealt with as any? replay_callback() does that then. */
static inline bool is_left(const struct replay *r)
{
	(void)r;
	return false;
}

static inline void forget_kind(struct replay *r)
{
	r->sk.kind = 0;
}

static inline void run_of_any(struct replay *r, const struct bbr_params *params)
{
	struct bbr_sock sk = r->sk;

	sk.param = params;
	bbr_main(&r->b, &sk, &r->rs);
	r->sk = sk;
}

#endif
