/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control, second half: how much may be in flight for a given model, and how much of what is in
 * flight is in the network.
 */
#ifndef BBR_INFLIGHT_H
#define BBR_INFLIGHT_H

#include "pacing.h"

#include "common/window.h"

/* gain * bw * min_rtt in packets. */
static inline u32 bbr_bdp(const struct bbr *b, const struct bbr_sock *sk, u32 bw, u32 gain)
{
	/* No RTT was ever measured: all so far was retransmitted and there are no timestamps. Stay at
	 * what the connection started with.
	 */
	if (!bbr_is_calm(sk) && unlikely(b->min_rtt_us == BBR_RTT_NONE))
		return b->init_cwnd;
	return bbr_packets((u64)bw * b->min_rtt_us, gain);
}

/*
 * The BDP counts packets of a fluid; real ones travel in bursts. A window that is less than a burst in each
 * of the places that hold one back would leave the pipe empty in between.
 */
static inline u32 bbr_quantization_budget(const struct bbr *b, const struct bbr_sock *sk, u32 cwnd)
{
	cwnd = max_u32(cwnd, PARAM(sk, tso_budget) * IN(sk, min_tso_segs));
	/* No burst has more bytes than that: then its length need not be known. */
	if (unlikely((u64)cwnd * IN(sk, mss) < PARAM(sk, tso_budget) * BBR_GSO_MAX_SIZE)) {
		READ_AGAIN();
		cwnd = max_u32(cwnd, PARAM(sk, tso_budget) * bbr_tso_segs_goal(b, sk));
	}
	cwnd = max_u32(cwnd, PARAM(sk, cwnd_min_target));
	/* With a BDP of a few packets 1.25 of it may round to the same: probe nevertheless. */
	if (bbr_is_phase(b, sk, BBR_UP))
		cwnd += PARAM(sk, probe_up_extra);
	return cwnd;
}

/* The inflight that a gain aims at. */
static inline u32 bbr_inflight(const struct bbr *b, const struct bbr_sock *sk, u32 bw, u32 gain)
{
	return bbr_quantization_budget(b, sk, bbr_bdp(b, sk, bw, gain));
}

/* The inflight that is wanted: the BDP, unless the window is kept below it. */
static inline u32 bbr_target_inflight(const struct bbr *b, const struct bbr_sock *sk)
{
	return min_u32(bbr_inflight(b, sk, bbr_bw(b), BBR_UNIT), IN(sk, cwnd));
}

static inline u32 bbr_bw_of(const struct bbr *b, const struct bbr_sock *sk)
{
	(void)sk;
	return bbr_bw(b);
}

/* Is inflight to grow? */
static inline bool bbr_is_raising(const struct bbr *b)
{
	return b->raising;
}

#include "common/edt.h"

#endif
