/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECN marks. In a network that marks packets as soon as a short queue (some 100 us) stands, the
 * share of marked packets shows how far inflight is above the BDP. (The shell knows whether the
 * network is of this kind; a path of a few ms makes it likely.) Like DCTCP, the sender keeps a
 * moving average of the share, alpha, and cuts inflight_lo in proportion. The receiver ACKs at once
 * when marks begin or end, so that each ACK covers only marked or only unmarked packets.
 */
#ifndef BBR_ECN_H
#define BBR_ECN_H

#include "model.h"

#define BBR_ACK_TIMER 2 /* ICSK_ACK_TIMER: an ACK is delayed */
#define BBR_ACK_NOW 16 /* ICSK_ACK_NOW: send the next ACK at once */

/* The state of ECN; NULL if ECN is not in use, or if there was no memory for it. */
static inline struct bbr_more *bbr_ecn(const struct shell_sock *sk)
{
	return bbr_is_general(sk) ? sk->more : NULL;
}

static inline bool bbr_is_ecn_eligible(const struct shell_sock *sk)
{
	return bbr_ecn(sk) && bbr_ecn(sk)->ecn_eligible;
}

static inline void bbr_init_ecn(struct bbr_more *more, struct shell_sock *sk)
{
	more->ecn_eligible = 0;
	more->ecn_alpha = PARAM(sk, ecn_alpha_init);
	more->alpha_last_delivered = 0;
	more->alpha_last_delivered_ce = 0;
	more->startup_ecn_rounds = 0;
	more->ce_state = 0;
	more->prior_rcv_nxt = IN(sk, rcv_nxt);
}

/*
 * Sets ecn_eligible if the path is short enough (ecn_max_rtt, 5 ms) for marks to mean short queues.
 * It stays set.
 */
static inline void bbr_check_ecn_eligible(const struct bbr *b, struct bbr_more *more,
					  const struct shell_sock *sk)
{
	if (!IN(sk, uses_ecn) || !PARAM(sk, ecn_factor))
		return;
	if (!PARAM(sk, ecn_max_rtt) || b->min_rtt_us <= PARAM(sk, ecn_max_rtt))
		more->ecn_eligible = 1;
}

/* The share of marked packets since the last round, in 1/256. Negative if nothing was delivered. */
static inline s32 bbr_ce_ratio(const struct bbr_more *more, const struct shell_sock *sk)
{
	s32 delivered = IN(sk, delivered) - more->alpha_last_delivered;
	s32 delivered_ce = IN(sk, delivered_ce) - more->alpha_last_delivered_ce;

	if (delivered <= 0 || delivered_ce < 0)
		return -1;
	return quotient((u64)delivered_ce << BBR_SCALE, delivered);
}

/*
 * True if STARTUP must end because ecn_thresh (half) of the packets were marked in two rounds in a
 * row (full_ecn_cnt).
 */
static inline bool bbr_is_startup_marked(struct bbr_more *more, const struct shell_sock *sk,
					 u32 ce_ratio)
{
	if (!PARAM(sk, full_ecn_cnt) || !PARAM(sk, ecn_thresh))
		return false;
	if (ce_ratio < PARAM(sk, ecn_thresh))
		more->startup_ecn_rounds = 0;
	else
		more->startup_ecn_rounds++;
	return more->startup_ecn_rounds >= PARAM(sk, full_ecn_cnt);
}

/*
 * Updates alpha once a round. Returns the share of marked packets in 1/256, negative if BBR does
 * not react to marks or nothing was delivered.
 */
static inline s32 bbr_update_ecn_alpha(const struct bbr *b, struct bbr_more *more,
				       const struct shell_sock *sk)
{
	u32 gain = PARAM(sk, ecn_alpha_gain);
	s32 ratio;
	u32 alpha;

	if (!more->ecn_eligible)
		bbr_check_ecn_eligible(b, more, sk);
	if (!more->ecn_eligible)
		return -1;
	ratio = bbr_ce_ratio(more, sk);
	if (ratio < 0)
		return -1;
	alpha = ((BBR_UNIT - gain) * more->ecn_alpha >> BBR_SCALE) +
		((u64)gain * (u32)ratio >> BBR_SCALE);
	more->ecn_alpha = min_u32(alpha, BBR_UNIT);
	more->alpha_last_delivered = IN(sk, delivered);
	more->alpha_last_delivered_ce = IN(sk, delivered_ce);
	return ratio;
}

/* The inflight that remains after a cut for marks: less alpha * ecn_factor (1/3) of it. */
static inline u32 bbr_cut_by_ecn(const struct bbr_more *more, const struct shell_sock *sk,
				 u32 inflight)
{
	u32 cut = more->ecn_alpha * PARAM(sk, ecn_factor) >> BBR_SCALE;

	return inflight * (BBR_UNIT - cut) >> BBR_SCALE; /* 24 bits, so no overflow */
}

/* True if the sample has more marks (ecn_thresh, half) than a path that is merely full gives. */
static inline bool bbr_is_ecn_too_high(const struct shell_sock *sk, const struct bbr_sample *s)
{
	u32 most;

	if (s->ack->delivered_ce <= 0 || s->rs->delivered <= 0 || !bbr_is_ecn_eligible(sk) ||
	    !PARAM(sk, ecn_thresh))
		return false;
	most = (u64)(u32)s->rs->delivered * PARAM(sk, ecn_thresh) >> BBR_SCALE;
	return (u32)s->ack->delivered_ce > most;
}

static inline void bbr_note_marks(struct shell_sock *sk, const struct bbr_ack *ack)
{
	if (bbr_is_ecn_eligible(sk) && ack->is_ece)
		sk->more->ecn_in_round = 1;
}

/*
 * Receiver: a packet arrived, marked or not. When that changes, ACK the packets so far at once,
 * with the ECE flag that is right for them. (We send ECE while demand_cwr is set.)
 */
static inline void bbr_receive_ce(struct shell_sock *sk, bool is_ce)
{
	struct bbr_more *more = sk->more;

	if (!more || !IN(sk, uses_ecn) || !PARAM(sk, ecn_precise_ack))
		return;
	if (more->ce_state != is_ce) {
		if (IN(sk, ack_pending) & BBR_ACK_TIMER) {
			SET(sk, demand_cwr, more->ce_state);
			shell_send_ack(sk, more->prior_rcv_nxt);
		}
		SET(sk, ack_pending, IN(sk, ack_pending) | BBR_ACK_NOW);
	}
	more->prior_rcv_nxt = IN(sk, rcv_nxt);
	more->ce_state = is_ce;
	SET(sk, demand_cwr, is_ce);
}

#endif
