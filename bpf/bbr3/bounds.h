/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bounds of the model. The lower bounds (bw_lo, inflight_lo) are cut once per loss round in
 * which packets were lost or marked, and hold until the next probe. The upper bound (inflight_hi)
 * is where a probe went too far. It grows again with whatever proves safe.
 */
#ifndef BBR_BOUNDS_H
#define BBR_BOUNDS_H

#include "ecn.h"

/*
 * True while we probe for bandwidth, and so risk losses. These do not cut the lower bounds: they
 * only end the probe.
 */
static inline bool bbr_is_probing_bw(const struct bbr *b, const struct shell_sock *sk)
{
	return bbr_is_mode(b, sk, BBR_STARTUP) || bbr_is_phase(b, sk, BBR_REFILL) ||
	       bbr_is_phase(b, sk, BBR_UP);
}

static inline void bbr_reset_lower_bounds(struct bbr *b)
{
	b->bw_lo = BBR_BW_NONE;
	b->inflight_lo = BBR_COUNT_NONE;
}

static inline u32 bbr_cut(const struct shell_sock *sk, u32 bound)
{
	return (u64)bound * (BBR_UNIT - PARAM(sk, beta)) >> BBR_SCALE;
}

static inline void bbr_init_inflight_lo(struct bbr *b, const struct shell_sock *sk)
{
	if (b->inflight_lo == BBR_COUNT_NONE)
		b->inflight_lo = bbr_count(IN(sk, cwnd));
}

static inline void bbr_cut_by_loss(struct bbr *b, const struct shell_sock *sk)
{
	if (b->bw_lo == BBR_BW_NONE)
		b->bw_lo = bbr_max_bw(b);
	bbr_init_inflight_lo(b, sk);
	b->bw_lo = max_u32(b->bw_latest, bbr_cut(sk, b->bw_lo));
	b->inflight_lo = max_u32(b->inflight_latest, bbr_cut(sk, b->inflight_lo));
}

/*
 * Cuts the lower bounds for losses and marks of the loss round that is over. A cut by a factor
 * reaches a much lower capacity within few rounds, but losses never cut below what was delivered
 * meanwhile (bw_latest, inflight_latest). The cuts for losses and for marks do not add up.
 */
static inline void bbr_adapt_lower_bounds(struct bbr *b, const struct shell_sock *sk)
{
	const struct bbr_more *more = bbr_ecn(sk);
	u32 by_ecn = BBR_COUNT_NONE;

	if (bbr_is_probing_bw(b, sk))
		return;
	if (more && more->ecn_in_round && PARAM(sk, ecn_factor)) {
		bbr_init_inflight_lo(b, sk);
		by_ecn = bbr_cut_by_ecn(more, sk, b->inflight_lo);
	}
	if (b->loss_in_round)
		bbr_cut_by_loss(b, sk);
	b->inflight_lo = min_u32(b->inflight_lo, by_ecn);
	b->bw_lo = max_u32(b->bw_lo, 1);
}

/* Takes the congestion signals of an ACK. Once per loss round, adapts the lower bounds. */
static inline void bbr_update_congestion_signals(struct bbr *b, struct shell_sock *sk,
						 const struct bbr_sample *s)
{
	if (!bbr_is_valid_sample(sk, s->rs))
		return;
	bbr_update_max_bw(b, s);
	if (bbr_is_fast(sk)) /* nothing to cut for; a bw_lo that was cut is 1 or more */
		return;
	if (s->rs->losses > 0)
		b->loss_in_round = 1;
	if (!b->loss_round_start)
		return;
	bbr_adapt_lower_bounds(b, sk);
	b->loss_in_round = 0;
	if (bbr_ecn(sk))
		bbr_ecn(sk)->ecn_in_round = 0;
}

/*
 * True if more than loss_thresh (2 %) of a packet's flight was lost. Fewer random losses do not
 * reduce inflight.
 */
static inline bool bbr_is_loss_too_high(const struct shell_sock *sk,
					const struct bbr_flight *flight)
{
	u32 most = (u64)flight->tx_in_flight * PARAM(sk, loss_thresh) >> BBR_SCALE;

	return flight->lost > 0 && flight->tx_in_flight && (u32)flight->lost > most;
}

/* inflight_hi less the headroom (15 %) that lets other flows start and the queue empty. */
static inline u32 bbr_inflight_with_headroom(const struct bbr *b, const struct shell_sock *sk)
{
	u32 headroom, least = PARAM(sk, cwnd_min_target);

	if (b->inflight_hi == BBR_COUNT_NONE)
		return BBR_COUNT_NONE;
	headroom = max_u32(b->inflight_hi * PARAM(sk, inflight_headroom) >> BBR_SCALE, 1);
	return b->inflight_hi > headroom + least ? b->inflight_hi - headroom : least;
}

/* Bounds a window by inflight_lo and inflight_hi (in CRUISE and PROBE_RTT less the headroom). */
static inline u32 bbr_bound_cwnd(const struct bbr *b, const struct shell_sock *sk, u32 cwnd)
{
	u32 most = BBR_COUNT_NONE;

	/* The ACK of our SYN comes before bbr_init(): there are no bounds yet. */
	if (bbr_is_general(sk) && !b->initialized)
		return cwnd;
	/* BBR_COUNT_NONE has all bits set, so the two give it only if neither bound is known. */
	if ((b->inflight_hi & b->inflight_lo) == BBR_COUNT_NONE)
		return cwnd;
	if (bbr_is_mode(b, sk, BBR_PROBE_RTT) || bbr_is_phase(b, sk, BBR_CRUISE))
		most = bbr_inflight_with_headroom(b, sk);
	else if (bbr_is_mode(b, sk, BBR_PROBE_BW))
		most = b->inflight_hi;
	most = min_u32(most, b->inflight_lo);
	return cwnd <= most ? cwnd : min_u32(cwnd, max_u32(most, PARAM(sk, cwnd_min_target)));
}

#endif
