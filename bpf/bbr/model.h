/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of the path: packet-timed rounds and the max filter of bandwidth. (The min filter of
 * RTT is in probe_rtt.h: PROBE_RTT refreshes it.)
 */
#ifndef BBR_MODEL_H
#define BBR_MODEL_H

#include "aggregation.h"
#include "policer.h"

/*
 * A round lasts until a packet is ACKed that was sent after the round began: one RTT, however long
 * that is, measured without a clock.
 */
static inline void bbr_update_round(struct bbr *b, const struct shell_sock *sk,
				    const struct shell_rs *rs)
{
	if (before(rs->prior_delivered, b->next_round_delivered))
		return;
	b->next_round_delivered = IN(sk, delivered);
	b->round_count++;
	b->round_start = 1;
	b->packet_conservation = 0; /* it lasts for one round */
	if (!bbr_is_general(sk) || rs->acked_sacked)
		bbr_rotate_extra_acked(b, PARAM(sk, extra_acked_win));
}

/*
 * The delivery rate of a valid sample. It is never above the bottleneck's rate. The divisor has 32
 * bits, as in mainline's do_div(): an interval of more than 71 minutes gives no sensible rate
 * anyway.
 */
static inline u64 bbr_sample_bw(const struct shell_rs *rs)
{
	return quotient((u32)rs->delivered * BW_UNIT, rs->interval_us);
}

/*
 * True if the delivery rate is below bw. floor(a / b) < v exactly if a < v * b, so there is no need
 * to divide. (If b is 0, the rate is 0, which is below bw, but this returns false. The caller then
 * gets the same result from the full computation.)
 */
static inline bool bbr_is_sample_below(const struct shell_rs *rs, u32 bw)
{
	return (u32)rs->delivered * BW_UNIT < bw * low_u32(rs->interval_us);
}

/* pin_bw, in kbit/s of payload, as bandwidth. At least one unit: at 0 nothing would be sent. */
static inline u32 bbr_pinned_bw(const struct shell_sock *sk)
{
	u64 bytes = OPTION(sk, pin_bw) * BYTES_PER_KBIT; /* a second */
	u64 bw = quotient(bytes * BW_UNIT / USEC_PER_SEC, IN(sk, mss));

	return min_u64(max_u64(bw, 1), ~0u);
}

/*
 * The bandwidth is pinned, so there is nothing to search for. The filter keeps it, so that samples
 * replace it within bw_win once it is no longer pinned.
 */
static inline void bbr_pin_bw(struct bbr *b, const struct shell_sock *sk)
{
	minmax_reset(&b->bw, b->round_count, bbr_pinned_bw(sk));
	b->full_bw_reached = 1;
}

static inline void bbr_update_bw(struct bbr *b, const struct shell_sock *sk,
				 const struct shell_rs *rs)
{
	u64 bw;

	bbr_update_round(b, sk, rs);
	if (!bbr_is_fast(sk))
		bbr_lt_bw_sampling(b, sk, rs->losses, shell_is_app_limited(b, sk, rs));
	if (OPTION(sk, pin_bw)) {
		bbr_pin_bw(b, sk);
		return;
	}
	/* Most samples are below all maxima of the window, and change nothing. */
	if (bbr_is_sample_below(rs, b->bw.s[2].v) &&
	    minmax_is_settled(&b->bw, PARAM(sk, bw_win), b->round_count))
		return;

	/* An app-limited sample shows what the application sent, not what the path could carry. It
	 * counts only if the path turns out to carry more than was known.
	 */
	bw = bbr_sample_bw(rs);
	if (!shell_is_app_limited(b, sk, rs) || bw >= bbr_max_bw(b))
		minmax_running_max(&b->bw, PARAM(sk, bw_win), b->round_count, bw);
}

#endif
