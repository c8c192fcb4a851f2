/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From bandwidth to a pacing rate, and to packets: the arithmetic that every BBR has.
 */
#ifndef COMMON_RATE_H
#define COMMON_RATE_H

#include "bbr.h"

/*
 * Bytes per second of bandwidth bw at a gain, less the pacing margin. The order of the steps keeps
 * 64 bits from overflowing up to 2.9 Tbit/s at gains of STARTUP, and decides on the rounding.
 */
static inline u64 bbr_rate_bytes_per_sec(const struct shell_sock *sk, u64 bw, u32 gain)
{
	u64 rate = bw;

	rate *= IN(sk, mss);
	rate *= gain;
	rate >>= BBR_SCALE;
	rate *= USEC_PER_SEC - USEC_PER_SEC / 100 * PARAM(sk, pacing_margin);
	return rate >> BW_SCALE;
}

/* max_pacing_rate overrides other parameters, and SO_MAX_PACING_RATE overrides all. */
static inline u64 bbr_limit_rate(const struct shell_sock *sk, u64 rate)
{
	if (OPTION(sk, max_pacing_rate))
		rate = min_u64(rate, OPTION(sk, max_pacing_rate) * BYTES_PER_KBIT);
	return min_u64(rate, IN(sk, max_pacing_rate));
}

/* The bandwidth to begin with: the present window, once per RTT. */
static inline u64 bbr_first_bw(struct bbr *b, const struct shell_sock *sk)
{
	u32 rtt_us;

	if (IN(sk, srtt_us)) {
		rtt_us = max_u32(IN(sk, srtt_us) >> 3, 1);
		b->has_seen_rtt = 1;
	} else {
		rtt_us = PARAM(sk, init_rtt);
	}
	return quotient(IN(sk, cwnd) * BW_UNIT, rtt_us);
}

/*
 * The packets of bw * RTT at a gain, rounded up. Rounding down would lower the window, thereby the
 * delivery rate, thereby bw, and so on.
 */
static inline u32 bbr_packets(u64 bw_rtt, u32 gain)
{
	return (((bw_rtt * gain) >> BBR_SCALE) + BW_UNIT - 1) / BW_UNIT;
}

#endif
