/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * STARTUP and DRAIN: a binary search for the bandwidth of the path, which doubles the rate each round
 * and so finds it in log2(BDP) rounds, whatever it is between a modem and a data centre; and the
 * draining of the queue that the last doublings made.
 */
#ifndef BBR_STARTUP_H
#define BBR_STARTUP_H

#include "probe_bw.h"

/*
 * The pipe is full when doubling the rate no longer makes the delivery rate grow by a quarter. Wait
 * for three rounds of it: the receive window may be what limits, and takes one round to be enlarged,
 * one to be filled, and one to be measured.
 */
static inline void bbr_check_full_bw_reached(struct bbr *b, const struct bbr_sock *sk,
					     const struct bbr_rs *rs)
{
	u32 thresh;

	if (bbr_is_pipe_full(b, sk) || !b->round_start || bbr_is_app_limited(b, rs))
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

/* Does a parameter keep the rate at what the path carries, or above? Then no queue ever drains. */
static inline bool bbr_is_drain_in_vain(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_is_rate_bounded(sk) &&
	       bbr_bound_rate(sk, 0) >= bbr_rate_bytes_per_sec(sk, bbr_max_bw(b), BBR_UNIT);
}

/* Drains until inflight fits the pipe; at once, on the same ACK, if there is no queue. */
static inline void bbr_drain(struct bbr *b, const struct bbr_sock *sk)
{
	if (bbr_is_drain_in_vain(b, sk) || bbr_packets_in_net_at_edt(b, sk, IN(sk, inflight)) <=
						   bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT))
		bbr_enter_probe_bw(b, sk, BBR_R_DRAINED);
}

/* From STARTUP to DRAIN to PROBE_BW. */
static inline void bbr_check_drain(struct bbr *b, struct bbr_sock *sk)
{
	if (sk->kind & BBR_CYCLING)
		return;
	if (unlikely(b->mode == BBR_STARTUP && b->full_bw_reached)) {
		bbr_enter_mode(b, BBR_DRAIN, BBR_R_FULL_BW);
		SET(sk, ssthresh, bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT));
	}
	if (unlikely(b->mode == BBR_DRAIN))
		bbr_drain(b, sk);
}

#endif
