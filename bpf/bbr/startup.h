/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * STARTUP and DRAIN. STARTUP is a binary search for the bandwidth of the path: it doubles the rate
 * each round, so it needs log2(BDP) rounds, whether the path is a modem or a data centre. DRAIN
 * then drains the queue that the last doublings built.
 */
#ifndef BBR_STARTUP_H
#define BBR_STARTUP_H

#include "probe_bw.h"

/*
 * The pipe is full when doubling the rate no longer raises the delivery rate by a quarter
 * (full_bw_thresh). Wait for three such rounds (full_bw_rounds): if the receive window was the
 * limit, it takes one round to enlarge it, one to fill it, and one to measure the result.
 */
static inline void bbr_check_full_bw_reached(struct bbr *b, const struct shell_sock *sk,
					     const struct shell_rs *rs)
{
	u32 thresh;

	if (bbr_is_pipe_full(b, sk) || !b->round_start || shell_is_app_limited(b, sk, rs))
		return;

	thresh = (u64)b->full_bw * PARAM(sk, full_bw_thresh) >> BBR_SCALE;
	if (bbr_max_bw(b) >= thresh) {
		b->full_bw = bbr_max_bw(b);
		b->full_bw_cnt = 0;
		return;
	}
	b->full_bw_cnt++;
	b->full_bw_reached = b->full_bw_cnt >= PARAM(sk, full_bw_rounds);
}

/*
 * True if a parameter keeps the pacing rate at or above the path's bandwidth, so that no queue ever
 * drains.
 */
static inline bool bbr_is_drain_in_vain(const struct bbr *b, const struct shell_sock *sk)
{
	return bbr_is_rate_bounded(sk) &&
	       bbr_bound_rate(sk, 0) >= bbr_rate_bytes_per_sec(sk, bbr_max_bw(b), BBR_UNIT);
}

/* Ends DRAIN when inflight is down to the BDP: on the ACK that began it, if there is no queue. */
static inline void bbr_drain(struct bbr *b, const struct shell_sock *sk)
{
	if (bbr_is_drain_in_vain(b, sk) || bbr_packets_in_net_at_edt(b, sk, IN(sk, inflight)) <=
						   bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT))
		bbr_enter_probe_bw(b, sk, BBR_R_DRAINED);
}

/* From STARTUP to DRAIN to PROBE_BW. */
static inline void bbr_check_drain(struct bbr *b, struct shell_sock *sk)
{
	if (bbr_is_mode(b, sk, BBR_PROBE_BW))
		return;
	if (unlikely(b->mode == BBR_STARTUP && b->full_bw_reached)) {
		bbr_enter_mode(b, BBR_DRAIN, BBR_R_FULL_BW);
		SET(sk, ssthresh, bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT));
	}
	if (unlikely(b->mode == BBR_DRAIN))
		bbr_drain(b, sk);
}

#endif
