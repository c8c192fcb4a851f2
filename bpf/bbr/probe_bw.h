/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PROBE_BW, where BBR lives: a cycle of pacing gains that probes for more bandwidth (1.25), drains
 * the queue which that made if there was no more (0.75), and cruises (1.0) with a full pipe and an
 * empty queue. A phase lasts about one min_rtt. While bw grows, 1.25 of it is more each cycle, so that
 * new bandwidth is found exponentially fast; other flows get a share in the phases below 1.0.
 */
#ifndef BBR_PROBE_BW_H
#define BBR_PROBE_BW_H

#include "inflight.h"

/* The phases that are in use. */
static inline u32 bbr_cycle_phases(const struct bbr_sock *sk)
{
	return OPTION_OR(sk, cycle_len, BBR_CYCLE_LEN);
}

static inline void bbr_advance_cycle_phase(struct bbr *b, const struct bbr_sock *sk)
{
	u32 next = b->cycle_idx + 1;

	b->cycle_idx = next < bbr_cycle_phases(sk) ? next : BBR_PHASE_PROBE;
	b->cycle_mstamp = IN(sk, delivered_mstamp);
}

/* With drain_to_target phases differ in length, so a cycle gets one: 2 min_rtts to one for each phase. */
static inline void bbr_begin_cycle(struct bbr *b, const struct bbr_sock *sk, enum bbr_phase phase)
{
	b->cycle_idx = phase;
	b->cycle_mstamp = IN(sk, delivered_mstamp);
	b->cycle_len = 2 + ((u64)IN(sk, random) * (bbr_cycle_phases(sk) - 1) >> 32);
}

/*
 * Starts at a random phase, so that flows that share a bottleneck do not probe all at once. Only the
 * draining phase is left out: there is nothing to drain yet, it would but lose throughput.
 */
static inline void bbr_enter_probe_bw(struct bbr *b, const struct bbr_sock *sk,
				      enum bbr_reason reason)
{
	u32 last = bbr_cycle_phases(sk) - 1;
	u32 r = (u64)IN(sk, random) * last >> 32; /* 0 to 6 */

	bbr_enter_mode(b, BBR_PROBE_BW, reason);
	b->cycle_idx = last - r; /* 1 to 7, and on to 2 to 7 or 0 */
	bbr_advance_cycle_phase(b, sk);
	if (OPTION(sk, drain_to_target))
		bbr_begin_cycle(b, sk, min_u32(b->cycle_idx, BBR_PHASE_CRUISE));
}

/* Has this phase (with drain_to_target: this cycle) lasted for more than so many min_rtts? */
static inline bool bbr_is_cycle_older(const struct bbr *b, const struct bbr_sock *sk, u32 min_rtts)
{
	return stamp_us_delta(IN(sk, delivered_mstamp), b->cycle_mstamp) >
	       (u64)b->min_rtt_us * min_rtts;
}

/* Has probing met its end? Losses that are ignored must not let it go on for ever, though. */
static inline bool bbr_is_path_full(const struct bbr *b, const struct bbr_sock *sk,
				    const struct bbr_rs *rs)
{
	if (bbr_is_lossless(sk))
		return false;
	if (OPTION(sk, ignore_loss))
		return bbr_is_cycle_older(b, sk, bbr_cycle_phases(sk));
	return rs->losses;
}

/* Has inflight come to where a phase that probes or drains wants it? */
static inline bool bbr_is_inflight_reached(const struct bbr *b, const struct bbr_sock *sk,
					   const struct bbr_rs *rs, bool is_full_length)
{
	u32 bw = bbr_max_bw(b);

	/* Probe until inflight got as high as the gain aims at, which on a short path takes more than
	 * one min_rtt; but not if the path cannot hold so much.
	 */
	if (b->pacing_gain > BBR_UNIT)
		return is_full_length &&
		       (bbr_is_path_full(b, sk, rs) ||
			bbr_is_inflight_at_least(b, sk, rs->prior_in_flight, bw, b->pacing_gain));

	/* Drain until the queue is gone. Longer would leave the pipe unfilled. */
	return is_full_length || bbr_packets_in_net_at_edt(b, sk, rs->prior_in_flight) <=
					 bbr_inflight(b, sk, bw, BBR_UNIT);
}

/* Is it time for the next phase? Cruising changes no queue: there the clock decides alone. */
static inline bool bbr_is_next_cycle_phase(const struct bbr *b, const struct bbr_sock *sk,
					   const struct bbr_rs *rs)
{
	bool is_full_length = bbr_is_cycle_older(b, sk, 1);

	if (b->pacing_gain == BBR_UNIT)
		return is_full_length;
	return bbr_is_inflight_reached(b, sk, rs, is_full_length);
}

/*
 * The cycle of drain_to_target: probes as always, drains until the queue is gone however long that takes,
 * and cruises for what is left of the cycle's time.
 */
static inline void bbr_update_drain_to_target(struct bbr *b, const struct bbr_sock *sk,
					      const struct bbr_rs *rs)
{
	bool is_over = false;

	if (bbr_is_cycle_older(b, sk, b->cycle_len)) {
		bbr_begin_cycle(b, sk, BBR_PHASE_PROBE);
		return;
	}
	if (b->cycle_idx == BBR_PHASE_PROBE)
		is_over = bbr_is_next_cycle_phase(b, sk, rs);
	else if (b->cycle_idx == BBR_PHASE_DRAIN)
		is_over = bbr_packets_in_net_at_edt(b, sk, rs->prior_in_flight) <=
			  bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT);
	b->cycle_idx += is_over;
}

static inline void bbr_update_cycle_phase(struct bbr *b, const struct bbr_sock *sk,
					  const struct bbr_rs *rs)
{
	if (bbr_mode_of(b, sk) != BBR_PROBE_BW)
		return;
	if (OPTION(sk, drain_to_target))
		bbr_update_drain_to_target(b, sk, rs);
	else if (bbr_is_next_cycle_phase(b, sk, rs))
		bbr_advance_cycle_phase(b, sk);
}

#endif
