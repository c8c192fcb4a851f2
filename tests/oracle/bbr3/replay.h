/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A callback of BBR version 3 as the algorithm takes it, with all of its inputs: natively and as BPF the same source and
 * the same data.
 */
#ifndef ORACLE_BBR3_REPLAY_H
#define ORACLE_BBR3_REPLAY_H

#include "bbr3/callbacks.h"
#include "clamp.h"

#include "record.h"

struct replay {
	struct bbr b; /* the state, before and after */
	struct bbr_more more; /* its second part */
	struct bbr_sock sk; /* inputs, and outputs before and after */
	struct bbr_rs rs;
	struct bbr_ack
		ack; /* of a lost packet, or one that a tail loss probe repeated: its flight */
	u32 packets; /* that the lost packet stood for */
	u32 returned;
	u8 kind; /* enum kind */
	u8 arg;
};

static inline void replay_event(struct replay *r, struct bbr_sock *sk)
{
	switch (r->arg) {
	case EVENT_TX_START:
		bbr_restart(&r->b, sk);
		break;
	case EVENT_ECN_NO_CE:
	case EVENT_ECN_IS_CE:
		bbr_receive_ce(sk, r->arg == EVENT_ECN_IS_CE);
		break;
	case EVENT_TLP_RECOVERY:
		bbr_lose_tail(&r->b, sk, r->ack.flight.is_app_limited);
		break;
	}
}

/* As bbr_main_if_common() has it. */
static inline void replay_ack(struct replay *r, struct bbr_sock *sk)
{
	switch (bbr_is_clean(&r->rs, &r->ack) ? bbr_kind(&r->b, sk, &r->rs) : 0) {
	case BBR_ORDINARY:
		bbr_acked_of_kind(&r->b, sk, &r->rs, &r->ack, BBR_ORDINARY);
		break;
	case BBR_CALM | BBR_LOSSLESS:
		bbr_acked_of_kind(&r->b, sk, &r->rs, &r->ack, BBR_CALM | BBR_LOSSLESS);
		break;
	default:
		bbr_acked(&r->b, sk, &r->rs, &r->ack);
	}
}

/* sk is a copy, because the verifier keeps track of its pointers only on the stack. */
static inline void replay_callback(struct replay *r, const struct bbr_params *params)
{
	struct bbr_sock sk = r->sk;

	sk.param = params;
	sk.more = &r->more;
	switch (r->kind) {
	case KIND_INIT:
		bbr_start(&r->b, &sk);
		break;
	case KIND_MAIN:
		replay_ack(r, &sk);
		break;
	case KIND_LOST:
		bbr_lose(&r->b, &sk, &r->ack.flight, r->packets);
		break;
	case KIND_EVENT:
		replay_event(r, &sk);
		break;
	case KIND_SSTHRESH:
		r->returned = bbr_enter_recovery(&r->b, &sk);
		break;
	case KIND_UNDO_CWND:
		r->returned = bbr_undo(&r->b, &sk);
		break;
	case KIND_SET_STATE:
		bbr_change_state(&r->b, &sk, r->arg);
		break;
	case KIND_TSO_SEGS:
		r->returned = bbr_tso_segs(&r->b, &sk, IN(&sk, gso_max_size));
		break;
	case KIND_SNDBUF_EXPAND:
		r->returned = PARAM(&sk, sndbuf_expand);
		break;
	}
	r->sk = sk;
}

#endif
