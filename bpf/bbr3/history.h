/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a connection remembers to estimate flights (estimate.h): a history of losses, which tells how
 * much was lost since a packet was sent, and a history of sends, which tells how much had been sent
 * by then. Both are rings of struct bbr_history. From these, how many packets were in
 * flight when a packet was sent.
 */
#ifndef BBR_HISTORY_H
#define BBR_HISTORY_H

#include "kind.h"

#define BBR_FEW_LOSSES 4

/*
 * The history for a loss or for a flight that a rule reads. NULL: there is no memory for it, or the
 * ACK is that of our SYN, before bbr_init().
 */
static inline struct bbr_history *bbr_begin_history(const struct bbr *b, struct shell_sock *sk)
{
	return b->initialized ? MAKE_HISTORY(sk) : NULL;
}

static inline const struct bbr_loss *bbr_loss_at(const struct bbr_history *history, u32 age)
{
	return &history->losses[(history->n_losses - 1 - age) % BBR_LOSSES];
}

static inline const struct bbr_send *bbr_send_at(const struct bbr_history *history, u32 age)
{
	return &history->sends[(history->n_sends - 1 - age) % BBR_SENDS];
}

/*
 * In BPF the functions that are BBR_APART are global, and the verifier verifies each once, on its
 * own. Otherwise it would explore all that follows once for each path through them. It assumes that
 * each pointer may be NULL.
 */
#ifdef __bpf__
#define BBR_APART __attribute__((noinline))
#else
#define BBR_APART static inline
#endif

/*
 * Adds an entry, for packets that were marked lost: `marked`, or fewer if some have an entry. The
 * 64 entries last for more than a round: losses that are nearer to each other than that, `apart`
 * packets delivered, share an entry, which keeps the newer count. So for packets sent in between
 * too little seems lost, but not for later ones. Before the first entry nothing of any flight was
 * lost.
 */
BBR_APART u32 bbr_add_loss(struct bbr_history *history, const struct bbr_loss *now, u32 marked,
			   u32 apart)
{
	struct bbr_loss *loss;

	if (!history || !now)
		return 0;
	loss = &history->losses[(history->n_losses - 1) % BBR_LOSSES];
	if (!history->n_losses) {
		history->lost_before = now->lost - marked;
		history->prior_lost = history->lost_before;
	} else if (now->lost == loss->lost) {
		return 0;
	} else if (now->delivered - loss->delivered < apart) {
		loss->lost = now->lost;
		return 0;
	}
	loss = &history->losses[history->n_losses % BBR_LOSSES];
	if (history->n_losses >= BBR_LOSSES)
		history->lost_before = loss->lost;
	history->n_losses++;
	*loss = *now;
	return 0;
}

static inline void bbr_note_losses(struct bbr_history *history, const struct shell_sock *sk,
				   u32 marked)
{
	struct bbr_loss now = { IN(sk, delivered), IN(sk, snd_nxt), IN(sk, lost) };

	/* Without memory at an earlier loss this is the first entry for several. */
	marked = max_u32(marked, IN(sk, lost_out));
	bbr_add_loss(history, &now, marked, IN(sk, inflight) / BBR_LOSSES);
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
static inline bool bbr_are_losses_later(const struct bbr_history *history, u32 later,
					u32 prior_delivered, u32 end_seq, bool is_retrans)
{
	return later <= min_u32(history->n_losses, BBR_LOSSES) &&
	       bbr_is_later(bbr_loss_at(history, later - 1), prior_delivered, end_seq, is_retrans);
}

/* Number of entries made after the ACKed packet was sent, by a binary search. */
static inline u32 bbr_search_losses(const struct bbr_history *history, u32 prior_delivered,
				    u32 end_seq, bool is_retrans)
{
	u32 later = 0;

	for (u32 step = BBR_LOSSES; step; step /= 2) {
		if (bbr_are_losses_later(history, later + step, prior_delivered, end_seq,
					 is_retrans))
			later += step;
		/* Half way: the verifier explores 16 and 16 paths, not 256. */
		if (step == BBR_LOSSES / 8)
			later = unknown_to_verifier(later, prior_delivered);
	}
	return later;
}

static inline u32 bbr_search_sends(const struct bbr_history *history, u32 prior_delivered)
{
	u32 n = min_u32(history->n_sends, BBR_SENDS), later = 0;

	for (u32 step = BBR_SENDS; step; step /= 2)
		if (later + step <= n &&
		    after(bbr_send_at(history, later + step - 1)->delivered, prior_delivered))
			later += step;
	return later;
}

BBR_APART u32 bbr_losses_searched(const struct bbr_history *history, u32 prior_delivered,
				  u32 end_seq, bool is_retrans)
{
	return history ? bbr_search_losses(history, prior_delivered, end_seq, is_retrans) : 0;
}

BBR_APART u32 bbr_sends_searched(const struct bbr_history *history, u32 prior_delivered)
{
	return history ? bbr_search_sends(history, prior_delivered) : 0;
}

/*
 * Little of a flight is lost, so this checks the newest entries first. That usually saves 90 of the
 * search's 130 instructions.
 */
static inline u32 bbr_find_losses(const struct bbr_history *history, u32 prior_delivered,
				  u32 end_seq, bool is_retrans)
{
	for (u32 later = 0; later < BBR_FEW_LOSSES; later++)
		if (!bbr_are_losses_later(history, later + 1, prior_delivered, end_seq, is_retrans))
			return later;
	return bbr_losses_searched(history, prior_delivered, end_seq, is_retrans);
}

/*
 * True if exactly `later` entries were made after the packet was sent. False if no entry is from
 * before it.
 */
static inline bool bbr_are_sends_after(const struct bbr_history *history, u32 later,
				       u32 prior_delivered)
{
	return later < min_u32(history->n_sends, BBR_SENDS) &&
	       !after(bbr_send_at(history, later)->delivered, prior_delivered) &&
	       (!later || after(bbr_send_at(history, later - 1)->delivered, prior_delivered));
}

/*
 * Usually the packet was sent shortly after the one ACKed before it. Then the entry before it is
 * the one found last, or the next one. That saves half of the search's 90 instructions.
 */
static inline u32 bbr_find_sends(const struct bbr_history *history, u32 prior_delivered)
{
	u32 later = history->n_sends - history->sends_before;

	if (!bbr_are_sends_after(history, later, prior_delivered) &&
	    !bbr_are_sends_after(history, --later, prior_delivered))
		return bbr_sends_searched(history, prior_delivered);
	return later;
}

BBR_APART u32 bbr_losses_after(const struct bbr_history *history, u32 prior_delivered, u32 end_seq,
			       bool is_retrans)
{
	return history ? bbr_find_losses(history, prior_delivered, end_seq, is_retrans) : 0;
}

BBR_APART u32 bbr_sends_after(const struct bbr_history *history, u32 prior_delivered)
{
	return history ? bbr_find_sends(history, prior_delivered) : 0;
}

/* `lost` when the ACKed packet was sent: that of the newest entry before it. */
static inline u32 bbr_prior_lost(const struct bbr_history *history, const struct shell_sock *sk,
				 const struct shell_rs *rs)
{
	u32 later =
		bbr_losses_after(history, rs->prior_delivered, rs->last_end_seq, rs->is_retrans);
	u32 lost = IN(sk, lost);

	asm volatile("" : "+r"(lost)); /* load it now: see bbr_inflight_by_send() */
	if (later < min_u32(history->n_losses, BBR_LOSSES))
		return bbr_loss_at(history, later)->lost;
	return history->n_losses ? history->lost_before : lost;
}

static inline u32 bbr_sent(const struct shell_sock *sk)
{
	return IN(sk, delivered) + IN(sk, lost) + IN(sk, inflight);
}

/*
 * Adds an entry of how much was sent. Of entries with the same count of deliveries the newest
 * counts.
 */
BBR_APART u32 bbr_add_send(struct bbr_history *history, const struct bbr_send *now)
{
	if (!history || !now)
		return 0;
	if (!history->n_sends || now->delivered != bbr_send_at(history, 0)->delivered)
		history->n_sends++;
	history->sends[(history->n_sends - 1) % BBR_SENDS] = *now;
	return 0;
}

static inline void bbr_note_send(struct bbr_history *history, const struct shell_sock *sk)
{
	struct bbr_send now = { IN(sk, delivered), IN(sk, snd_nxt), bbr_sent(sk) };

	bbr_add_send(history, &now);
}

/* ---- the flight of a packet */

/* True if the ACK acknowledges a tail loss probe that was a retransmission. */
static inline bool bbr_acks_tlp(const struct shell_sock *sk)
{
	return IN(sk, tlp_high_seq) && !before(IN(sk, snd_una), IN(sk, tlp_high_seq));
}

static inline u32 bbr_segments(u32 bytes, u32 mss)
{
	return quotient(bytes + mss - 1, mss);
}

/* Segments that the ACK left of a larger packet, if nothing is SACKed. */
static inline u32 bbr_rest(const struct shell_sock *sk, const struct shell_rs *rs)
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
static inline u32 bbr_inflight_by_delivery(const struct shell_sock *sk, const struct shell_rs *rs,
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
static inline u32 bbr_inflight_by_send(const struct bbr_history *history,
				       const struct shell_sock *sk, const struct shell_rs *rs,
				       u32 later, u32 by_delivery)
{
	const struct bbr_send *note = bbr_send_at(history, later),
			      *next = bbr_send_at(history, later - 1);
	u32 gone = rs->prior_delivered + history->prior_lost, mss = IN(sk, mss);
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

static inline u32 bbr_tx_in_flight(struct bbr_history *history, const struct shell_sock *sk,
				   const struct shell_rs *rs, u32 lost)
{
	u32 by_delivery = bbr_inflight_by_delivery(sk, rs, lost), later;

	if (!lost && !rs->is_retrans && !IN(sk, reord_seen))
		return by_delivery; /* this cannot be wrong */
	later = bbr_sends_after(history, rs->prior_delivered);
	/*
	 * Stored here, not by the search: a search without side effects costs the verifier a fifth
	 * less.
	 */
	history->sends_before = history->n_sends - later;
	if (later >= min_u32(history->n_sends, BBR_SENDS))
		return by_delivery;
	return bbr_inflight_by_send(history, sk, rs, later, by_delivery);
}

#endif
