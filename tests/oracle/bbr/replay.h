/* SPDX-License-Identifier: GPL-2.0-only */
/* A callback in the algorithm's form: the same source and the same data natively and as BPF. */
#ifndef ORACLE_REPLAY_H
#define ORACLE_REPLAY_H

#include "bbr/algorithm.h"
#include "common/clamp.h"

#include "record.h"

struct replay {
	struct bbr b; /* the state, before and after */
	/* Inputs, and outputs before and after; param is set by replay_callback(). */
	struct shell_sock sk;
	struct shell_rs rs;
	u32 returned;
	u8 kind; /* enum callback_kind */
	u8 arg;
};

/* In each case bbr_main() is compiled for that kind. */
static inline void replay_ack(struct replay *r, struct shell_sock *sk)
{
	switch (bbr_kind(&r->b, sk, &r->rs)) {
	case SHELL_FAST_1:
		sk->kind = SHELL_FAST_1;
		bbr_main(&r->b, sk, &r->rs);
		break;
	case SHELL_FAST_2:
		sk->kind = SHELL_FAST_2;
		bbr_main(&r->b, sk, &r->rs);
		break;
	case SHELL_REGULAR:
		sk->kind = SHELL_REGULAR;
		bbr_main(&r->b, sk, &r->rs);
		break;
	default:
		sk->kind = SHELL_GENERAL;
		bbr_main(&r->b, sk, &r->rs);
	}
}

/*
 * Does what bpf/shell.bpf.h does with the algorithm. sk is a copy, because the verifier tracks its
 * pointer only on the stack.
 */
static inline void replay_callback(struct replay *r, const struct bbr_params *params)
{
	struct shell_sock sk = r->sk;

	sk.param = params;
	switch (r->kind) {
	case CB_INIT:
		bbr_init(&r->b, &sk);
		break;
	case CB_CONG_CONTROL:
		replay_ack(r, &sk);
		break;
	case CB_CWND_EVENT:
		if (r->arg == EVENT_TX_START)
			bbr_tx_start(&r->b, &sk);
		else
			bbr_cwnd_event(&r->b, &sk, r->arg);
		break;
	case CB_SET_STATE:
		bbr_set_state(&r->b, &sk, r->arg);
		break;
	case CB_SSTHRESH:
		r->returned = bbr_ssthresh(&r->b, &sk);
		break;
	case CB_UNDO_CWND:
		r->returned = bbr_undo_cwnd(&r->b, &sk);
		break;
	case CB_MIN_TSO_SEGS:
		r->returned = bbr_min_tso_segs(&r->b, &sk);
		break;
	case CB_SNDBUF_EXPAND:
		r->returned = bbr_sndbuf_expand(&r->b, &sk);
		break;
	}
	r->sk = sk;
}

#endif
