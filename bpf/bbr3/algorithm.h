/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the shell calls (shell.bpf.h): BBR version 3 (callbacks.h) with the inputs of a stock kernel (estimate.h).
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
	if (sk->more)
		bbr_note_send(sk->more, sk);
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

/* Losses of this ACK are taken after it: what is noted for an undo is from before them. */
static inline u32 bbr_ssthresh(struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_enter_recovery(b, sk);
}

static inline u32 bbr_undo_cwnd(struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_undo(b, sk);
}

/* The stack is about to send: what it sends knows of the losses so far. */
static inline u32 bbr_min_tso_segs(const struct bbr *b, struct bbr_sock *sk)
{
	if (sk->more)
		bbr_note_losses(sk->more, sk);
	return bbr_tso_segs(b, sk, IN(sk, gso_max_size));
}

static inline u32 bbr_sndbuf_expand(const struct bbr *b, const struct bbr_sock *sk)
{
	(void)b;
	return PARAM(sk, sndbuf_expand);
}

#endif
