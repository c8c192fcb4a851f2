/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Estimates the inputs of struct bbr_ack from what a stock kernel shows. Only this file guesses.
 * Nearly exact are: how much was lost since a packet was sent (from a history of losses), whether
 * an ACK reports marks, that a tail loss probe was ACKed, and that it repaired a loss. Two are
 * approximate: what was in flight when a packet was sent (from what was delivered since, checked
 * against a history of sends), and the flight of a lost packet (that of the packet ACKed last,
 * which was sent shortly before or after it). docs/fidelity.md says how far off they are.
 *
 * A wrong guess must be wrong on the careful side: too little in flight and too much lost end a
 * probe too soon, which costs some bandwidth until the next one. Without the second part of the
 * state there is no history; then any loss is too much for a probe. If the kernel knows a packet's
 * flight, nothing is guessed (socket.h: has_flight).
 */
#ifndef BBR_ESTIMATE_H
#define BBR_ESTIMATE_H

#include "callbacks.h"

#define BBR_CRUISE_ROUNDS 8
#define BBR_FEW_LOSSES 4
#define BBR_SKB_TRUESIZE 512 /* the least memory of a packet with data; an ACK takes 2 bytes */

static inline const struct bbr_loss *bbr_loss_at(const struct bbr_more *more, u32 age)
{
	return &more->losses[(more->n_losses - 1 - age) % BBR_LOSSES];
}

static inline const struct bbr_send *bbr_send_at(const struct bbr_more *more, u32 age)
{
	return &more->sends[(more->n_sends - 1 - age) % BBR_SENDS];
}

/*
 * Is ECN off? With ECN, in_order is never set, so an ACK that finds it set need not check for ECN:
 * a connection without it at bbr_init() does not get it later.
 */
static inline bool bbr_can_be_in_order(const struct bbr_sock *sk)
{
	return !IN(sk, uses_ecn);
}

/*
 * Adds an entry if packets were marked lost. The 128 entries last for more than a round: losses
 * that are nearer to each other than that share an entry, which keeps the newer count. So for
 * packets sent in between too little seems lost, but not for later ones.
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
	/*
	 * Packets that are marked lost now and not yet ACKed were marked after the packets in
	 * flight were sent.
	 */
	more->lost_before = IN(sk, lost) - IN(sk, lost_out);
	more->delivered_ce = IN(sk, delivered_ce);
	bbr_note_losses(more, sk);
}

/*
 * Was the ACKed packet sent before this entry was made? If the counts of deliveries are the same,
 * the sequence decides; a retransmission counts as sent after it.
 */
static inline bool bbr_is_later(const struct bbr_loss *loss, u32 prior_delivered, u32 end_seq,
				bool is_retrans)
{
	if (loss->delivered != prior_delivered)
		return after(loss->delivered, prior_delivered);
	return !is_retrans && !after(end_seq, loss->snd_nxt);
}

/* Were at least `later` entries made after the ACKed packet was sent? */
static inline bool bbr_are_losses_later(const struct bbr_more *more, u32 later, u32 prior_delivered,
					u32 end_seq, bool is_retrans)
{
	return later <= min_u32(more->n_losses, BBR_LOSSES) &&
	       bbr_is_later(bbr_loss_at(more, later - 1), prior_delivered, end_seq, is_retrans);
}

/* Number of entries made after the ACKed packet was sent, by a binary search. */
static inline u32 bbr_search_losses(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
				    bool is_retrans)
{
	u32 later = 0;

	for (u32 step = BBR_LOSSES; step; step /= 2) {
		if (bbr_are_losses_later(more, later + step, prior_delivered, end_seq, is_retrans))
			later += step;
		/* Half way: the verifier explores 16 and 16 paths, not 256. */
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
 * In BPF these are global functions, which the verifier verifies once, on their own. Otherwise it
 * would explore all that follows once for each path through them. It assumes that `more` may be
 * NULL.
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

/*
 * Little of a flight is lost, so this checks the newest entries first. That usually saves 90 of the
 * search's 130 instructions.
 */
static inline u32 bbr_find_losses(const struct bbr_more *more, u32 prior_delivered, u32 end_seq,
				  bool is_retrans)
{
	for (u32 later = 0; later < BBR_FEW_LOSSES; later++)
		if (!bbr_are_losses_later(more, later + 1, prior_delivered, end_seq, is_retrans))
			return later;
	return bbr_losses_searched(more, prior_delivered, end_seq, is_retrans);
}

/*
 * Were exactly `later` entries made after the packet was sent? Also false if no entry is from
 * before it.
 */
static inline bool bbr_are_sends_after(const struct bbr_more *more, u32 later, u32 prior_delivered)
{
	return later < min_u32(more->n_sends, BBR_SENDS) &&
	       !after(bbr_send_at(more, later)->delivered, prior_delivered) &&
	       (!later || after(bbr_send_at(more, later - 1)->delivered, prior_delivered));
}

/*
 * Usually the packet was sent shortly after the one ACKed before it. Then the entry before it is
 * the one found last, or the next one. That saves half of the search's 90 instructions.
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

/* `lost` when the ACKed packet was sent: that of the newest entry before it. */
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

/*
 * Adds an entry of how much was sent. Of entries with the same count of deliveries the newest
 * counts.
 */
static inline void bbr_note_send(struct bbr_more *more, const struct bbr_sock *sk)
{
	if (!more->n_sends || IN(sk, delivered) != bbr_send_at(more, 0)->delivered)
		more->n_sends++;
	more->sends[(more->n_sends - 1) % BBR_SENDS] =
		(struct bbr_send){ IN(sk, delivered), IN(sk, snd_nxt), bbr_sent(sk) };
}

/*
 * Is an entry due, after an ACK that is not in order? 16 to 32 times a round, so the 64 entries last
 * for two rounds. In CRUISE, where nothing is probed, 4 to 8 times will do, unless packets were seen
 * reordered: then only the entries count. The highest bit in which `delivered` changes is that of
 * the power of 2 of which it reaches a multiple. Losses are due at once: the entry parts what was
 * sent before from their retransmissions. An ACK that delivers nothing replaces the last entry.
 */
static inline bool bbr_is_send_due(const struct bbr *b, const struct bbr_sock *sk,
				   const struct bbr_rs *rs)
{
	u32 delivered = IN(sk, delivered), changed = delivered ^ (delivered - rs->acked_sacked);
	bool is_rare = bbr_is_phase(b, sk, BBR_CRUISE) && !IN(sk, reord_seen);
	u32 every = rs->prior_in_flight / (is_rare ? 4 : 16);

	return changed >= every || !changed || rs->losses > 0;
}

/* Does the ACK acknowledge a tail loss probe that was a retransmission? */
static inline bool bbr_acks_tlp(const struct bbr_sock *sk)
{
	return IN(sk, tlp_high_seq) && !before(IN(sk, snd_una), IN(sk, tlp_high_seq));
}

static inline u32 bbr_segments(u32 bytes, u32 mss)
{
	return quotient(bytes + mss - 1, mss);
}

/* Segments that the ACK left of a larger packet, if nothing is SACKed. */
static inline u32 bbr_rest(const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	if (!after(rs->last_end_seq, IN(sk, snd_una)))
		return 0;
	return bbr_segments(rs->last_end_seq - IN(sk, snd_una), IN(sk, mss));
}

/*
 * Everything that was in flight when the packet was sent has by now been delivered, or marked lost,
 * or is a hole before the packet that is not marked yet: first in, first out. (A tail loss probe
 * was in flight twice.) This needs no history, but reordering and spurious marks spoil it.
 */
static inline u32 bbr_inflight_by_delivery(const struct bbr_sock *sk, const struct bbr_rs *rs,
					   u32 lost)
{
	u32 inflight = rs->delivered + lost + bbr_acks_tlp(sk);
	u32 known = IN(sk, sacked_out) + IN(sk, lost_out), left = bbr_rest(sk, rs);

	return left > known ? inflight + left - known : inflight;
}

/* Packets in flight: `sent` less `gone`. At least one, the packet itself. */
static inline u32 bbr_flight_of(u32 sent, u32 gone)
{
	return (s32)(sent - gone) > 1 ? sent - gone : 1;
}

/*
 * The packets in flight are those sent so far, less those delivered or lost. The entries before and
 * after the packet bound how many were sent before it: the sequence counts new data, but some
 * packets between two entries may be retransmissions. The estimate by delivery decides within these
 * bounds. With reordering it is worthless, and the lower bound is the careful one.
 */
static inline u32 bbr_inflight_by_send(const struct bbr_more *more, const struct bbr_sock *sk,
				       const struct bbr_rs *rs, u32 later, u32 by_delivery)
{
	const struct bbr_send *note = bbr_send_at(more, later),
			      *next = bbr_send_at(more, later - 1);
	u32 gone = rs->prior_delivered + more->prior_lost, mss = IN(sk, mss);
	u32 sent = bbr_sent(sk), snd_nxt = IN(sk, snd_nxt), least, most;
	s32 beyond = rs->last_end_seq - note->snd_nxt, anew;

	/*
	 * Load it now. Otherwise clang makes one load of this and the entry's, which the verifier
	 * rejects.
	 */
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
	/*
	 * All that was sent since the last entry was either delivered since, or in flight before
	 * this ACK.
	 */
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
		return by_delivery; /* this cannot be wrong */
	later = bbr_sends_after(more, rs->prior_delivered);
	/*
	 * Stored here, not by the search: a search without side effects costs the verifier a fifth
	 * less.
	 */
	more->sends_before = more->n_sends - later;
	if (later >= min_u32(more->n_sends, BBR_SENDS))
		return by_delivery;
	return bbr_inflight_by_send(more, sk, rs, later, by_delivery);
}

/*
 * The flight of the packet ACKed last. ACKs in order do not remember theirs (bbr_remember_order()).
 */
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
 * Without history: the flight is at most what was in flight before this ACK, and with reordering it
 * does not raise inflight_hi. Packets marked lost and not yet ACKed count as marked after the
 * packet was sent; then its whole flight counts as lost.
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

/*
 * After ACKs in order: their last flight. It matters if losses are marked before the next ACK. All
 * of it was delivered, so the stack's last sample has it.
 */
static inline void bbr_remember_order(const struct bbr *b, const struct bbr_sock *sk, u32 marked)
{
	struct bbr_more *more = sk->more;

	if (!b->in_order || !more)
		return;
	more->tx_in_flight = IN(sk, rate_delivered);
	more->prior_lost = IN(sk, lost) - marked;
	more->is_app_limited = IN(sk, rate_app_limited);
}

/* Number of packets marked lost since the last call. */
static inline u32 bbr_take_newly_lost(struct bbr *b, const struct bbr_sock *sk)
{
	u32 marked = bbr_newly_lost(b, sk);

	b->last_lost = IN(sk, lost);
	return marked;
}

/*
 * Handles packets marked lost, with the flight that is assumed for them. Google's stack reports
 * each burst of them, and the first one that was too much ends a probe. How many packets were a
 * burst is unknown: as many as are sent at once is careful. But a flight has lost no more than it
 * had, and no more than was lost.
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
 * Handles losses marked by a timer, or by an ACK that BBR has not seen yet. They come before what
 * an undo restores: if they show that inflight_hi is too high, that is no mistake of the recovery.
 * Returns how many packets they are.
 */
static inline u32 bbr_catch_up(struct bbr *b, struct bbr_sock *sk)
{
	u32 marked = bbr_take_newly_lost(b, sk), inflight_hi = b->inflight_hi;
	struct bbr_flight flight;

	bbr_remember_order(b, sk, marked);
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

/* Does an ACK report marks? The stack counts the marked packets that it delivers. */
static inline bool bbr_is_ece(struct bbr_more *more, const struct bbr_sock *sk,
			      const struct bbr_rs *rs)
{
	bool is_ece = IN(sk, delivered_ce) != more->delivered_ce;

	more->delivered_ce = IN(sk, delivered_ce);
	return IN(sk, has_flight) ? RS(rs, is_ece) : is_ece;
}

/*
 * Has the application nothing to send that this ACK lets the stack send? Then the flow is
 * app-limited. A stock kernel checks that when the application writes, Google's also before each
 * ACK. Otherwise the rate of retransmissions after the last write would pass for what the path can
 * carry.
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
 * While packets arrive in the order in which they were sent, and none is lost, the flight needs no
 * history and is no guess: all of it was delivered since, and none of it was lost. (No recovery can
 * be under way: its losses belong to the flight until it is over.) Where reordering was seen it may
 * come again, and needs a history from before. in_order is never set without the second part of the
 * state, nor with ECN, which needs that part as well. If the kernel knows the flight, what it says
 * counts. Call this only where in_order is set.
 */
static inline bool bbr_stays_in_order(const struct bbr *b, const struct bbr_sock *sk,
				      const struct bbr_rs *rs)
{
	if (IN(sk, has_flight) && (RS(rs, lost) || RS(rs, is_acking_tlp_retrans_seq)))
		return false;
	return !(IN(sk, reord_seen) | IN(sk, sacked_out) | IN(sk, tlp_high_seq) |
		 bbr_newly_lost(b, sk));
}

static inline void bbr_estimate_in_order(struct bbr *b, struct bbr_sock *sk,
					 const struct bbr_rs *rs, struct bbr_ack *ack)
{
	*ack = (struct bbr_ack){
		.flight.is_app_limited = !bbr_is_staying(sk) && bbr_is_app_limited(b, rs),
	};
	if (IN(sk, has_flight)) {
		ack->flight.tx_in_flight = RS(rs, tx_in_flight);
		return;
	}
	bbr_check_app_limited(sk, rs);
	if (b->inflight_hi == BBR_COUNT_NONE)
		return;
	/* Mostly nothing is left. As a sum clang would add that, too. */
	ack->flight.tx_in_flight = rs->delivered;
	if (after(rs->last_end_seq, IN(sk, snd_una)))
		ack->flight.tx_in_flight += bbr_rest(sk, rs);
}

/*
 * Outside of TCP_CA_Open, does the flight of this ACK matter? STARTUP judges it at the end of a
 * loss round. Otherwise it could only raise inflight_hi, unless a probe sent it. Without a known
 * inflight_hi it cannot. In DOWN and CRUISE, once the probe's ACKs are in, the flight of a packet
 * ACKed in a recovery is not above it: the packet was sent within a window that inflight_hi bounds.
 * (Google's recordings have 42,562 such ACKs. None raises it.)
 */
static inline bool bbr_is_flight_asked_in_recovery(const struct bbr *b, const struct bbr_sock *sk,
						   const struct bbr_rs *rs)
{
	if (b->probe_samples)
		return true;
	switch (b->mode) {
	case BBR_STARTUP:
		return b->full_bw_reached || !before(rs->prior_delivered, b->loss_round_delivered);
	case BBR_DRAIN:
		return b->inflight_hi != BBR_COUNT_NONE || !b->full_bw_reached;
	case BBR_PROBE_BW:
		if (b->cycle_idx == BBR_REFILL || b->cycle_idx == BBR_UP || !b->full_bw_reached)
			return true;
		return b->inflight_hi != BBR_COUNT_NONE &&
		       (b->acks != BBR_ACKS_INIT || IN(sk, ca_state) < TCP_CA_Recovery);
	default:
		return true;
	}
}

/*
 * Does the flight matter? In TCP_CA_Open, in_order depends on what it lost. With ECN the next probe
 * does.
 */
static inline bool bbr_is_flight_asked(const struct bbr *b, const struct bbr_sock *sk,
				       const struct bbr_rs *rs)
{
	return IN(sk, has_flight) || IN(sk, uses_ecn) || bbr_is_open(sk) ||
	       bbr_is_flight_asked_in_recovery(b, sk, rs);
}

/* For an ACK that is bbr_is_recovering(): handles its losses. Nobody asks for its flight. */
static inline void bbr_estimate_in_recovery(struct bbr *b, struct bbr_sock *sk,
					    const struct bbr_rs *rs, struct bbr_ack *ack)
{
	struct bbr_more *more;

	*ack = (struct bbr_ack){
		.flight.is_app_limited = !bbr_is_staying(sk) && bbr_is_app_limited(b, rs),
	};
	if (bbr_take_newly_lost(b, sk)) {
		more = MORE(sk);
		if (more)
			bbr_note_losses(more, sk);
		bbr_note_loss(b, sk);
	}
	bbr_check_app_limited(sk, rs);
	b->in_order = 0;
}

/*
 * Takes the flight from the history, and handles the losses of this ACK. An ACK that delivers
 * nothing new has no flight.
 */
static inline void bbr_take_flight(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				   struct bbr_ack *ack, u32 marked)
{
	struct bbr_more *more = sk->more;
	bool is_app_limited = ack->flight.is_app_limited;
	struct bbr_flight flight;

	if (rs->delivered < 0)
		bbr_remember_order(b, sk, marked);
	else if (more)
		bbr_remember_flight(more, sk, rs, is_app_limited);
	if (rs->delivered >= 0)
		ack->flight = more ? bbr_last_flight(sk) :
				     bbr_rough_flight(b, sk, rs, marked, is_app_limited);
	flight = rs->delivered >= 0 ? ack->flight : bbr_last_flight(sk);
	if (marked)
		bbr_take_losses(b, sk, &flight, marked);
}

static inline void bbr_estimate_by_history(struct bbr *b, struct bbr_sock *sk,
					   const struct bbr_rs *rs, struct bbr_ack *ack)
{
	struct bbr_more *more = sk->more;
	u32 marked = bbr_take_newly_lost(b, sk);

	*ack = (struct bbr_ack){
		.flight.is_app_limited = bbr_is_app_limited(b, rs),
		.delivered_ce = IN(sk, uses_ecn) ? rs->delivered_ce : 0,
		.is_ece = more && IN(sk, uses_ecn) && bbr_is_ece(more, sk, rs),
		.acks_tlp =
			IN(sk, has_flight) ? RS(rs, is_acking_tlp_retrans_seq) : bbr_acks_tlp(sk),
	};
	if (more && marked && !IN(sk, has_flight))
		bbr_note_losses(more, sk);
	if (bbr_is_flight_asked(b, sk, rs))
		bbr_take_flight(b, sk, rs, ack, marked);
	else if (marked)
		bbr_note_loss(b, sk);
	if (!IN(sk, has_flight))
		bbr_check_app_limited(sk, rs);
	b->in_order = bbr_can_be_in_order(sk) && more && rs->delivered >= 0 && !rs->is_retrans &&
		      !marked && !ack->flight.lost && !IN(sk, sacked_out) &&
		      IN(sk, ca_state) == TCP_CA_Open;
}

/*
 * While in order, the sequence tells what was sent between two entries, so one entry a round is
 * enough. In CRUISE, where nothing is probed, one in eight rounds is.
 */
static inline bool bbr_is_round_noted(const struct bbr *b, const struct bbr_sock *sk)
{
	return b->round_start &&
	       (!bbr_is_phase(b, sk, BBR_CRUISE) ||
		b->rounds_since_probe % BBR_CRUISE_ROUNDS == BBR_CRUISE_ROUNDS - 1);
}

/* Adds an entry to the send history after an ACK, if one is due. */
static inline void bbr_note_sends(const struct bbr *b, const struct bbr_sock *sk,
				  const struct bbr_rs *rs)
{
	bool is_in_order = bbr_is_lossless(sk) || (!bbr_is_recovering(sk) && b->in_order);
	struct bbr_more *more;

	if (!(is_in_order ? bbr_is_round_noted(b, sk) : bbr_is_send_due(b, sk, rs)) ||
	    IN(sk, has_flight))
		return;
	more = MORE(sk);
	if (more)
		bbr_note_send(more, sk);
}

/* Fills *ack with what an ACK reports, and handles its losses. */
static inline void bbr_estimate_ack(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				    struct bbr_ack *ack)
{
	if (b->in_order && rs->delivered >= 0 && bbr_stays_in_order(b, sk, rs))
		bbr_estimate_in_order(b, sk, rs, ack);
	else
		bbr_estimate_by_history(b, sk, rs, ack);
	/*
	 * From here on the verifier explores one path, whatever led here: that halves its work for
	 * cong_control.
	 */
	ack->acks_tlp = unknown_to_verifier(ack->acks_tlp, IN(sk, delivered));
	ack->flight.tx_in_flight = unknown_to_verifier(ack->flight.tx_in_flight, IN(sk, delivered));
}

/* A timeout: what was in flight is lost, and what follows are retransmissions. */
static inline void bbr_note_timeout(const struct bbr_sock *sk, u8 ca_state)
{
	if (sk->more && ca_state == TCP_CA_Loss)
		bbr_note_send(sk->more, sk);
}

/*
 * Has a tail loss probe that was a retransmission repaired a loss? Then the stack reduces the
 * window although nothing was marked lost and the ACK reports no marks.
 */
static inline bool bbr_is_tail_loss(const struct bbr_sock *sk, u8 ca_state, u32 marked)
{
	if (ca_state != TCP_CA_CWR || !IN(sk, tlp_retrans) || marked)
		return false;
	return !sk->more || !IN(sk, uses_ecn) || IN(sk, delivered_ce) == sk->more->delivered_ce;
}

#endif
