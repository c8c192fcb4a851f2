/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control for a given model: how fast to send, and in which bursts; how much may be in flight, and
 * how much of that is in the network.
 */
#ifndef BBR_CONTROL_H
#define BBR_CONTROL_H

#include "common/edt.h"
#include "common/rate.h"
#include "common/window.h"
#include "kind.h"

/* ---- how fast to send, and in which bursts */

#define BBR_LEAST_PACING_GAIN 16 /* 1/16: the minimum of drain_gain, the lowest of all (params.h) */

/*
 * At Google's minimum of 1 byte/s a connection stands still. A gain or a margin that leaves nothing
 * of a bandwidth was written past bbrctl: then only the bounds limit the rate.
 */
static inline u64 bbr_bw_to_pacing_rate(const struct shell_sock *sk, u64 bw, u32 gain)
{
	u64 rate = bbr_rate_bytes_per_sec(sk, bw, gain);

	if (unlikely(!rate || gain < BBR_LEAST_PACING_GAIN))
		rate = bw ? ~0ull : 1;
	return bbr_limit_rate(sk, rate);
}

/* Google's cuts off what 32 bits do not hold, so 10,240 packets in 40 us would become nothing. */
static inline void bbr_init_pacing_rate_from_rtt(struct bbr *b, struct shell_sock *sk)
{
	u32 bw = min_u64(bbr_first_bw(b, sk), ~0u);

	SET(sk, pacing_rate, bbr_bw_to_pacing_rate(sk, bw, PARAM(sk, startup_pacing_gain)));
}

/*
 * Until the pipe is full the rate only grows: a low first sample (say, of a connection that had
 * little to send) must not undo STARTUP's first rate. max_pacing_rate still applies, because it may
 * be newer than the rate.
 */
static inline void bbr_set_pacing_rate(struct bbr *b, struct shell_sock *sk, u32 bw, u32 gain)
{
	u64 rate = bbr_bw_to_pacing_rate(sk, bw, gain);

	if (bbr_is_general(sk) && unlikely(!b->has_seen_rtt && IN(sk, srtt_us)))
		bbr_init_pacing_rate_from_rtt(b, sk);
	if (bbr_is_pipe_full(b, sk) || rate > IN(sk, pacing_rate))
		SET(sk, pacing_rate, rate);
	else if (OPTION(sk, max_pacing_rate))
		SET(sk, pacing_rate, bbr_limit_rate(sk, IN(sk, pacing_rate)));
}

/*
 * On a short path a burst may be long: its queue lasts no longer than the path's own RTT, and fewer
 * and larger packets save both hosts work. 64 KB, halved for each 512 us of min_rtt (tso_rtt), is
 * less than a packet from 3 ms on.
 */
static inline u32 bbr_burst_of_rtt(const struct bbr *b, const struct shell_sock *sk)
{
	u32 halvings;

	if (!PARAM(sk, tso_rtt))
		return 0;
	halvings = quotient(b->min_rtt_us, PARAM(sk, tso_rtt));
	return halvings < 32 ? BBR_GSO_MAX_SIZE >> halvings : 0;
}

/* Segments of a burst, which has at most gso_max_size bytes. */
static inline u32 bbr_tso_segs(const struct bbr *b, const struct shell_sock *sk, u32 gso_max_size)
{
	u32 bytes = (IN(sk, pacing_rate) >> IN(sk, pacing_shift)) + bbr_burst_of_rtt(b, sk);

	bytes = min_u32(bytes, gso_max_size - 1 - IN(sk, max_tcp_header));
	return max_u32(quotient(bytes, IN(sk, mss)), IN(sk, min_tso_segs));
}

/* The same for any device: the burst that the window must have room for. */
static inline u32 bbr_tso_segs_goal(const struct bbr *b, const struct shell_sock *sk)
{
	return bbr_tso_segs(b, sk, BBR_GSO_MAX_SIZE);
}

/* ---- how much may be in flight */

/* gain * bw * min_rtt in packets. */
static inline u32 bbr_bdp(const struct bbr *b, const struct shell_sock *sk, u32 bw, u32 gain)
{
	/*
	 * No RTT sample yet: everything so far was retransmitted, without timestamps. Stay at the
	 * window that the connection started with.
	 */
	if (bbr_is_general(sk) && unlikely(b->min_rtt_us == BBR_RTT_NONE))
		return b->init_cwnd;
	return bbr_packets((u64)bw * b->min_rtt_us, gain);
}

/*
 * The BDP is a fluid model; real packets travel in bursts. A window of less than a burst in each
 * place that holds one back (tso_budget, 3: the sender's qdisc and NIC, the receiver's GRO) would
 * leave the pipe empty in between.
 */
static inline u32 bbr_quantization_budget(const struct bbr *b, const struct shell_sock *sk,
					  u32 cwnd)
{
	if (bbr_is_bdp_roomy(sk))
		return cwnd;
	cwnd = max_u32(cwnd, PARAM(sk, tso_budget) * IN(sk, min_tso_segs));
	/*
	 * A window with room for the longest bursts, or for those of this rate, need not know their
	 * actual length.
	 */
	if (unlikely((u64)cwnd * IN(sk, mss) < PARAM(sk, tso_budget) * BBR_GSO_MAX_SIZE)) {
		READ_AGAIN();
		if ((u64)cwnd * IN(sk, mss) < PARAM(sk, tso_budget) * bbr_burst_at_most(b, sk))
			cwnd = max_u32(cwnd, PARAM(sk, tso_budget) * bbr_tso_segs_goal(b, sk));
	}
	cwnd = max_u32(cwnd, PARAM(sk, cwnd_min_target));
	/* With a BDP of a few packets 1.25 of it may round to the same: probe nevertheless. */
	if (bbr_is_phase(b, sk, BBR_UP))
		cwnd += PARAM(sk, probe_up_extra);
	return cwnd;
}

/* The inflight that a gain aims at. */
static inline u32 bbr_inflight(const struct bbr *b, const struct shell_sock *sk, u32 bw, u32 gain)
{
	return bbr_quantization_budget(b, sk, bbr_bdp(b, sk, bw, gain));
}

/* The target inflight: the BDP, or the window if that is lower. */
static inline u32 bbr_target_inflight(const struct bbr *b, const struct shell_sock *sk)
{
	return min_u32(bbr_inflight(b, sk, bbr_bw(b), BBR_UNIT), IN(sk, cwnd));
}

/*
 * Returns how many of `inflight` packets will be in the network when the next one departs. When
 * inflight is to grow, the departing burst counts, because it may reach the target. When inflight
 * is to shrink, the low point just before the burst matters.
 */
static inline u32 bbr_packets_in_net_at_edt(const struct bbr *b, const struct shell_sock *sk,
					    u32 inflight)
{
	if (b->raising)
		inflight += bbr_tso_segs_goal(b, sk);
	return bbr_left_at_edt(sk, bbr_bw(b), inflight);
}

#endif
