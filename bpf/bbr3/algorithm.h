/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks that the shell calls (shell.bpf.h): BBR version 3 (callbacks.h) with the inputs of
 * a stock kernel (estimate.h).
 */
#ifndef BBR_ALGORITHM_H
#define BBR_ALGORITHM_H

#include "estimate.h"
#include "report.h"

static inline void bbr_init(struct bbr *b, struct bbr_sock *sk)
{
	b->steps = 0;
	b->drain_rounds = 0;
	b->raising = 0;
	if (sk->more) {
		sk->more->pacing_gain = 0;
		sk->more->cwnd_gain = 0;
	}
	bbr_init_estimate(b, sk);
	bbr_start(b, sk);
}

static inline void bbr_main(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs)
{
	struct bbr_ack ack;

	b->steps = 0;
	bbr_estimate_ack(b, sk, rs, &ack);
	bbr_acked(b, sk, rs, &ack);
	bbr_note_sends(b, sk);
}

static inline void bbr_main_of_kind(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				    u8 kind)
{
	struct bbr_ack ack;

	sk->kind = kind;
	b->steps = 0;
	bbr_estimate_in_order(b, sk, rs, &ack);
	bbr_acked_of_kind(b, sk, rs, &ack, kind);
	bbr_note_sends(b, sk);
}

/* Handles an ACK for which bbr_main_if_common() returned BBR_MAIN_STARTING. */
static inline void bbr_main_if_starting(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs)
{
	bbr_main_of_kind(b, sk, rs, BBR_CALM | BBR_LOSSLESS | BBR_STARTING);
}

/*
 * Handles an ACK for which it returned BBR_MAIN_RARE. DOWN has its own case, because where losses
 * or the headroom bound the flow it is not BBR_LOWERING, and may last.
 */
static inline void bbr_main_if_rare(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs)
{
	if (b->mode != BBR_PROBE_BW || !b->full_bw_reached)
		bbr_main_of_kind(b, sk, rs, BBR_CALM | BBR_LOSSLESS);
	else if (bbr_waits_in_down(b, sk, rs))
		bbr_main_of_kind(b, sk, rs, BBR_ORDINARY | BBR_WAITING);
	else
		bbr_main_of_kind(b, sk, rs, BBR_ORDINARY);
}

/*
 * Handles an ACK of the two most common kinds, in CRUISE and in DOWN. For any other it does
 * nothing, and returns which of these functions to call.
 */
static inline enum bbr_main_result bbr_main_if_common(struct bbr *b, struct bbr_sock *sk,
						      const struct bbr_rs *rs)
{
	u8 kind;

	if (!bbr_stays_in_order(b, sk, rs))
		return BBR_MAIN_ANY;
	kind = bbr_kind(b, sk, rs);
	if (kind == (BBR_ORDINARY | BBR_CRUISING)) {
		bbr_main_of_kind(b, sk, rs, BBR_ORDINARY | BBR_CRUISING);
		return BBR_MAIN_DONE;
	}
	if (kind == (BBR_ORDINARY | BBR_LOWERING)) {
		bbr_main_of_kind(b, sk, rs, BBR_ORDINARY | BBR_LOWERING);
		return BBR_MAIN_DONE;
	}
	if (kind & BBR_STARTING)
		return BBR_MAIN_STARTING;
	return kind ? BBR_MAIN_RARE : BBR_MAIN_ANY;
}

static inline void bbr_tx_start(struct bbr *b, struct bbr_sock *sk)
{
	b->steps = 0;
	bbr_restart(b, sk);
}

static inline void bbr_cwnd_event(struct bbr *b, struct bbr_sock *sk, u8 event)
{
	b->steps = 0;
	if (event == CA_EVENT_ECN_NO_CE || event == CA_EVENT_ECN_IS_CE)
		bbr_receive_ce(sk, event == CA_EVENT_ECN_IS_CE);
}

static inline void bbr_set_state(struct bbr *b, struct bbr_sock *sk, u8 ca_state)
{
	u32 marked;

	b->steps = 0;
	marked = bbr_catch_up(b, sk);
	if (bbr_is_tail_loss(sk, ca_state, marked))
		bbr_lose_tail(b, sk, sk->more && sk->more->is_app_limited);
	bbr_note_timeout(sk, ca_state);
	bbr_change_state(b, sk, ca_state);
}

/* The losses of this ACK are handled after it, so what is saved for an undo is from before them. */
static inline u32 bbr_ssthresh(struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_enter_recovery(b, sk);
}

static inline u32 bbr_undo_cwnd(struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_undo(b, sk);
}

/*
 * The stack is about to send: record the losses so far, so that what it sends counts as sent after
 * them.
 */
static inline u32 bbr_min_tso_segs(const struct bbr *b, struct bbr_sock *sk)
{
	struct bbr_more *more;

	if (bbr_newly_lost(b, sk)) {
		more = MORE(sk);
		if (more)
			bbr_note_losses(more, sk);
	}
	return bbr_tso_segs(b, sk, IN(sk, gso_max_size));
}

static inline u32 bbr_sndbuf_expand(const struct bbr *b, const struct bbr_sock *sk)
{
	(void)b;
	return PARAM(sk, sndbuf_expand);
}

#endif
