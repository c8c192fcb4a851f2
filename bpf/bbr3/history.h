/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a connection remembers to estimate flights (estimate.h): a history of losses, which tells how
 * much was lost since a packet was sent, and a history of sends, which tells how much had been sent
 * by then. Both are rings in the second part of the state. From these, how many packets were in
 * flight when a packet was sent.
 */
#ifndef BBR_HISTORY_H
#define BBR_HISTORY_H

#include "kind.h"

#define BBR_FEW_LOSSES 4

static inline const struct bbr_loss *bbr_loss_at(const struct bbr_more *more, u32 age)
{
	return &more->losses[(more->n_losses - 1 - age) % BBR_LOSSES];
}

static inline const struct bbr_send *bbr_send_at(const struct bbr_more *more, u32 age)
{
	return &more->sends[(more->n_sends - 1 - age) % BBR_SENDS];
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

/*
 * True if the ACKed packet was sent before this entry was made. If the counts of deliveries are the same,
 * the sequence decides; a retransmission counts as sent after it.
 */
static inline bool bbr_is_later(const struct bbr_loss *loss, u32 prior_delivered, u32 end_seq,
				bool is_retrans)
{
	if (loss->delivered != prior_delivered)
		return after(loss->delivered, prior_delivered);
	return !is_retrans && !after(end_seq, loss->snd_nxt);
}

/* True if at least `later` entries were made after the ACKed packet was sent. */
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
 * True if exactly `later` entries were made after the packet was sent. False if no entry is from
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

/* ---- the flight of a packet */

/* True if the ACK acknowledges a tail loss probe that was a retransmission. */
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

#endif
