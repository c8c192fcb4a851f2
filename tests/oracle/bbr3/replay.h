/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A callback of BBR version 3 in the algorithm's form, with all of its inputs: the same source and
 * the same data natively and as BPF.
 */
#ifndef ORACLE_BBR3_REPLAY_H
#define ORACLE_BBR3_REPLAY_H

#include "bbr3/algorithm.h"
#include "common/clamp.h"

#include "record.h"

struct replay {
	struct bbr b; /* the state, before and after */
	struct bbr_more more; /* its second part */
	struct bbr_history history;
	struct shell_sock sk; /* inputs, and outputs before and after */
	struct shell_rs rs;
	/* Of a lost packet, or one that a tail loss probe repeated: its flight. */
	struct bbr_ack ack;
	u32 packets; /* number of packets that the lost one counts as */
	u32 returned;
	u8 kind; /* enum kind */
	u8 arg;
};

/*
 * In BPF this is a function with a stack frame of its own: sk is a copy, and with several copies on
 * one stack the verifier has too much to do.
 */
#ifdef __bpf__
#define REPLAY_APART static __attribute__((noinline))
#else
#define REPLAY_APART static inline
#endif

/* sk is a copy, because the verifier tracks its pointers only on the stack. */
static inline struct shell_sock replay_sock(struct replay *r, const struct bbr_params *params)
{
	struct shell_sock sk = r->sk;

	sk.param = params;
	sk.more = &r->more;
	sk.history = &r->history;
	return sk;
}

/*
 * An ACK of each kind is more code than all the rest: these functions are global, so that the
 * verifier explores each once, not once for each path to it. clang must not know that there is a
 * second part of the state: if it leaves out the tests for it, the verifier does not come to an
 * end.
 */
#ifdef __bpf__
#define REPLAY_ACK_APART __attribute__((noinline))
#define REPLAY_HIDE(pointer) barrier_var(pointer)
#else
#define REPLAY_ACK_APART static inline
#define REPLAY_HIDE(pointer)
#endif

#define REPLAY_ACK(name, of_kind)                                                    \
	REPLAY_ACK_APART int name(struct replay *r, const struct bbr_params *params) \
	{                                                                            \
		struct shell_sock sk;                                                \
                                                                                     \
		if (!r || !params)                                                   \
			return 0;                                                    \
		sk = replay_sock(r, params);                                         \
		sk.kind = of_kind;                                                   \
		REPLAY_HIDE(sk.more);                                                \
		REPLAY_HIDE(sk.history);                                             \
		bbr_acked(&r->b, &sk, &r->rs, &r->ack);                              \
		r->sk = sk;                                                          \
		return 0;                                                            \
	}

REPLAY_ACK(replay_fast_1_ack, SHELL_FAST_1)
REPLAY_ACK(replay_fast_2_ack, SHELL_FAST_2)
REPLAY_ACK(replay_regular_ack, SHELL_REGULAR)
REPLAY_ACK(replay_general_ack, SHELL_GENERAL)

/* True if nothing is lost, nothing marked, and no tail loss probe ACKed. */
static inline bool replay_is_clean(const struct replay *r)
{
	return !IN(&r->sk, uses_ecn) && !r->rs.losses && r->ack.flight.lost <= 0 &&
	       r->ack.delivered_ce <= 0 && !r->ack.acks_tlp;
}

/*
 * Chooses the kind as the shell does. The recorded flight says whether the ACK is in order: what a
 * stock kernel shows of that is left out.
 */
static inline void replay_ack(struct replay *r, const struct bbr_params *params)
{
	struct shell_sock sk = replay_sock(r, params);

	r->b.in_order = replay_is_clean(r);
	r->b.last_lost = IN(&sk, lost);
	if (r->ack.delivered_ce > 0)
		SET(&sk, uses_ecn, true); /* some recordings have marks without it */
	SET(&sk, reord_seen, 0);
	SET(&sk, sacked_out, 0);
	SET(&sk, tlp_high_seq, 0);
	switch (bbr_kind(&r->b, &sk, &r->rs)) {
	case SHELL_FAST_1:
		replay_fast_1_ack(r, params);
		break;
	case SHELL_FAST_2:
		replay_fast_2_ack(r, params);
		break;
	case SHELL_REGULAR:
		replay_regular_ack(r, params);
		break;
	default:
		replay_general_ack(r, params);
	}
}

static inline void replay_event(struct replay *r, struct shell_sock *sk)
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

REPLAY_APART int replay_other(struct replay *r, const struct bbr_params *params)
{
	struct shell_sock sk = replay_sock(r, params);

	switch (r->kind) {
	case KIND_INIT:
		bbr_start(&r->b, &sk);
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
	return 0;
}

static inline void replay_callback(struct replay *r, const struct bbr_params *params)
{
	if (r->kind == KIND_MAIN)
		replay_ack(r, params);
	else
		replay_other(r, params);
}

#endif
