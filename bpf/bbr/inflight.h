/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control, second half: how much may be in flight for a given model, and how much of what is in
 * flight is in the network.
 */
#ifndef BBR_INFLIGHT_H
#define BBR_INFLIGHT_H

#include "pacing.h"

#include "common/window.h"

/* More packets than any window of TCP (2^30 bytes) holds, and times any gain less than 2^31. */
#define BBR_BDP_MAX (1u << 26)
#define BBR_SRTT_MAX (1u << 24) /* us: times any pacing rate that a parameter can set, 63 bits */

/* Is an estimate given, not measured? */
static inline bool bbr_is_pinned(const struct bbr_sock *sk)
{
	return OPTION(sk, pin_bw) | OPTION(sk, pin_min_rtt);
}

/* gain * bw * min_rtt in packets. */
static inline u32 bbr_bdp(const struct bbr *b, const struct bbr_sock *sk, u32 bw, u32 gain)
{
	u64 w;

	/* No RTT was ever measured: all so far was retransmitted and there are no timestamps. Stay at
	 * what any connection may start with.
	 */
	if (b->min_rtt_us == BBR_RTT_NONE)
		return PARAM(sk, init_cwnd);

	w = (u64)bw * b->min_rtt_us;
	/* What was given may be what no path ever was. */
	if (bbr_is_pinned(sk))
		w = min_u64(w, BBR_BDP_MAX * BW_UNIT);
	return bbr_packets(w, gain);
}

/*
 * The same for a rate that is fixed: by the RTT as it is, for a queue must not slow it down. The rate
 * is in force already, with its bounds.
 */
static inline u32 bbr_fixed_rate_inflight(const struct bbr *b, const struct bbr_sock *sk)
{
	u64 bytes =
		IN(sk, pacing_rate) * min_u32(IN(sk, srtt_us) >> 3, BBR_SRTT_MAX) / USEC_PER_SEC;

	return min_u64(quotient(bytes, IN(sk, mss)), BBR_BDP_MAX) * b->cwnd_gain >> BBR_SCALE;
}

/* The bounds of the window, in whatever state. */
static inline u32 bbr_bound_cwnd(const struct bbr_sock *sk, u32 cwnd)
{
	cwnd = max_u32(cwnd, OPTION(sk, min_cwnd));
	if (OPTION(sk, max_cwnd))
		cwnd = min_u32(cwnd, OPTION(sk, max_cwnd));
	return cwnd;
}

/*
 * The BDP counts packets of a fluid; real ones travel in bursts. Leave room for a burst in each of
 * the places that hold one back, and do not leave a single packet for a delayed ACK to wait for.
 */
static inline u32 bbr_quantization_budget(const struct bbr *b, const struct bbr_sock *sk, u32 cwnd)
{
	cwnd += PARAM(sk, tso_budget) * bbr_tso_segs_goal(b, sk);
	cwnd = (cwnd + 1) & ~1u;
	/* With a BDP of a few packets 1.25 of it may round to the same: probe nevertheless. */
	if (bbr_mode_of(b, sk) == BBR_PROBE_BW && b->cycle_idx == BBR_PHASE_PROBE)
		cwnd += PARAM(sk, probe_bw_extra);
	return cwnd;
}

/* The inflight that a gain aims at. */
static inline u32 bbr_inflight(const struct bbr *b, const struct bbr_sock *sk, u32 bw, u32 gain)
{
	return bbr_quantization_budget(b, sk, bbr_bdp(b, sk, bw, gain));
}

/* Is inflight to grow? */
static inline bool bbr_is_raising(const struct bbr *b)
{
	return b->pacing_gain > BBR_UNIT;
}

#include "common/edt.h"

/*
 * Does inflight reach at the EDT what a gain above 1 aims at? Not if it is below the BDP already: then it gets but one
 * burst more, and the target has at least one, too.
 */
static inline bool bbr_is_inflight_at_least(const struct bbr *b, const struct bbr_sock *sk,
					    u32 inflight, u32 bw, u32 gain)
{
	u32 bdp = bbr_bdp(b, sk, bw, gain);

	if (inflight < bdp && bdp <= BBR_BDP_MAX && PARAM(sk, tso_budget))
		return false;
	return bbr_packets_in_net_at_edt(b, sk, inflight) >= bbr_quantization_budget(b, sk, bdp);
}

#endif
