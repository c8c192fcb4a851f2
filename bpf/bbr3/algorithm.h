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
	bbr_note_sends(b, sk, rs);
}

static inline void bbr_main_of_kind(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				    u8 kind)
{
	struct bbr_ack ack;

	sk->kind = kind;
	b->steps = 0;
	if (bbr_is_recovering(sk))
		bbr_estimate_in_recovery(b, sk, rs, &ack);
	else
		bbr_estimate_in_order(b, sk, rs, &ack);
	bbr_acked_of_kind(b, sk, rs, &ack, kind);
	bbr_note_sends(b, sk, rs);
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

/* In a recovery: is it an ACK outside of PROBE_RTT whose flight nobody asks for? */
static inline u8 bbr_kind_if_unasked(const struct bbr *b, const struct bbr_sock *sk,
				     const struct bbr_rs *rs)
{
	return (b->flags & BBR_FLAGS(BBR_CALM_FLAGS)) == BBR_FLAGS(.has_seen_rtt = 1) &&
			       !bbr_is_flight_asked_in_recovery(b, sk, rs) ?
		       BBR_RECOVERING_CALM :
		       0;
}

/*
 * The kind of an ACK for which it returned BBR_MAIN_RECOVERING. 0: it is for bbr_main(). An ACK
 * that ends a loss round may cut the bounds if something was lost in it, and so end CRUISE. If the
 * kernel knows the flight, there is nothing to save. The first two kinds are among those whose
 * flight nobody asks for.
 */
static inline u8 bbr_kind_if_recovering(struct bbr *b, const struct bbr_sock *sk,
					const struct bbr_rs *rs)
{
	bool ends_loss_round;
	u64 flags;

	if (IN(sk, has_flight) || IN(sk, uses_ecn) || IN(sk, tlp_high_seq) || b->probe_samples ||
	    bbr_is_open(sk) || !bbr_is_sample_calm(b, sk, rs))
		return 0;
	READ_AGAIN();
	ends_loss_round = !before(rs->prior_delivered, b->loss_round_delivered);
	if (ends_loss_round && (bbr_newly_lost(b, sk) || rs->losses || b->loss_in_round))
		return bbr_kind_if_unasked(b, sk, rs);
	flags = b->flags & BBR_FLAGS(BBR_CALM_FLAGS, BBR_CYCLE_FLAGS);
	if (likely(flags == BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1,
				      .has_seen_rtt = 1) &&
		   bbr_waits_in(b, sk, BBR_CRUISE) && !bbr_is_app_limited(b, rs) &&
		   (IN(sk, ca_state) >= TCP_CA_Recovery || b->inflight_hi == BBR_COUNT_NONE)))
		return BBR_RECOVERING_CRUISE;
	if (flags == BBR_FLAGS(.mode = BBR_STARTUP, .has_seen_rtt = 1) && !ends_loss_round &&
	    bbr_stays_in_startup(b, sk, rs) && !bbr_is_app_limited(b, rs))
		return BBR_RECOVERING_STARTUP;
	return bbr_kind_if_unasked(b, sk, rs);
}

/* Handles such an ACK, if it is of a known kind. Returns false if not: then nothing was done. */
static inline bool bbr_main_if_recovering(struct bbr *b, struct bbr_sock *sk,
					  const struct bbr_rs *rs)
{
	u8 kind = bbr_kind_if_recovering(b, sk, rs);

	if (kind == BBR_RECOVERING_CRUISE)
		bbr_main_of_kind(b, sk, rs, BBR_RECOVERING_CRUISE);
	else if (kind == BBR_RECOVERING_STARTUP)
		bbr_main_of_kind(b, sk, rs, BBR_RECOVERING_STARTUP);
	else if (kind)
		bbr_main_of_kind(b, sk, rs, BBR_RECOVERING_CALM);
	return kind;
}

/* Outside of TCP_CA_Open there may be a kind after all: bbr_kind_if_recovering(). */
static inline enum bbr_main_result bbr_main_of_no_kind(const struct bbr_sock *sk)
{
	return bbr_is_open(sk) ? BBR_MAIN_ANY : BBR_MAIN_RECOVERING;
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
		return bbr_main_of_no_kind(sk);
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
	if (kind)
		return BBR_MAIN_RARE;
	return b->in_order ? BBR_MAIN_ANY : bbr_main_of_no_kind(sk);
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

/* Were losses marked that are not recorded yet, or is the burst longer than what the rate sends? */
static inline bool bbr_is_burst_rare(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_newly_lost(b, sk) || !bbr_is_burst_of_rate(b, sk);
}

/*
 * The stack is about to send: record the losses so far, so that what it sends counts as sent after
 * them. A burst of the rate is what the stack sends by itself (tcp_tso_autosize()), with up to 256
 * bytes more for the RTT as here. It needs to be told only of a longer one.
 */
static inline u32 bbr_min_tso_segs(const struct bbr *b, struct bbr_sock *sk)
{
	struct bbr_more *more;

	if (bbr_newly_lost(b, sk)) {
		more = MORE(sk);
		if (more)
			bbr_note_losses(more, sk);
	}
	if (likely(bbr_is_burst_of_rate(b, sk)))
		return IN(sk, min_tso_segs);
	return bbr_tso_segs(b, sk, IN(sk, gso_max_size));
}

static inline u32 bbr_sndbuf_expand(const struct bbr *b, const struct bbr_sock *sk)
{
	(void)b;
	return PARAM(sk, sndbuf_expand);
}

#endif
