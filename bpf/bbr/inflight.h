/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control, second half: how much may be in flight for a given model, and how much of that is in the
 * network.
 */
#ifndef BBR_INFLIGHT_H
#define BBR_INFLIGHT_H

#include "common/edt.h"
#include "pacing.h"

#include "common/window.h"

/* More packets than any TCP window (2^30 bytes) holds. Times any gain this is below 2^31. */
#define BBR_BDP_MAX (1u << 26)
#define BBR_SRTT_MAX (1u << 24) /* us: times any rate that a parameter can set, 63 bits */

/* True if a parameter pins bw or min_rtt. */
static inline bool bbr_is_pinned(const struct shell_sock *sk)
{
	return OPTION(sk, pin_bw) | OPTION(sk, pin_min_rtt);
}

/* gain * bw * min_rtt in packets. */
static inline u32 bbr_bdp(const struct bbr *b, const struct shell_sock *sk, u32 bw, u32 gain)
{
	u64 w;

	/*
	 * No RTT sample yet: everything so far was retransmitted, without timestamps. Stay at the
	 * window that any connection may start with (init_cwnd, 10 packets).
	 */
	if (b->min_rtt_us == BBR_RTT_NONE)
		return PARAM(sk, init_cwnd);

	w = (u64)bw * b->min_rtt_us;
	/*
	 * Pinned values need not fit any real path: keep the product with the gain within 64 bits.
	 */
	if (bbr_is_pinned(sk))
		w = min_u64(w, BBR_BDP_MAX * BW_UNIT);
	return bbr_packets(w, gain);
}

/*
 * The same for a fixed pacing rate, with the smoothed RTT instead of min_rtt, because a queue must
 * not slow it down. The socket's pacing rate already is the fixed rate within its bounds.
 */
static inline u32 bbr_fixed_rate_inflight(const struct bbr *b, const struct shell_sock *sk)
{
	u64 bytes =
		IN(sk, pacing_rate) * min_u32(IN(sk, srtt_us) >> 3, BBR_SRTT_MAX) / USEC_PER_SEC;

	return min_u64(quotient(bytes, IN(sk, mss)), BBR_BDP_MAX) * b->cwnd_gain >> BBR_SCALE;
}

/* Bounds the window by min_cwnd and max_cwnd, which hold in every state. */
static inline u32 bbr_bound_cwnd(const struct shell_sock *sk, u32 cwnd)
{
	cwnd = max_u32(cwnd, OPTION(sk, min_cwnd));
	if (OPTION(sk, max_cwnd))
		cwnd = min_u32(cwnd, OPTION(sk, max_cwnd));
	return cwnd;
}

/*
 * The BDP is a fluid model; real packets travel in bursts. So leave room for a burst in each place
 * that holds one back (tso_budget, 3: the sender's qdisc and NIC, the receiver's GRO). And round up
 * to an even number, so that no single packet waits for a delayed ACK.
 */
static inline u32 bbr_quantization_budget(const struct bbr *b, const struct shell_sock *sk,
					  u32 cwnd)
{
	cwnd += PARAM(sk, tso_budget) * bbr_tso_segs_goal(sk);
	cwnd = (cwnd + 1) & ~1u;
	/* With a BDP of a few packets 1.25 of it may round to the same: probe nevertheless. */
	if (bbr_is_mode(b, sk, BBR_PROBE_BW) && b->cycle_idx == BBR_PHASE_PROBE)
		cwnd += PARAM(sk, probe_bw_extra);
	return cwnd;
}

/* The inflight that a gain aims at. */
static inline u32 bbr_inflight(const struct bbr *b, const struct shell_sock *sk, u32 bw, u32 gain)
{
	return bbr_quantization_budget(b, sk, bbr_bdp(b, sk, bw, gain));
}

/*
 * Returns how many of `inflight` packets will be in the network when the next one departs. When
 * inflight is to grow, the departing burst counts, because it may reach the target. When inflight
 * is to shrink, the low point just before the burst matters.
 */
static inline u32 bbr_packets_in_net_at_edt(const struct bbr *b, const struct shell_sock *sk,
					    u32 inflight)
{
	if (b->pacing_gain > BBR_UNIT)
		inflight += bbr_tso_segs_goal(sk);
	return bbr_left_at_edt(sk, bbr_bw(b), inflight);
}

/*
 * True if inflight at the EDT will reach the target of a gain above 1. If it is below gain * BDP
 * now, it will not: it gains at most one burst, and the target includes at least one (tso_budget).
 */
static inline bool bbr_is_inflight_at_least(const struct bbr *b, const struct shell_sock *sk,
					    u32 inflight, u32 bw, u32 gain)
{
	u32 bdp = bbr_bdp(b, sk, bw, gain);

	if (inflight < bdp && bdp <= BBR_BDP_MAX && PARAM(sk, tso_budget))
		return false;
	return bbr_packets_in_net_at_edt(b, sk, inflight) >= bbr_quantization_budget(b, sk, bdp);
}

#endif
