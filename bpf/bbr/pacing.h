/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control, first half: how fast to send, and in which bursts.
 */
#ifndef BBR_PACING_H
#define BBR_PACING_H

#include "kind.h"

#include "common/rate.h"

/* True if a parameter sets or bounds the rate, whatever the model says. */
static inline bool bbr_is_rate_bounded(const struct shell_sock *sk)
{
	return OPTION(sk, pacing_rate) | OPTION(sk, min_pacing_rate) | OPTION(sk, max_pacing_rate);
}

/* Applies the parameters to the model's rate. Later ones override earlier ones. */
static inline u64 bbr_bound_rate(const struct shell_sock *sk, u64 rate)
{
	if (OPTION(sk, pacing_rate))
		rate = OPTION(sk, pacing_rate) * BYTES_PER_KBIT;
	return bbr_limit_rate(sk, max_u64(rate, OPTION(sk, min_pacing_rate) * BYTES_PER_KBIT));
}

#define BBR_MAKE_UP_PACKETS 50 /* fewer packets are too few to measure losses */
#define BBR_MAKE_UP_MOST 50 /* percent: the highest make_up_loss, so at most twice the rate */
#define BBR_MAKE_UP_SHIFT 16

/*
 * The rate divided by the share of packets that arrive (make_up_loss), measured over the interval
 * that otherwise serves policer detection: see bbr_slide_loss_interval().
 */
static inline u64 bbr_make_up_loss(const struct bbr *b, const struct shell_sock *sk, u64 rate)
{
	u32 lost = IN(sk, lost) - b->lt_last_lost;
	u32 delivered = IN(sk, delivered) - b->lt_last_delivered;
	u32 most = min_u32(OPTION(sk, make_up_loss), BBR_MAKE_UP_MOST);
	u64 sent = (u64)lost + delivered;

	if (sent < BBR_MAKE_UP_PACKETS)
		return rate;
	if (lost * 100ull > most * sent) /* else at least half has arrived */
		return quotient(rate * 100, 100 - most);
	return rate * quotient(sent << BBR_MAKE_UP_SHIFT, delivered) >> BBR_MAKE_UP_SHIFT;
}

static inline u64 bbr_bound_and_make_up(const struct bbr *b, const struct shell_sock *sk, u64 rate)
{
	rate = bbr_bound_rate(sk, rate);
	if (OPTION(sk, make_up_loss) && OPTION(sk, pacing_rate))
		rate = bbr_limit_rate(sk, bbr_make_up_loss(b, sk, rate));
	return rate;
}

static inline u64 bbr_bw_to_pacing_rate(const struct shell_sock *sk, u32 bw, u32 gain)
{
	return bbr_bound_rate(sk, bbr_rate_bytes_per_sec(sk, bw, gain));
}

/* Sets the first pacing rate: high_gain * cwnd / RTT (init_rtt, 1 ms, until one is measured). */
static inline void bbr_init_pacing_rate_from_rtt(struct bbr *b, struct shell_sock *sk)
{
	u64 bw = bbr_first_bw(b, sk);

	SET(sk, pacing_rate, bbr_bw_to_pacing_rate(sk, bw, PARAM(sk, high_gain)));
}

/*
 * Until the pipe is full the rate only grows: a low first sample (say, of a connection that had
 * little to send) must not undo STARTUP's first rate. A bound still applies, because it may be
 * newer than the rate.
 */
static inline void bbr_set_pacing_rate(struct bbr *b, struct shell_sock *sk, u32 bw, u32 gain)
{
	u64 rate = bbr_bound_and_make_up(b, sk, bbr_rate_bytes_per_sec(sk, bw, gain));

	if (bbr_is_general(sk) && !b->has_seen_rtt && IN(sk, srtt_us))
		bbr_init_pacing_rate_from_rtt(b, sk);
	if (bbr_is_pipe_full(b, sk) || rate > IN(sk, pacing_rate))
		SET(sk, pacing_rate, rate);
	else if (bbr_is_rate_bounded(sk))
		SET(sk, pacing_rate, bbr_bound_and_make_up(b, sk, IN(sk, pacing_rate)));
}

/* Below min_tso_rate (1.2 Mbit/s) even two packets back to back would be a noticeable burst. */
static inline u32 bbr_least_burst(const struct shell_sock *sk)
{
	return IN(sk, pacing_rate) < PARAM(sk, min_tso_rate) >> 3 ? 1 : PARAM(sk, min_tso_segs);
}

/* Segments of a burst that the stack sends at this rate: the result of tcp_tso_autosize(). */
static inline u32 bbr_tso_segs_goal(const struct shell_sock *sk)
{
	u64 bytes = IN(sk, pacing_rate) >> IN(sk, pacing_shift);
	u32 segs;

	if (bytes > BBR_GSO_MAX_SIZE - 1 - BBR_MAX_TCP_HEADER)
		bytes = BBR_GSO_MAX_SIZE - 1 - BBR_MAX_TCP_HEADER;
	segs = quotient(bytes, IN(sk, mss));
	/* min_tso_segs is 1 or more, so bbr_least_burst() is no more than it. */
	if (unlikely(segs < PARAM(sk, min_tso_segs)))
		segs = max_u32(segs, bbr_least_burst(sk));
	return min_u32(segs, PARAM(sk, tso_segs_max));
}

#endif
