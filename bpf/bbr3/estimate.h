/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Estimates the inputs of version 3 that a stock kernel does not have: bbr_estimate_ack() takes an
 * ACK and fills struct bbr_ack with the inputs that Google's stack would have provided. The
 * algorithm never calls it. These are nearly exact: how much was lost since a packet was sent (from
 * a history of losses), whether an ACK reports marks, whether it ACKs a tail loss probe, and
 * whether the probe repaired a loss. Two are approximate: what was in flight when a packet was sent
 * (from what was delivered since, checked against a history of sends), and the flight of a lost
 * packet (that of the packet ACKed last, sent shortly before or after it). docs/fidelity.md has
 * their errors.
 *
 * A wrong guess must be on the careful side: too little in flight and too much lost end a probe too
 * soon, which costs some bandwidth until the next one. Without memory for a history any loss is too
 * much for a probe. If the kernel knows a packet's flight, there is no estimate (socket.h:
 * has_flight).
 */
#ifndef BBR_ESTIMATE_H
#define BBR_ESTIMATE_H

#include "bounds.h"
#include "history.h"

#define BBR_CRUISE_ROUNDS 8
#define BBR_SKB_TRUESIZE 512 /* the least memory of a packet with data; an ACK takes 2 bytes */

/*
 * True if ECN is off. With ECN, in_order is never set, so an ACK that finds it set need not check
 * for ECN: a connection without it at bbr_init() does not get it later.
 */
static inline bool bbr_can_be_in_order(const struct shell_sock *sk)
{
	return !IN(sk, uses_ecn);
}

static inline void bbr_init_estimate(struct bbr *b, struct shell_sock *sk)
{
	struct bbr_history *history = HISTORY(sk);

	b->last_lost = IN(sk, lost);
	b->in_order = bbr_can_be_in_order(sk);
	if (sk->more)
		sk->more->delivered_ce = IN(sk, delivered_ce);
	if (history) {
		history->tx_in_flight = 0;
		history->n_losses = 0;
		history->n_sends = 0;
		history->sends_before = 0;
		history->is_app_limited = false;
	}
	/*
	 * Packets that are marked lost now and not yet ACKed were marked after the packets in
	 * flight were sent.
	 */
	if (!IN(sk, lost_out))
		return;
	history = MAKE_HISTORY(sk);
	if (!history)
		return;
	bbr_note_losses(history, sk, IN(sk, lost_out));
	history->prior_lost = IN(sk, lost);
}

/*
 * True if the send history needs an entry after an ACK in order. While in order, the sequence tells
 * what was sent between two entries, so one entry a round is enough. In CRUISE, where nothing is
 * probed, one in eight rounds is.
 */
static inline bool bbr_is_round_due(const struct bbr *b, const struct shell_sock *sk,
				    const struct shell_rs *rs)
{
	if ((bbr_is_general(sk) && rs->interval_us <= 0) ||
	    before(rs->prior_delivered, b->next_round_delivered))
		return false;
	return !bbr_is_phase(b, sk, BBR_CRUISE) ||
	       (b->rounds_since_probe + 1) % BBR_CRUISE_ROUNDS == BBR_CRUISE_ROUNDS - 1;
}

/*
 * The same after an ACK out of order: 16 to 32 times a round, so the 64 entries last for two
 * rounds. In CRUISE 4 to 8 times will do, unless packets were seen reordered: then only the entries
 * count. The highest bit in which `delivered` changes is that of the power of 2 of which it reaches
 * a multiple. Losses are due at once: the entry parts what was sent before from their
 * retransmissions. An ACK that delivers nothing replaces the last entry.
 */
static inline bool bbr_is_send_due(const struct bbr *b, const struct shell_sock *sk,
				   const struct shell_rs *rs)
{
	u32 delivered = IN(sk, delivered), changed = delivered ^ (delivered - rs->acked_sacked);
	bool is_rare = bbr_is_phase(b, sk, BBR_CRUISE) && !IN(sk, reord_seen);
	u32 every = rs->prior_in_flight >> (is_rare ? 2 : 4);

	return changed >= every || !changed || rs->losses > 0;
}

/*
 * Adds an entry to the send history if there is one and an entry is due, and the kernel does not
 * know flights.
 */
static inline void bbr_note_sends(const struct shell_sock *sk, bool is_due)
{
	if (is_due && !IN(sk, has_flight))
		bbr_note_send(HISTORY(sk), sk);
}

/*
 * The flight of the packet ACKed last. ACKs in order do not remember theirs (bbr_remember_order()).
 */
static inline struct bbr_flight bbr_last_flight(const struct bbr_history *history,
						const struct shell_sock *sk)
{
	if (!history)
		return (struct bbr_flight){};
	return (struct bbr_flight){ history->tx_in_flight, IN(sk, lost) - history->prior_lost,
				    history->is_app_limited };
}

static inline void bbr_remember_flight(struct bbr_history *history, const struct shell_sock *sk,
				       const struct shell_rs *rs, bool is_app_limited)
{
	if (IN(sk, has_flight)) {
		history->prior_lost = IN(sk, lost) - RS(rs, lost);
		history->tx_in_flight = RS(rs, tx_in_flight);
	} else {
		history->prior_lost = bbr_prior_lost(history, sk, rs);
		history->tx_in_flight =
			bbr_tx_in_flight(history, sk, rs, IN(sk, lost) - history->prior_lost);
	}
	history->is_app_limited = is_app_limited;
}

/*
 * Without history: the flight is at most what was in flight before this ACK, and with reordering it
 * does not raise inflight_hi. Packets marked lost and not yet ACKed count as marked after the
 * packet was sent; then its whole flight counts as lost.
 */
static inline struct bbr_flight bbr_rough_flight(const struct bbr *b, const struct shell_sock *sk,
						 const struct shell_rs *rs, u32 marked,
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

/*
 * After ACKs in order: their last flight. It matters if losses are marked before the next ACK. All
 * of it was delivered, so the stack's last sample has it.
 */
static inline void bbr_remember_order(const struct bbr *b, struct bbr_history *history,
				      const struct shell_sock *sk, u32 marked)
{
	if (!b->in_order || !history)
		return;
	history->tx_in_flight = IN(sk, rate_delivered);
	history->prior_lost = IN(sk, lost) - marked;
	history->is_app_limited = IN(sk, rate_app_limited);
}

/* Number of packets marked lost since the last callback; the next call counts from here. */
static inline u32 bbr_take_newly_lost(struct bbr *b, const struct shell_sock *sk)
{
	u32 marked = bbr_newly_lost(b, sk);

	b->last_lost = IN(sk, lost);
	return marked;
}

/*
 * The report of `marked` losses, with the flight that is assumed for them. Google's stack reports
 * each burst of them, and the first one that was too much ends a probe. How many packets were a
 * burst is unknown: as many as are sent at once is careful. But a flight has lost no more than it
 * had, and no more than was lost.
 */
static inline struct bbr_lost bbr_lost_of(const struct bbr *b, const struct shell_sock *sk,
					  const struct bbr_flight *flight, u32 marked)
{
	u32 burst = min_u32(marked, bbr_tso_segs(b, sk, IN(sk, gso_max_size)));
	u32 lost = flight->lost, before = lost > marked ? lost - marked : 0;
	struct bbr_lost report = { .flight = *flight, .marked = marked };

	report.flight.lost = min_u32(before + burst, lost);
	if (!bbr_is_loss_too_high(sk, &report.flight))
		report.flight.lost = lost;
	report.packets = min_u32(min_u32(burst, lost), report.flight.tx_in_flight);
	return report;
}

/* Losses marked by a timer, or by an ACK that BBR has not seen yet. */
static inline struct bbr_lost bbr_estimate_lost(struct bbr *b, struct shell_sock *sk)
{
	u32 marked = bbr_take_newly_lost(b, sk);
	struct bbr_history *history;
	struct bbr_flight flight;

	if (!marked)
		return (struct bbr_lost){};
	history = bbr_begin_history(b, sk);
	bbr_remember_order(b, history, sk, marked);
	b->in_order = 0;
	bbr_note_losses(history, sk, marked);
	flight = bbr_last_flight(history, sk);
	return bbr_lost_of(b, sk, &flight, marked);
}

/* True if an ACK reports marks. The stack counts the marked packets that it delivers. */
static inline bool bbr_is_ece(struct bbr_more *more, const struct shell_sock *sk,
			      const struct shell_rs *rs)
{
	bool is_ece = IN(sk, delivered_ce) != more->delivered_ce;

	more->delivered_ce = IN(sk, delivered_ce);
	return IN(sk, has_flight) ? RS(rs, is_ece) : is_ece;
}

/*
 * Marks the flow as app-limited if the application has nothing to send that this ACK lets the stack
 * send. A stock kernel checks that when the application writes, Google's also before each
 * ACK. Otherwise the rate of retransmissions after the last write would pass for what the path can
 * carry.
 */
static inline void bbr_check_app_limited(struct shell_sock *sk, const struct shell_rs *rs)
{
	u32 delivered;

	if (IN(sk, write_seq) - IN(sk, snd_nxt) >= IN(sk, mss) ||
	    IN(sk, queued) >= BBR_SKB_TRUESIZE || rs->prior_in_flight >= IN(sk, cwnd) ||
	    (s32)(IN(sk, lost_out) - rs->losses - IN(sk, retrans_out)) > 0)
		return;
	delivered = IN(sk, delivered) - rs->acked_sacked;
	SET(sk, app_limited, max_u32(delivered + rs->prior_in_flight, 1));
}

/* An ACK whose whole flight was delivered in order: bbr_stays_in_order(). */
static inline void bbr_estimate_in_order(struct bbr *b, struct shell_sock *sk,
					 const struct shell_rs *rs, struct bbr_ack *ack)
{
	*ack = (struct bbr_ack){
		.flight.is_app_limited = !bbr_is_fast(sk) && shell_is_app_limited(b, sk, rs),
	};
	if (IN(sk, has_flight)) {
		ack->flight.tx_in_flight = RS(rs, tx_in_flight);
		return;
	}
	bbr_check_app_limited(sk, rs);
	if (sk->kind == SHELL_FAST_1 && !b->in_order) { /* in a recovery: bbr_needs_flight() */
		bbr_note_sends(sk, bbr_is_send_due(b, sk, rs));
		return;
	}
	bbr_note_sends(sk, bbr_is_round_due(b, sk, rs));
	if (b->inflight_hi == BBR_COUNT_NONE)
		return;
	/* Mostly nothing is left. As a sum clang would add that, too. */
	ack->flight.tx_in_flight = rs->delivered;
	if (after(rs->last_end_seq, IN(sk, snd_una)))
		ack->flight.tx_in_flight += bbr_rest(sk, rs);
}

/* An ACK in a recovery, without ECN, whose flight no rule reads: bbr_needs_flight(). */
static inline void bbr_estimate_lossy(struct bbr *b, struct shell_sock *sk,
				      const struct shell_rs *rs, struct bbr_ack *ack)
{
	*ack = (struct bbr_ack){
		.flight.is_app_limited = shell_is_app_limited(b, sk, rs),
		.lost.marked = bbr_take_newly_lost(b, sk),
	};
	if (ack->lost.marked)
		bbr_note_losses(bbr_begin_history(b, sk), sk, ack->lost.marked);
	bbr_check_app_limited(sk, rs);
	b->in_order = 0;
	bbr_note_sends(sk, bbr_is_send_due(b, sk, rs));
}

/*
 * Takes the flight from the history, and with it reports the losses. An ACK that delivers nothing
 * new has no flight.
 */
static inline void bbr_take_flight(const struct bbr *b, struct bbr_history *history,
				   struct shell_sock *sk, const struct shell_rs *rs,
				   struct bbr_ack *ack, u32 marked)
{
	bool is_app_limited = ack->flight.is_app_limited;
	struct bbr_flight flight;

	if (rs->delivered < 0) {
		bbr_remember_order(b, history, sk, marked);
		flight = bbr_last_flight(history, sk);
	} else {
		if (history)
			bbr_remember_flight(history, sk, rs, is_app_limited);
		flight = history ? bbr_last_flight(history, sk) :
				   bbr_rough_flight(b, sk, rs, marked, is_app_limited);
		ack->flight = flight;
	}
	if (marked)
		ack->lost = bbr_lost_of(b, sk, &flight, marked);
}

/*
 * From here on the verifier explores one path for all flights and reports: that halves its work for
 * cong_control.
 */
static inline void bbr_hide_from_verifier(struct bbr_ack *ack, u64 other)
{
	struct bbr_lost *lost = &ack->lost;

	ack->flight.lost = unknown_to_verifier(ack->flight.lost, other);
	ack->flight.tx_in_flight = unknown_to_verifier(ack->flight.tx_in_flight, other);
	lost->marked = unknown_to_verifier(lost->marked, other);
	lost->packets = unknown_to_verifier(lost->packets, other);
	lost->flight.lost = unknown_to_verifier(lost->flight.lost, other);
	lost->flight.tx_in_flight = unknown_to_verifier(lost->flight.tx_in_flight, other);
}

/* Any other ACK. */
static inline void bbr_estimate_by_history(struct bbr *b, struct shell_sock *sk,
					   const struct shell_rs *rs, struct bbr_ack *ack)
{
	u32 marked = bbr_take_newly_lost(b, sk);
	bool needs_flight = bbr_needs_flight(b, sk, rs);
	struct bbr_history *history =
		marked || needs_flight ? bbr_begin_history(b, sk) : HISTORY(sk);
	struct bbr_more *more = sk->more;

	*ack = (struct bbr_ack){
		.flight.is_app_limited = shell_is_app_limited(b, sk, rs),
		.delivered_ce = IN(sk, uses_ecn) ? rs->delivered_ce : 0,
		.is_ece = more && IN(sk, uses_ecn) && bbr_is_ece(more, sk, rs),
		.acks_tlp =
			IN(sk, has_flight) ? RS(rs, is_acking_tlp_retrans_seq) : bbr_acks_tlp(sk),
		.lost.marked = marked,
	};
	if (marked && !IN(sk, has_flight))
		bbr_note_losses(history, sk, marked);
	if (needs_flight)
		bbr_take_flight(b, history, sk, rs, ack, marked);
	bbr_hide_from_verifier(ack, IN(sk, delivered));
	marked = unknown_to_verifier(marked, IN(sk, delivered));
	if (!IN(sk, has_flight))
		bbr_check_app_limited(sk, rs);
	b->in_order = bbr_can_be_in_order(sk) && history && rs->delivered >= 0 && !rs->is_retrans &&
		      !marked && !ack->flight.lost && !IN(sk, sacked_out) &&
		      IN(sk, ca_state) == TCP_CA_Open;
	bbr_note_sends(sk, b->in_order ? bbr_is_round_due(b, sk, rs) : bbr_is_send_due(b, sk, rs));
}

/* True if the ACK's flight is that of its order. A regular ACK has an order in TCP_CA_Open only. */
static inline bool bbr_is_in_order(const struct bbr *b, const struct shell_sock *sk,
				   const struct shell_rs *rs)
{
	if (bbr_is_general(sk))
		return b->in_order && rs->delivered >= 0 && bbr_stays_in_order(b, sk, rs);
	return bbr_is_fast(sk) || shell_is_open(sk);
}

/* The entrance: fills *ack with what an ACK reports. */
static inline void bbr_estimate_ack(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs,
				    struct bbr_ack *ack)
{
	if (bbr_is_in_order(b, sk, rs))
		bbr_estimate_in_order(b, sk, rs, ack);
	else if (!bbr_is_general(sk))
		bbr_estimate_lossy(b, sk, rs, ack);
	else
		bbr_estimate_by_history(b, sk, rs, ack);
	if (!bbr_is_general(sk))
		return;
	/*
	 * From here on the verifier explores one path, whatever led here: that halves its work for
	 * cong_control.
	 */
	ack->acks_tlp = unknown_to_verifier(ack->acks_tlp, IN(sk, delivered));
	ack->flight.tx_in_flight = unknown_to_verifier(ack->flight.tx_in_flight, IN(sk, delivered));
}

/* A timeout: what was in flight is lost, and what follows are retransmissions. */
static inline void bbr_note_timeout(const struct shell_sock *sk, u8 ca_state)
{
	bbr_note_sends(sk, ca_state == TCP_CA_Loss);
}

/* True if the packet ACKed last was sent app-limited. */
static inline bool bbr_was_app_limited(const struct bbr *b, const struct shell_sock *sk)
{
	const struct bbr_history *history;

	if (b->in_order)
		return IN(sk, rate_app_limited);
	history = HISTORY(sk);
	return history && history->is_app_limited;
}

/*
 * True if a tail loss probe that was a retransmission has repaired a loss. Then the stack reduces
 * the window although nothing was marked lost and the ACK reports no marks.
 */
static inline bool bbr_is_tail_loss(const struct shell_sock *sk, u8 ca_state, u32 marked)
{
	if (ca_state != TCP_CA_CWR || !IN(sk, tlp_retrans) || marked)
		return false;
	return !sk->more || !IN(sk, uses_ecn) || IN(sk, delivered_ce) == sk->more->delivered_ce;
}

#endif
