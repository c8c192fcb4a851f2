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

static inline void bbr_advance_cycle_phase(struct bbr *b, const struct bbr_sock *sk)
{
	b->cycle_idx = (b->cycle_idx + 1) & (BBR_CYCLE_LEN - 1);
	b->cycle_mstamp = IN(sk, delivered_mstamp);
}

/*
 * Starts at a random phase, so that flows that share a bottleneck do not probe all at once. Only the
 * draining phase is left out: there is nothing to drain yet, it would but lose throughput.
 */
static inline void bbr_enter_probe_bw(struct bbr *b, const struct bbr_sock *sk,
				      enum bbr_reason reason)
{
	u32 r = (u64)IN(sk, random) * (BBR_CYCLE_LEN - 1) >> 32; /* 0 to 6 */

	bbr_enter_mode(b, BBR_PROBE_BW, reason);
	b->cycle_idx = BBR_CYCLE_LEN - 1 - r; /* 1 to 7, and on to 2 to 7 or 0 */
	bbr_advance_cycle_phase(b, sk);
}

/* Has inflight come to where a phase that probes or drains wants it? */
static inline bool bbr_is_inflight_reached(const struct bbr *b, const struct bbr_sock *sk,
					   const struct bbr_rs *rs, bool is_full_length)
{
	u32 inflight = bbr_packets_in_net_at_edt(b, sk, rs->prior_in_flight);
	u32 bw = bbr_max_bw(b);

	/* Probe until inflight got as high as the gain aims at, which on a short path takes more than
	 * one min_rtt; but not if the path cannot hold so much.
	 */
	if (b->pacing_gain > BBR_UNIT)
		return is_full_length &&
		       (rs->losses || inflight >= bbr_inflight(b, sk, bw, b->pacing_gain));

	/* Drain until the queue is gone. Longer would leave the pipe unfilled. */
	return is_full_length || inflight <= bbr_inflight(b, sk, bw, BBR_UNIT);
}

/* Is it time for the next phase? Cruising changes no queue: there the clock decides alone. */
static inline bool bbr_is_next_cycle_phase(const struct bbr *b, const struct bbr_sock *sk,
					   const struct bbr_rs *rs)
{
	bool is_full_length =
		stamp_us_delta(IN(sk, delivered_mstamp), b->cycle_mstamp) > b->min_rtt_us;

	if (b->pacing_gain == BBR_UNIT)
		return is_full_length;
	return bbr_is_inflight_reached(b, sk, rs, is_full_length);
}

static inline void bbr_update_cycle_phase(struct bbr *b, const struct bbr_sock *sk,
					  const struct bbr_rs *rs)
{
	if (b->mode == BBR_PROBE_BW && bbr_is_next_cycle_phase(b, sk, rs))
		bbr_advance_cycle_phase(b, sk);
}

#endif
