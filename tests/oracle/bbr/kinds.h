/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ACK, run twice: by its kind (bpf/bbr/kind.h), as in cong_control, and by the algorithm for any
 * ACK. Both must give the same result. kinds.c describes what it does with this.
 */
#ifndef ORACLE_KINDS_H
#define ORACLE_KINDS_H

#include "replay.h"

#define KINDS_BATCH 1024 /* ACKs passed to the BPF program at once */

struct twice {
	struct replay of_kind, of_any;
};

static inline void run_of_kind(struct replay *r, const struct bbr_params *params)
{
	replay_callback(r, params);
}

/* True if bbr_main() gets the ACK. Here replay_callback() then calls that. */
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
	struct shell_sock sk = r->sk;

	sk.param = params;
	bbr_main(&r->b, &sk, &r->rs);
	r->sk = sk;
}

#endif
