/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control, first half: how fast to send, and in which bursts.
 */
#ifndef BBR_PACING_H
#define BBR_PACING_H

#include "bbr.h"

#include "common/rate.h"

#define BBR_LEAST_PACING_GAIN 16 /* 1/16: drain_gain's; those of the others are higher (params.h) */

/*
 * At 1 byte/s, Google's least, a connection stands still. A gain that is lower than a parameter can be was written past
 * bbrctl: then nothing is paced.
 */
static inline u64 bbr_bw_to_pacing_rate(const struct bbr_sock *sk, u64 bw, u32 gain)
{
	u64 rate = max_u64(bbr_rate_bytes_per_sec(sk, bw, gain), 1);

	return unlikely(gain < BBR_LEAST_PACING_GAIN) ? IN(sk, max_pacing_rate) :
							min_u64(rate, IN(sk, max_pacing_rate));
}

static inline void bbr_init_pacing_rate_from_rtt(struct bbr *b, struct bbr_sock *sk)
{
	u32 bw = bbr_first_bw(b, sk);

	SET(sk, pacing_rate, bbr_bw_to_pacing_rate(sk, bw, PARAM(sk, startup_pacing_gain)));
}

/*
 * Until the pipe was full the rate only grows: a low first sample (of a connection that had little to
 * send, say) must not undo the rate that STARTUP began with.
 */
static inline void bbr_set_pacing_rate(struct bbr *b, struct bbr_sock *sk, u32 bw, u32 gain)
{
	u64 rate = bbr_bw_to_pacing_rate(sk, bw, gain);

	if (!bbr_is_calm(sk) && unlikely(!b->has_seen_rtt && IN(sk, srtt_us)))
		bbr_init_pacing_rate_from_rtt(b, sk);
	if (bbr_is_pipe_full(b, sk) || rate > IN(sk, pacing_rate))
		SET(sk, pacing_rate, rate);
}

/*
 * On a short path a burst may be long. Its queue lasts no longer than the path's own RTT, and fewer and
 * larger packets save both hosts work. 64 KB, halved for each 512 us, are less than a packet from 3 ms on.
 */
static inline u32 bbr_burst_of_rtt(const struct bbr *b, const struct bbr_sock *sk)
{
	u32 halvings;

	if (!PARAM(sk, tso_rtt))
		return 0;
	halvings = quotient(b->min_rtt_us, PARAM(sk, tso_rtt));
	return halvings < 32 ? BBR_GSO_MAX_SIZE >> halvings : 0;
}

/* Segments of a burst that may have so many bytes and is cut at most. */
static inline u32 bbr_tso_segs(const struct bbr *b, const struct bbr_sock *sk, u32 gso_max_size)
{
	u32 bytes = (IN(sk, pacing_rate) >> IN(sk, pacing_shift)) + bbr_burst_of_rtt(b, sk);

	bytes = min_u32(bytes, gso_max_size - 1 - IN(sk, max_tcp_header));
	return max_u32(quotient(bytes, IN(sk, mss)), IN(sk, min_tso_segs));
}

/* The same for any device: what the window has to have room for. */
static inline u32 bbr_tso_segs_goal(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_tso_segs(b, sk, BBR_GSO_MAX_SIZE);
}

#endif
