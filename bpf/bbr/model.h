/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of the path, as far as any BBR needs it: packet-timed rounds and the maximum filter of
 * bandwidth. (The minimum filter of RTT is with PROBE_RTT, which refreshes it.)
 */
#ifndef BBR_MODEL_H
#define BBR_MODEL_H

#include "aggregation.h"
#include "policer.h"

/*
 * A round lasts until a packet is ACKed that was sent after the round began: one RTT, whatever the
 * RTT is, counted without a clock.
 */
static inline void bbr_update_round(struct bbr *b, const struct bbr_sock *sk,
				    const struct bbr_rs *rs)
{
	if (before(rs->prior_delivered, b->next_round_delivered))
		return;
	b->next_round_delivered = IN(sk, delivered);
	b->round_count++;
	b->round_start = 1;
	b->packet_conservation = 0; /* it lasts for one round */
	bbr_age_extra_acked(b, sk, rs);
}

static inline bool bbr_is_valid_sample(const struct bbr_rs *rs)
{
	return rs->delivered >= 0 && rs->interval_us > 0;
}

/* The delivery rate of a valid sample: never above the bottleneck's rate. The divisor is 32 bits wide, as
 * mainline's do_div() has it; over an interval of 71 minutes nothing sensible comes out anyway.
 */
static inline u64 bbr_sample_bw(const struct bbr_rs *rs)
{
	return quotient((u32)rs->delivered * BW_UNIT, rs->interval_us);
}

/*
 * Is it below bw? As floor(a / b) < v exactly if a < v * b, there is no need to divide. (Nor if b is 0: the rate is 0
 * then, and 0 < v, but it is dealt with as if it were not below.)
 */
static inline bool bbr_is_sample_below(const struct bbr_rs *rs, u32 bw)
{
	return (u32)rs->delivered * BW_UNIT < bw * low_u32(rs->interval_us);
}

/* Payload at so many kbit/s, as bandwidth; at least one unit of it, for with none nothing would move. */
static inline u32 bbr_pinned_bw(const struct bbr_sock *sk)
{
	u64 bytes = OPTION(sk, pin_bw) * BYTES_PER_KBIT; /* a second */
	u64 bw = quotient(bytes * BW_UNIT / USEC_PER_SEC, IN(sk, mss));

	return min_u64(max_u64(bw, 1), ~0u);
}

/*
 * The bandwidth is given: nothing is to be searched for. The filter holds it, so that what is sampled
 * when it is given no longer replaces it within a window.
 */
static inline void bbr_pin_bw(struct bbr *b, const struct bbr_sock *sk)
{
	minmax_reset(&b->bw, b->round_count, bbr_pinned_bw(sk));
	b->full_bw_reached = 1;
}

static inline void bbr_update_bw(struct bbr *b, const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	u64 bw;

	bbr_update_round(b, sk, rs);
	if (!bbr_is_lossless(sk))
		bbr_lt_bw_sampling(b, sk, rs->losses, bbr_is_app_limited(b, rs));
	if (OPTION(sk, pin_bw)) {
		bbr_pin_bw(b, sk);
		return;
	}
	/* Most samples are below the maxima of the window, and change nothing. */
	if (bbr_is_sample_below(rs, b->bw.s[2].v) &&
	    minmax_is_settled(&b->bw, PARAM(sk, bw_win), b->round_count))
		return;

	/* An app-limited sample shows what the application sent, not what the path could carry. It
	 * counts only if the path turns out to carry more than was known.
	 */
	bw = bbr_sample_bw(rs);
	if (!bbr_is_app_limited(b, rs) || bw >= bbr_max_bw(b))
		minmax_running_max(&b->bw, PARAM(sk, bw_win), b->round_count, bw);
}

#endif
