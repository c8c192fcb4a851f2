/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PROBE_BW, where BBR spends most of its time: a cycle of eight pacing gains. It probes for more
 * bandwidth (1.25), drains the queue that the probe built if there was no more (0.75), and cruises
 * (1.0, six phases) with a full pipe and an empty queue. A phase lasts about one min_rtt. While bw
 * grows, each probe is 1.25 of a higher bw, so BBR finds new bandwidth exponentially fast. Other
 * flows get their share in the phase below 1.0.
 */
#ifndef BBR_PROBE_BW_H
#define BBR_PROBE_BW_H

#include "inflight.h"

/* Number of phases in use. */
static inline u32 bbr_cycle_phases(const struct shell_sock *sk)
{
	return OPTION_OR(sk, cycle_len, BBR_CYCLE_LEN);
}

static inline void bbr_advance_cycle_phase(struct bbr *b, const struct shell_sock *sk)
{
	u32 next = b->cycle_idx + 1;

	b->cycle_idx = next < bbr_cycle_phases(sk) ? next : BBR_PHASE_PROBE;
	b->cycle_mstamp = IN(sk, delivered_mstamp);
}

/*
 * Begins a cycle of drain_to_target. Its phases differ in length, so the cycle gets one: 2 to
 * cycle_len min_rtts, at random.
 */
static inline void bbr_begin_cycle(struct bbr *b, const struct shell_sock *sk, enum bbr_phase phase)
{
	b->cycle_idx = phase;
	b->cycle_mstamp = IN(sk, delivered_mstamp);
	b->cycle_len = 2 + ((u64)IN(sk, random) * (bbr_cycle_phases(sk) - 1) >> 32);
}

/*
 * Starts at a random phase, so that flows that share a bottleneck do not all probe at once. Only
 * the draining phase is left out: there is nothing to drain yet, so it would only lose throughput.
 */
static inline void bbr_enter_probe_bw(struct bbr *b, const struct shell_sock *sk,
				      enum bbr_reason reason)
{
	u32 last = bbr_cycle_phases(sk) - 1;
	u32 r = (u64)IN(sk, random) * last >> 32; /* 0 to 6 */

	bbr_enter_mode(b, BBR_PROBE_BW, reason);
	b->cycle_idx = last - r; /* 1 to 7; advanced below: 2 to 7, or 0 */
	bbr_advance_cycle_phase(b, sk);
	if (OPTION(sk, drain_to_target))
		bbr_begin_cycle(b, sk, min_u32(b->cycle_idx, BBR_PHASE_CRUISE));
}

/* True if this phase (with drain_to_target: this cycle) is older than `min_rtts` times min_rtt. */
static inline bool bbr_is_cycle_older(const struct bbr *b, const struct shell_sock *sk,
				      u32 min_rtts)
{
	return stamp_us_delta(IN(sk, delivered_mstamp), b->cycle_mstamp) >
	       (u64)b->min_rtt_us * min_rtts;
}

/*
 * True if probing must stop: at a loss, or with ignore_loss after as many min_rtts as the cycle has
 * phases.
 */
static inline bool bbr_is_path_full(const struct bbr *b, const struct shell_sock *sk,
				    const struct shell_rs *rs)
{
	if (bbr_is_fast(sk))
		return false;
	if (OPTION(sk, ignore_loss))
		return bbr_is_cycle_older(b, sk, bbr_cycle_phases(sk));
	return rs->losses;
}

/* True if inflight has reached the target of a phase that probes or drains. */
static inline bool bbr_is_inflight_reached(const struct bbr *b, const struct shell_sock *sk,
					   const struct shell_rs *rs, bool is_full_length)
{
	u32 bw = bbr_max_bw(b);

	/*
	 * Probe for one min_rtt, and on until inflight reaches pacing_gain * BDP, which takes
	 * longer on a short path. But do not wait for that after a loss: the path cannot hold so
	 * much.
	 */
	if (b->pacing_gain > BBR_UNIT)
		return is_full_length &&
		       (bbr_is_path_full(b, sk, rs) ||
			bbr_is_inflight_at_least(b, sk, rs->prior_in_flight, bw, b->pacing_gain));

	/*
	 * Drain until the queue is gone, for at most one min_rtt. Longer would leave the pipe
	 * unfilled.
	 */
	return is_full_length || bbr_packets_in_net_at_edt(b, sk, rs->prior_in_flight) <=
					 bbr_inflight(b, sk, bw, BBR_UNIT);
}

/* True if the next phase is due. Cruising does not change the queue, so only the clock decides. */
static inline bool bbr_is_next_cycle_phase(const struct bbr *b, const struct shell_sock *sk,
					   const struct shell_rs *rs)
{
	bool is_full_length = bbr_is_cycle_older(b, sk, 1);

	if (b->pacing_gain == BBR_UNIT)
		return is_full_length;
	return bbr_is_inflight_reached(b, sk, rs, is_full_length);
}

/*
 * The cycle of drain_to_target: probes as usual, drains until the queue is gone, and cruises for
 * the rest of the cycle. The cycle's end ends any phase.
 */
static inline void bbr_update_drain_to_target(struct bbr *b, const struct shell_sock *sk,
					      const struct shell_rs *rs)
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

static inline void bbr_update_cycle_phase(struct bbr *b, const struct shell_sock *sk,
					  const struct shell_rs *rs)
{
	if (!bbr_is_mode(b, sk, BBR_PROBE_BW))
		return;
	if (OPTION(sk, drain_to_target))
		bbr_update_drain_to_target(b, sk, rs);
	else if (bbr_is_next_cycle_phase(b, sk, rs))
		bbr_advance_cycle_phase(b, sk);
}

#endif
