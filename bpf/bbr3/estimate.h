/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inputs of inputs.h from what a stock kernel shows: the only place that guesses. Three are rebuilt, nearly exactly:
 * how much was lost since a packet was sent (from a history of losses), that a tail loss probe was ACKed, and that it repaired
 * a loss. Two are approximate: what was in flight when a packet was sent (from a history of sends), and which flight a lost
 * packet was of (that of the packet ACKed last, which was sent shortly before or after it).
 *
 * A guess that is wrong must be wrong on the careful side: too little in flight and too much lost end a probe too soon, which
 * costs some bandwidth until the next one. Without the second part of the state there is no history: there
 * any loss is too much for a probe.
 */
#ifndef BBR_ESTIMATE_H
#define BBR_ESTIMATE_H

#include "callbacks.h"

static inline const struct bbr_loss *bbr_loss_at(const struct bbr_more *more, u32 age)
{
	return &more->losses[(more->n_losses - 1 - age) % BBR_LOSSES];
}

static inline const struct bbr_send *bbr_send_at(const struct bbr_more *more, u32 age)
{
	return &more->sends[(more->n_sends - 1 - age) % BBR_SENDS];
}

static inline void bbr_init_estimate(struct bbr *b, const struct bbr_sock *sk)
{
	struct bbr_more *more = sk->more;

	b->last_lost = IN(sk, lost);
	b->in_order = 1;
	if (!more)
		return;
	more->tx_in_flight = 0;
	more->prior_lost = IN(sk, lost);
	more->is_app_limited = 0;
	more->n_losses = 0;
	more->n_sends = 0;
	more->lost_before = IN(sk, lost);
}

/*
 * Notes that something was marked lost. 128 entries last for more than a round: those that are nearer to each other
 * than that share one, which keeps the newer count, so that too little may seem lost, but soon no more.
 */
static inline void bbr_note_losses(struct bbr_more *more, const struct bbr_sock *sk)
{
	struct bbr_loss *loss = &more->losses[(more->n_losses - 1) % BBR_LOSSES];
	u32 lost = IN(sk, lost), delivered = IN(sk, delivered);

	if (lost == (more->n_losses ? loss->lost : more->lost_before))
		return;
	if (more->n_losses && delivered - loss->delivered < IN(sk, inflight) / BBR_LOSSES) {
		loss->lost = lost;
		return;
	}
	loss = &more->losses[more->n_losses % BBR_LOSSES];
	if (more->n_losses >= BBR_LOSSES)
		more->lost_before = loss->lost;
	more->n_losses++;
	*loss = (struct bbr_loss){ delivered, IN(sk, snd_nxt), lost };
}

/* Was the packet that is ACKed sent before this entry? What is sent anew comes after what was sent for the first time. */
static inline bool bbr_is_later(const struct bbr_loss *loss, u32 prior_delivered, u32 end_seq,
				bool is_retrans)
{
	if (loss->delivered != prior_delivered)
		return after(loss->delivered, prior_delivered);
	return !is_retrans && !after(end_seq, loss->snd_nxt);
}

/* The number of entries after the packet that is ACKed: a binary search. */
static inline u32 bbr_search_losses(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
				    bool is_retrans)
{
	u32 n = min_u32(more->n_losses, BBR_LOSSES), later = 0;

	for (u32 step = BBR_LOSSES; step; step /= 2)
		if (later + step <= n && bbr_is_later(bbr_loss_at(more, later + step - 1),
						      prior_delivered, end_seq, is_retrans))
			later += step;
	return later;
}

static inline u32 bbr_search_sends(const struct bbr_more *more, u32 prior_delivered)
{
	u32 n = min_u32(more->n_sends, BBR_SENDS), later = 0;

	for (u32 step = BBR_SENDS; step; step /= 2)
		if (later + step <= n &&
		    after(bbr_send_at(more, later + step - 1)->delivered, prior_delivered))
			later += step;
	return later;
}

/*
 * In BPF both are functions that the verifier goes through apart, once: or it would go through all that follows for each
 * way through them. It thinks that more may be NULL.
 */
#ifdef __bpf__
#define BBR_APART __attribute__((noinline))
#else
#define BBR_APART static inline
#endif

BBR_APART u32 bbr_losses_after(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
			       bool is_retrans)
{
	return more ? bbr_search_losses(more, prior_delivered, end_seq, is_retrans) : 0;
}

BBR_APART u32 bbr_sends_after(const struct bbr_more *more, u32 prior_delivered)
{
	return more ? bbr_search_sends(more, prior_delivered) : 0;
}

/* `lost` when the packet that is ACKed was sent: that of the newest entry before it. */
static inline u32 bbr_prior_lost(const struct bbr_more *more, const struct bbr_rs *rs)
{
	u32 later = bbr_losses_after(more, rs->prior_delivered, rs->last_end_seq, rs->is_retrans);

	if (later < min_u32(more->n_losses, BBR_LOSSES))
		return bbr_loss_at(more, later)->lost;
	return more->lost_before;
}

/* Notes what was in flight after an ACK, 32 times a round. */
static inline void bbr_note_send(struct bbr_more *more, const struct bbr_sock *sk)
{
	const struct bbr_send *newest = bbr_send_at(more, 0);
	u32 inflight = IN(sk, inflight), delivered = IN(sk, delivered);

	if (more->n_sends && delivered - newest->delivered <= inflight / BBR_SENDS)
		return;
	more->sends[more->n_sends % BBR_SENDS] =
		(struct bbr_send){ delivered, IN(sk, snd_nxt), inflight };
	more->n_sends++;
}

/* What the ACK left of a larger packet, if nothing is SACKed. */
static inline u32 bbr_rest(const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	if (!after(rs->last_end_seq, IN(sk, snd_una)))
		return 0;
	return quotient(rs->last_end_seq - IN(sk, snd_una), IN(sk, mss));
}

/*
 * What was in flight when the packet was sent has by now been delivered or lost, all of it: first in, first out. That
 * needs no history, but reordering spoils it. What the ACK left of a larger packet was in flight, too.
 */
static inline u32 bbr_inflight_by_delivery(const struct bbr_sock *sk, const struct bbr_rs *rs,
					   u32 lost)
{
	return rs->delivered + lost + (IN(sk, sacked_out) ? 0 : bbr_rest(sk, rs));
}

/* The same for new data, from what was in flight at the last note before it: plus what was sent since, less what arrived. */
static inline u32 bbr_inflight_by_send(const struct bbr_sock *sk, const struct bbr_rs *rs,
				       const struct bbr_send *send)
{
	s32 beyond = rs->last_end_seq - send->snd_nxt;
	u32 arrived = rs->prior_delivered - send->delivered, mss = IN(sk, mss), inflight;

	if (beyond > 0)
		inflight = send->inflight + quotient(beyond + mss - 1, mss);
	else
		inflight = send->inflight - min_u32(quotient(-(u32)beyond, mss), send->inflight);
	return inflight > arrived ? inflight - arrived : 1;
}

static inline u32 bbr_tx_in_flight(const struct bbr_more *more, const struct bbr_sock *sk,
				   const struct bbr_rs *rs, u32 lost)
{
	u32 later = bbr_sends_after(more, rs->prior_delivered);

	if (rs->is_retrans || later >= min_u32(more->n_sends, BBR_SENDS))
		return bbr_inflight_by_delivery(sk, rs, lost);
	return bbr_inflight_by_send(sk, rs, bbr_send_at(more, later));
}

/* The flight of the packet that was ACKed last. */
static inline struct bbr_flight bbr_last_flight(const struct bbr_sock *sk)
{
	const struct bbr_more *more = sk->more;

	if (!more)
		return (struct bbr_flight){};
	return (struct bbr_flight){ more->tx_in_flight, IN(sk, lost) - more->prior_lost,
				    more->is_app_limited };
}

static inline void bbr_remember_flight(struct bbr_more *more, const struct bbr_sock *sk,
				       const struct bbr_rs *rs, bool is_app_limited)
{
	more->prior_lost = bbr_prior_lost(more, rs);
	more->tx_in_flight = bbr_tx_in_flight(more, sk, rs, IN(sk, lost) - more->prior_lost);
	more->is_app_limited = is_app_limited;
}

/* Without history: no more than there was before this ACK, and if something is lost all of it is. */
static inline struct bbr_flight bbr_rough_flight(const struct bbr_sock *sk, const struct bbr_rs *rs,
						 u32 marked, bool is_app_limited)
{
	u32 inflight = bbr_inflight_by_delivery(sk, rs, marked);

	inflight = min_u32(inflight, rs->prior_in_flight);
	return (struct bbr_flight){ inflight, marked ? inflight : 0, is_app_limited };
}

static inline u32 bbr_newly_lost(const struct bbr *b, const struct bbr_sock *sk)
{
	return (IN(sk, lost) - b->last_lost) & ((1u << BBR_MARK_BITS) - 1);
}

/* Packets marked lost since this was last asked. */
static inline u32 bbr_take_newly_lost(struct bbr *b, const struct bbr_sock *sk)
{
	u32 marked = bbr_newly_lost(b, sk);

	b->last_lost = IN(sk, lost);
	return marked;
}

/* From now on sends are noted. What was noted before is too old. */
static inline void bbr_start_notes(struct bbr *b, struct bbr_more *more)
{
	if (b->in_order && more)
		more->n_sends = 0;
	b->in_order = 0;
}

/* Takes losses that a timer has marked, or an ACK that is not looked at yet. */
static inline u32 bbr_catch_up(struct bbr *b, struct bbr_sock *sk)
{
	u32 marked = bbr_take_newly_lost(b, sk);
	struct bbr_flight flight;

	if (!marked)
		return 0;
	bbr_start_notes(b, sk->more);
	if (sk->more)
		bbr_note_losses(sk->more, sk);
	flight = bbr_last_flight(sk);
	bbr_lose(b, sk, &flight, marked);
	return marked;
}

/*
 * While packets come in the order in which they were sent, and none is lost, the flight needs no history and is no guess:
 * all of it was delivered since, and nothing was lost of it. (No recovery can be under way: it began with losses, and
 * they are of the flight until it is over.)
 */
static inline bool bbr_is_in_order(const struct bbr *b, const struct bbr_sock *sk,
				   const struct bbr_rs *rs)
{
	return b->in_order && !IN(sk, sacked_out) && !IN(sk, tlp_high_seq) && rs->delivered >= 0 &&
	       !bbr_newly_lost(b, sk);
}

static inline void bbr_estimate_in_order(struct bbr *b, const struct bbr_sock *sk,
					 const struct bbr_rs *rs, struct bbr_ack *ack)
{
	struct bbr_more *more;

	*ack = (struct bbr_ack){
		.flight.tx_in_flight = rs->delivered + bbr_rest(sk, rs),
		.flight.is_app_limited = bbr_is_app_limited(b, rs),
		.delivered_ce = IN(sk, uses_ecn) ? rs->delivered_ce : 0,
	};
	/* Losses that a timer marks are of the flight that was ACKed last. That matters only if probing sent it. */
	if (b->acks == BBR_ACKS_INIT)
		return;
	more = MORE(sk);
	if (!more)
		return;
	more->tx_in_flight = ack->flight.tx_in_flight;
	more->prior_lost = IN(sk, lost);
	more->is_app_limited = ack->flight.is_app_limited;
}

/* The flight from the history, and the losses of this ACK. An ACK of nothing new is of no flight. */
static inline void bbr_estimate_by_history(struct bbr *b, struct bbr_sock *sk,
					   const struct bbr_rs *rs, struct bbr_ack *ack)
{
	struct bbr_more *more = sk->more;
	bool is_app_limited = bbr_is_app_limited(b, rs);
	u32 marked = bbr_take_newly_lost(b, sk);
	struct bbr_flight flight;

	*ack = (struct bbr_ack){
		.flight.is_app_limited = is_app_limited,
		.delivered_ce = IN(sk, uses_ecn) ? rs->delivered_ce : 0,
		.acks_tlp = IN(sk, tlp_high_seq) && !before(IN(sk, snd_una), IN(sk, tlp_high_seq)),
	};
	bbr_start_notes(b, more);
	if (more)
		bbr_note_losses(more, sk);
	if (rs->delivered >= 0 && more)
		bbr_remember_flight(more, sk, rs, is_app_limited);
	if (rs->delivered >= 0)
		ack->flight = more ? bbr_last_flight(sk) :
				     bbr_rough_flight(sk, rs, marked, is_app_limited);
	flight = rs->delivered >= 0 ? ack->flight : bbr_last_flight(sk);
	if (marked)
		bbr_lose(b, sk, &flight, marked);
	b->in_order = rs->delivered >= 0 && !marked && !ack->flight.lost && !IN(sk, sacked_out) &&
		      IN(sk, ca_state) == TCP_CA_Open;
}

/* What an ACK tells; takes its losses. */
static inline void bbr_estimate_ack(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				    struct bbr_ack *ack)
{
	if (bbr_is_in_order(b, sk, rs))
		bbr_estimate_in_order(b, sk, rs, ack);
	else
		bbr_estimate_by_history(b, sk, rs, ack);
}

/*
 * The stack lowers the window for a loss that nothing was marked for: a tail loss probe that was a retransmission has
 * repaired it.
 */
static inline bool bbr_is_tail_loss(const struct bbr_sock *sk, u8 ca_state, u32 marked)
{
	return ca_state == TCP_CA_CWR && IN(sk, tlp_retrans) && !marked;
}

#endif
