/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inputs of struct bbr_ack from what a stock kernel shows: the only place that guesses. Nearly exact are how much was lost
 * since a packet was sent (from a history of losses), whether an ACK tells of marks, that a tail loss probe was ACKed, and that it
 * repaired a loss. Two are approximate: what was in flight when a packet was sent (from what was delivered since, which a
 * history of sends confirms), and which flight a lost packet was of (that of the packet ACKed last, which was sent shortly
 * before or after it). docs/fidelity.md says how far off they are.
 *
 * A guess that is wrong must be wrong on the careful side: too little in flight and too much lost end a probe too soon, which
 * costs some bandwidth until the next one. Without the second part of the state there is no history: there any loss is
 * too much for a probe. Where the kernel knows what a packet's flight was, nothing is guessed (socket.h: rs_has_flight).
 */
#ifndef BBR_ESTIMATE_H
#define BBR_ESTIMATE_H

#include "callbacks.h"

#define BBR_CRUISE_ROUNDS 8
#define BBR_FEW_LOSSES 4
#define BBR_SKB_TRUESIZE 512 /* no packet with data takes less memory; an ACK takes 2 bytes */

static inline const struct bbr_loss *bbr_loss_at(const struct bbr_more *more, u32 age)
{
	return &more->losses[(more->n_losses - 1 - age) % BBR_LOSSES];
}

static inline const struct bbr_send *bbr_send_at(const struct bbr_more *more, u32 age)
{
	return &more->sends[(more->n_sends - 1 - age) % BBR_SENDS];
}

/*
 * Is there no ECN? Otherwise in_order is never set, so an ACK that finds it set need not ask: a connection that has none when
 * bbr_init() is called gets none later.
 */
static inline bool bbr_can_be_in_order(const struct bbr_sock *sk)
{
	return !IN(sk, uses_ecn);
}

static inline void bbr_init_estimate(struct bbr *b, const struct bbr_sock *sk)
{
	struct bbr_more *more = sk->more;

	b->last_lost = IN(sk, lost);
	b->in_order = bbr_can_be_in_order(sk);
	if (!more)
		return;
	more->tx_in_flight = 0;
	more->prior_lost = IN(sk, lost);
	more->is_app_limited = 0;
	more->n_losses = 0;
	more->n_sends = 0;
	more->sends_before = 0;
	/* What is marked now and not ACKed was marked since the packets in flight were sent. */
	more->lost_before = IN(sk, lost) - IN(sk, lost_out);
	more->delivered_ce = IN(sk, delivered_ce);
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

/* Were at least so many entries made after the packet that is ACKed was sent? */
static inline bool bbr_are_losses_later(const struct bbr_more *more, u32 later, u32 prior_delivered,
					u32 end_seq, bool is_retrans)
{
	return later <= min_u32(more->n_losses, BBR_LOSSES) &&
	       bbr_is_later(bbr_loss_at(more, later - 1), prior_delivered, end_seq, is_retrans);
}

/* The number of entries after the packet that is ACKed: a binary search. */
static inline u32 bbr_search_losses(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
				    bool is_retrans)
{
	u32 later = 0;

	for (u32 step = BBR_LOSSES; step; step /= 2) {
		if (bbr_are_losses_later(more, later + step, prior_delivered, end_seq, is_retrans))
			later += step;
		/* Half way: so the verifier goes 16 and 16 ways, not 256. */
		if (step == BBR_LOSSES / 8)
			later = unknown_to_verifier(later, prior_delivered);
	}
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
 * In BPF these are functions that the verifier goes through apart, once: or it would go through all that follows for each
 * way through them. It thinks that more may be NULL.
 */
#ifdef __bpf__
#define BBR_APART __attribute__((noinline))
#else
#define BBR_APART static inline
#endif

BBR_APART u32 bbr_losses_searched(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
				  bool is_retrans)
{
	return more ? bbr_search_losses(more, prior_delivered, end_seq, is_retrans) : 0;
}

BBR_APART u32 bbr_sends_searched(const struct bbr_more *more, u32 prior_delivered)
{
	return more ? bbr_search_sends(more, prior_delivered) : 0;
}

/* Little of a flight is lost, so this looks at the newest entries first: that mostly saves 90 of the search's 130 instructions. */
static inline u32 bbr_find_losses(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
				  bool is_retrans)
{
	for (u32 later = 0; later < BBR_FEW_LOSSES; later++)
		if (!bbr_are_losses_later(more, later + 1, prior_delivered, end_seq, is_retrans))
			return later;
	return bbr_losses_searched(more, prior_delivered, end_seq, is_retrans);
}

/* Were exactly so many notes made after the packet? False as well if no note is from before it. */
static inline bool bbr_are_sends_after(const struct bbr_more *more, u32 later, u32 prior_delivered)
{
	return later < min_u32(more->n_sends, BBR_SENDS) &&
	       !after(bbr_send_at(more, later)->delivered, prior_delivered) &&
	       (!later || after(bbr_send_at(more, later - 1)->delivered, prior_delivered));
}

/*
 * Mostly the packet was sent shortly after the one that was ACKed before it: then the note before it is that of the last search, or
 * the next one, which saves half of the search's 90 instructions.
 */
static inline u32 bbr_find_sends(const struct bbr_more *more, u32 prior_delivered)
{
	u32 later = more->n_sends - more->sends_before;

	if (!bbr_are_sends_after(more, later, prior_delivered) &&
	    !bbr_are_sends_after(more, --later, prior_delivered))
		return bbr_sends_searched(more, prior_delivered);
	return later;
}

BBR_APART u32 bbr_losses_after(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
			       bool is_retrans)
{
	return more ? bbr_find_losses(more, prior_delivered, end_seq, is_retrans) : 0;
}

BBR_APART u32 bbr_sends_after(const struct bbr_more *more, u32 prior_delivered)
{
	return more ? bbr_find_sends(more, prior_delivered) : 0;
}

/* `lost` when the packet that is ACKed was sent: that of the newest entry before it. */
static inline u32 bbr_prior_lost(const struct bbr_more *more, const struct bbr_rs *rs)
{
	u32 later = bbr_losses_after(more, rs->prior_delivered, rs->last_end_seq, rs->is_retrans);

	if (later < min_u32(more->n_losses, BBR_LOSSES))
		return bbr_loss_at(more, later)->lost;
	return more->lost_before;
}

static inline u32 bbr_sent(const struct bbr_sock *sk)
{
	return IN(sk, delivered) + IN(sk, lost) + IN(sk, inflight);
}

/* Notes how much was sent, 32 times a round; so 64 notes last for two. Of those with the same count of deliveries the newer counts. */
static inline void bbr_note_send(struct bbr_more *more, const struct bbr_sock *sk)
{
	u32 since = IN(sk, delivered) - bbr_send_at(more, 0)->delivered;

	if (!more->n_sends || since > IN(sk, inflight) / (BBR_SENDS / 2))
		more->n_sends++;
	else if (since)
		return;
	more->sends[(more->n_sends - 1) % BBR_SENDS] =
		(struct bbr_send){ IN(sk, delivered), IN(sk, snd_nxt), bbr_sent(sk) };
}

/* Does it acknowledge a tail loss probe that was a retransmission? */
static inline bool bbr_acks_tlp(const struct bbr_sock *sk)
{
	return IN(sk, tlp_high_seq) && !before(IN(sk, snd_una), IN(sk, tlp_high_seq));
}

static inline u32 bbr_segments(u32 bytes, u32 mss)
{
	return quotient(bytes + mss - 1, mss);
}

/* What the ACK left of a larger packet, if nothing is SACKed. */
static inline u32 bbr_rest(const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	if (!after(rs->last_end_seq, IN(sk, snd_una)))
		return 0;
	return bbr_segments(rs->last_end_seq - IN(sk, snd_una), IN(sk, mss));
}

/*
 * What was in flight when the packet was sent has by now been delivered, or marked lost, or is a hole before the packet that is
 * not marked yet: first in, first out. (A tail loss probe was in flight twice.) That needs no history, but
 * reordering spoils it, and marks of what was not lost.
 */
static inline u32 bbr_inflight_by_delivery(const struct bbr_sock *sk, const struct bbr_rs *rs,
					   u32 lost)
{
	u32 inflight = rs->delivered + lost + bbr_acks_tlp(sk);
	u32 known = IN(sk, sacked_out) + IN(sk, lost_out), left = bbr_rest(sk, rs);

	return left > known ? inflight + left - known : inflight;
}

/* Packets in flight: of `sent` so many are gone. Itself included, so at least one. */
static inline u32 bbr_flight_of(u32 sent, u32 gone)
{
	return (s32)(sent - gone) > 1 ? sent - gone : 1;
}

/*
 * The packets in flight are those sent so far, less those delivered or lost. The notes before and after the packet bound how
 * many were sent before it: the sequence counts new data, but some packets between two notes may have been sent again. The
 * count by delivery decides within these bounds. With reordering it is worth nothing, and the lower bound is the careful one.
 */
static inline u32 bbr_inflight_by_send(const struct bbr_more *more, const struct bbr_sock *sk,
				       const struct bbr_rs *rs, u32 later, u32 by_delivery)
{
	const struct bbr_send *note = bbr_send_at(more, later),
			      *next = bbr_send_at(more, later - 1);
	u32 gone = rs->prior_delivered + more->prior_lost, mss = IN(sk, mss);
	u32 sent = bbr_sent(sk), snd_nxt = IN(sk, snd_nxt), least, most;
	s32 beyond = rs->last_end_seq - note->snd_nxt, anew;

	/* Loaded by now, or clang makes one load of this and the note's, which no verifier lets it. */
	asm volatile("" : "+r"(snd_nxt));
	if (later) {
		sent = next->sent;
		snd_nxt = next->snd_nxt;
	}
	anew = sent - note->sent - bbr_segments(snd_nxt - note->snd_nxt, mss);
	if (rs->is_retrans) {
		least = bbr_flight_of(note->sent + 1, gone);
		most = bbr_flight_of(sent, gone);
	} else if (beyond > 0) {
		beyond = bbr_segments(beyond, mss);
		least = bbr_flight_of(note->sent + beyond, gone);
		most = least + (anew > 0 ? anew : 0);
	} else {
		beyond = quotient(-(u32)beyond, mss);
		return bbr_flight_of(note->sent - beyond, gone);
	}
	/* Of what was sent since the last note all was in flight before this ACK that was not delivered since. */
	if (!later)
		most = min_u32(most, rs->prior_in_flight + IN(sk, delivered) - rs->acked_sacked -
					     note->delivered);
	if (IN(sk, reord_seen))
		return least;
	return max_u32(min_u32(by_delivery, most), least);
}

static inline u32 bbr_tx_in_flight(struct bbr_more *more, const struct bbr_sock *sk,
				   const struct bbr_rs *rs, u32 lost)
{
	u32 by_delivery = bbr_inflight_by_delivery(sk, rs, lost), later;

	if (!lost && !rs->is_retrans && !IN(sk, reord_seen))
		return by_delivery; /* that can be no mistake */
	later = bbr_sends_after(more, rs->prior_delivered);
	/* It is noted here: a search that changes nothing itself costs the verifier a fifth less. */
	more->sends_before = more->n_sends - later;
	if (later >= min_u32(more->n_sends, BBR_SENDS))
		return by_delivery;
	return bbr_inflight_by_send(more, sk, rs, later, by_delivery);
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
	if (IN(sk, has_flight)) {
		more->prior_lost = IN(sk, lost) - RS(rs, lost);
		more->tx_in_flight = RS(rs, tx_in_flight);
	} else {
		more->prior_lost = bbr_prior_lost(more, rs);
		more->tx_in_flight =
			bbr_tx_in_flight(more, sk, rs, IN(sk, lost) - more->prior_lost);
	}
	more->is_app_limited = is_app_limited;
}

/*
 * Without history: no more than there was before this ACK, and with reordering no reason to raise inflight_hi. What is
 * marked and not ACKed yet was marked since the packet was sent; then all of its flight counts as lost.
 */
static inline struct bbr_flight bbr_rough_flight(const struct bbr *b, const struct bbr_sock *sk,
						 const struct bbr_rs *rs, u32 marked,
						 bool is_app_limited)
{
	u32 inflight = bbr_inflight_by_delivery(sk, rs, marked);

	if (IN(sk, has_flight))
		return (struct bbr_flight){ RS(rs, tx_in_flight), RS(rs, lost), is_app_limited };
	inflight = min_u32(inflight, rs->prior_in_flight);
	if (IN(sk, reord_seen))
		inflight = min_u32(inflight, b->inflight_hi);
	return (struct bbr_flight){ inflight, marked || IN(sk, lost_out) ? inflight : 0,
				    is_app_limited };
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

/*
 * Packets were marked lost, with the flight that is taken for theirs. Google's stack tells of each burst of them, and
 * the first that was too much ends a probe. How many were a burst is not known: as many as are sent at once is
 * careful. But a flight has lost no more than it had, nor than was lost.
 */
static inline void bbr_take_losses(struct bbr *b, struct bbr_sock *sk,
				   const struct bbr_flight *flight, u32 marked)
{
	u32 burst = min_u32(marked, bbr_tso_segs(b, sk, IN(sk, gso_max_size)));
	u32 lost = flight->lost, before = lost > marked ? lost - marked : 0;
	struct bbr_flight first = *flight;

	first.lost = min_u32(before + burst, lost);
	if (!bbr_is_loss_too_high(sk, &first))
		first.lost = lost;
	bbr_lose(b, sk, &first, min_u32(min_u32(burst, lost), first.tx_in_flight));
}

/*
 * Takes losses that a timer has marked, or an ACK that is not looked at yet. They come before what an undo goes back
 * to: bounds that are too high are no mistake of the recovery.
 */
static inline u32 bbr_catch_up(struct bbr *b, struct bbr_sock *sk)
{
	u32 marked = bbr_take_newly_lost(b, sk), inflight_hi = b->inflight_hi;
	struct bbr_flight flight;

	if (!marked)
		return 0;
	b->in_order = 0;
	if (sk->more)
		bbr_note_losses(sk->more, sk);
	flight = bbr_last_flight(sk);
	bbr_take_losses(b, sk, &flight, marked);
	if (sk->more && sk->more->undo_inflight_hi == inflight_hi)
		sk->more->undo_inflight_hi = b->inflight_hi;
	return marked;
}

/* Does an ACK tell of marks? The stack counts those packets that it delivers. */
static inline bool bbr_is_ece(struct bbr_more *more, const struct bbr_sock *sk,
			      const struct bbr_rs *rs)
{
	bool is_ece = IN(sk, delivered_ce) != more->delivered_ce;

	more->delivered_ce = IN(sk, delivered_ce);
	return IN(sk, has_flight) ? RS(rs, is_ece) : is_ece;
}

/*
 * Has the application nothing to send that this ACK lets the stack send? A stock kernel asks when it writes, Google's also
 * before each ACK: what is sent anew when all was written would be taken for what the path can carry.
 */
static inline void bbr_check_app_limited(struct bbr_sock *sk, const struct bbr_rs *rs)
{
	u32 delivered;

	if (IN(sk, write_seq) - IN(sk, snd_nxt) >= IN(sk, mss) ||
	    IN(sk, queued) >= BBR_SKB_TRUESIZE || rs->prior_in_flight >= IN(sk, cwnd) ||
	    (s32)(IN(sk, lost_out) - rs->losses - IN(sk, retrans_out)) > 0)
		return;
	delivered = IN(sk, delivered) - rs->acked_sacked;
	SET(sk, app_limited, max_u32(delivered + rs->prior_in_flight, 1));
}

/*
 * While packets come in the order in which they were sent, and none is lost, the flight needs no history and is no guess:
 * all of it was delivered since, and nothing was lost of it. (No recovery can be under way: it began with losses, and
 * they are of the flight until it is over.) Where reordering was seen it may come again, and needs a history from before.
 * Without the second part of the state it is never known, and marks need that as well. A kernel that knows the flight has the last
 * word. To be asked where in_order is set.
 */
static inline bool bbr_stays_in_order(const struct bbr *b, const struct bbr_sock *sk,
				      const struct bbr_rs *rs)
{
	if (IN(sk, has_flight) && (RS(rs, lost) || RS(rs, is_acking_tlp_retrans_seq)))
		return false;
	return !(IN(sk, reord_seen) | IN(sk, sacked_out) | IN(sk, tlp_high_seq) |
		 bbr_newly_lost(b, sk));
}

/* Did probing send what is ACKed now, or may the next ACK find that it did? */
static inline bool bbr_is_flight_probed(const struct bbr *b, const struct bbr_sock *sk)
{
	u8 acks = bbr_acks_of(b, sk);

	return acks == BBR_ACKS_REFILLING || (acks != BBR_ACKS_INIT && b->probe_samples);
}

static inline void bbr_estimate_in_order(struct bbr *b, struct bbr_sock *sk,
					 const struct bbr_rs *rs, struct bbr_ack *ack)
{
	struct bbr_more *more;

	*ack = (struct bbr_ack){
		.flight.is_app_limited = !bbr_is_staying(sk) && bbr_is_app_limited(b, rs),
	};
	if (IN(sk, has_flight)) {
		ack->flight.tx_in_flight = RS(rs, tx_in_flight);
	} else {
		bbr_check_app_limited(sk, rs);
		ack->flight.tx_in_flight = rs->delivered + bbr_rest(sk, rs);
	}
	/* Losses that a timer marks are of the flight that was ACKed last. That matters only if probing sent it. */
	if (!bbr_is_flight_probed(b, sk))
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
		.is_ece = more && IN(sk, uses_ecn) && bbr_is_ece(more, sk, rs),
		.acks_tlp =
			IN(sk, has_flight) ? RS(rs, is_acking_tlp_retrans_seq) : bbr_acks_tlp(sk),
	};
	if (more && !IN(sk, has_flight))
		bbr_note_losses(more, sk);
	if (rs->delivered >= 0 && more)
		bbr_remember_flight(more, sk, rs, is_app_limited);
	if (rs->delivered >= 0)
		ack->flight = more ? bbr_last_flight(sk) :
				     bbr_rough_flight(b, sk, rs, marked, is_app_limited);
	flight = rs->delivered >= 0 ? ack->flight : bbr_last_flight(sk);
	if (marked)
		bbr_take_losses(b, sk, &flight, marked);
	if (!IN(sk, has_flight))
		bbr_check_app_limited(sk, rs);
	b->in_order = bbr_can_be_in_order(sk) && more && rs->delivered >= 0 && !rs->is_retrans &&
		      !marked && !ack->flight.lost && !IN(sk, sacked_out) &&
		      IN(sk, ca_state) == TCP_CA_Open;
}

/*
 * In order, what was sent between two notes follows from the sequence, and one a round is enough; in CRUISE, where nothing is
 * probed, one in eight rounds.
 */
static inline bool bbr_is_round_noted(const struct bbr *b, const struct bbr_sock *sk)
{
	return b->round_start &&
	       (!bbr_is_phase(b, sk, BBR_CRUISE) ||
		b->rounds_since_probe % BBR_CRUISE_ROUNDS == BBR_CRUISE_ROUNDS - 1);
}

/* After an ACK. */
static inline void bbr_note_sends(const struct bbr *b, const struct bbr_sock *sk)
{
	struct bbr_more *more;

	if ((bbr_is_lossless(sk) || b->in_order) && !bbr_is_round_noted(b, sk))
		return;
	if (IN(sk, has_flight))
		return;
	more = MORE(sk);
	if (more)
		bbr_note_send(more, sk);
}

/* What an ACK tells; takes its losses. */
static inline void bbr_estimate_ack(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				    struct bbr_ack *ack)
{
	if (b->in_order && rs->delivered >= 0 && bbr_stays_in_order(b, sk, rs))
		bbr_estimate_in_order(b, sk, rs, ack);
	else
		bbr_estimate_by_history(b, sk, rs, ack);
	/* Whatever led here, the verifier goes on once from here: that halves its work for cong_control. */
	ack->acks_tlp = unknown_to_verifier(ack->acks_tlp, IN(sk, delivered));
	ack->flight.tx_in_flight = unknown_to_verifier(ack->flight.tx_in_flight, IN(sk, delivered));
}

/* A timeout: what was in flight is lost, and what comes is sent anew. */
static inline void bbr_note_timeout(const struct bbr_sock *sk, u8 ca_state)
{
	if (sk->more && ca_state == TCP_CA_Loss)
		bbr_note_send(sk->more, sk);
}

/*
 * The stack lowers the window for a loss that nothing was marked for, nor does the ACK tell of marks: a tail loss probe that
 * was a retransmission has repaired it.
 */
static inline bool bbr_is_tail_loss(const struct bbr_sock *sk, u8 ca_state, u32 marked)
{
	if (ca_state != TCP_CA_CWR || !IN(sk, tlp_retrans) || marked)
		return false;
	return !sk->more || !IN(sk, uses_ecn) || IN(sk, delivered_ce) == sk->more->delivered_ce;
}

#endif
