/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Token-bucket policers ("An Internet-Wide Analysis of Traffic Policing", Flach et al., SIGCOMM
 * 2016) let a burst pass at the speed of the link, then drop whatever exceeds their rate. The max
 * filter would remember the burst for ten rounds, and packets would be lost all that time. So BBR
 * averages the delivery rate over longer intervals ("lt", long-term). If two consecutive intervals
 * both lost a fifth or more and agree on the rate, BBR assumes a policer, and uses its rate as bw
 * for 48 rounds.
 */
#ifndef BBR_POLICER_H
#define BBR_POLICER_H

#include "probe_bw.h"

static inline void bbr_reset_lt_bw_sampling_interval(struct bbr *b, const struct shell_sock *sk)
{
	b->lt_last_stamp = IN(sk, delivered_mstamp) / USEC_PER_MSEC;
	b->lt_last_delivered = IN(sk, delivered);
	b->lt_last_lost = IN(sk, lost);
	b->lt_rtt_cnt = 0;
}

static inline void bbr_reset_lt_bw_sampling(struct bbr *b, const struct shell_sock *sk)
{
	b->lt_bw = 0;
	b->lt_use_bw = 0;
	b->lt_is_sampling = 0;
	bbr_reset_lt_bw_sampling_interval(b, sk);
}

/*
 * True if two rates agree within an eighth of the older one, or within 4 kbit/s. The products have
 * 32 bits, as in mainline: they wrap from a difference of 1 packet per microsecond on, and from a
 * rate of 8.
 */
static inline bool bbr_lt_bw_is_consistent(const struct shell_sock *sk, u32 old, u32 bw)
{
	u32 diff = (s32)(bw - old) < 0 ? old - bw : bw - old;

	return diff * BBR_UNIT <= PARAM(sk, lt_bw_ratio) * old ||
	       bbr_rate_bytes_per_sec(sk, diff, BBR_UNIT) <= PARAM(sk, lt_bw_diff) >> 3;
}

/* A lossy interval is complete; its rate is bw. */
static inline void bbr_lt_bw_interval_done(struct bbr *b, const struct shell_sock *sk, u32 bw)
{
	if (b->lt_bw && bbr_lt_bw_is_consistent(sk, b->lt_bw, bw)) {
		b->lt_bw = (bw + b->lt_bw) >> 1;
		b->lt_use_bw = 1;
		b->pacing_gain = PARAM(sk, lt_gain); /* the policer would drop a probe */
		b->lt_rtt_cnt = 0;
		return;
	}
	b->lt_bw = bw;
	bbr_reset_lt_bw_sampling_interval(b, sk);
}

/*
 * Uses the policed rate for lt_bw_max_rtts (48) rounds of PROBE_BW, then probes again: the policer
 * may be gone.
 */
static inline void bbr_lt_bw_use(struct bbr *b, const struct shell_sock *sk)
{
	if (b->mode != BBR_PROBE_BW || !b->round_start)
		return;
	if (++b->lt_rtt_cnt >= PARAM(sk, lt_bw_max_rtts)) {
		bbr_reset_lt_bw_sampling(b, sk);
		bbr_enter_probe_bw(b, sk, BBR_R_LT_BW_EXPIRED);
	}
}

/* An ACK within a sampling interval. */
static inline void bbr_lt_bw_sample(struct bbr *b, const struct shell_sock *sk, u32 losses,
				    bool is_app_limited)
{
	u32 lost, delivered, t;

	/* An application with nothing to send would look like a low rate. */
	if (is_app_limited) {
		bbr_reset_lt_bw_sampling(b, sk);
		return;
	}

	if (b->round_start)
		b->lt_rtt_cnt++;
	if (b->lt_rtt_cnt < PARAM(sk, lt_intvl_min_rtts))
		return;
	if (b->lt_rtt_cnt > PARAM(sk, lt_intvl_max_rtts)) {
		bbr_reset_lt_bw_sampling(b, sk);
		return;
	}

	/*
	 * End at a loss, too, when the bucket is empty again. Otherwise the rate would be
	 * underestimated.
	 */
	if (!losses)
		return;

	lost = IN(sk, lost) - b->lt_last_lost;
	delivered = IN(sk, delivered) - b->lt_last_delivered;
	if (!delivered || lost << BBR_SCALE < PARAM(sk, lt_loss_thresh) * delivered)
		return;

	t = (u32)(IN(sk, delivered_mstamp) / USEC_PER_MSEC) - b->lt_last_stamp;
	if ((s32)t < (s32)PARAM(sk, lt_intvl_min_time))
		return;
	if (t >= ~0u / USEC_PER_MSEC) { /* microseconds would not fit 32 bits */
		bbr_reset_lt_bw_sampling(b, sk);
		return;
	}
	bbr_lt_bw_interval_done(b, sk, quotient(delivered * BW_UNIT, t * USEC_PER_MSEC));
}

#define BBR_MAKE_UP_MS 5000

/*
 * make_up_loss: the interval covers the last 2.5 to 5 seconds. When it is longer, its beginning
 * moves, as if deliveries and losses had been spread evenly over it. An ACK that needs this has
 * losses, or other rare things; without losses a longer interval has the same share.
 */
static inline void bbr_slide_loss_interval(struct bbr *b, const struct shell_sock *sk)
{
	u32 now = IN(sk, delivered_mstamp) / USEC_PER_MSEC, t = now - b->lt_last_stamp;
	u64 delivered = IN(sk, delivered) - b->lt_last_delivered;
	u64 lost = IN(sk, lost) - b->lt_last_lost;

	if (b->lt_bw | b->lt_use_bw | b->lt_is_sampling) /* from before the parameter was set */
		bbr_reset_lt_bw_sampling(b, sk);
	else if (t > BBR_MAKE_UP_MS) {
		b->lt_last_stamp = now - BBR_MAKE_UP_MS / 2;
		b->lt_last_delivered =
			IN(sk, delivered) - quotient(delivered * (BBR_MAKE_UP_MS / 2), t);
		b->lt_last_lost = IN(sk, lost) - quotient(lost * (BBR_MAKE_UP_MS / 2), t);
	}
}

static inline void bbr_lt_bw_sampling(struct bbr *b, const struct shell_sock *sk, u32 losses,
				      bool is_app_limited)
{
	/* A pinned bandwidth overrides a policer's rate as well. */
	if (OPTION(sk, pin_bw)) {
		bbr_reset_lt_bw_sampling(b, sk);
		return;
	}
	if (OPTION(sk, make_up_loss)) {
		bbr_slide_loss_interval(b, sk);
		return;
	}

	if (b->lt_use_bw) {
		bbr_lt_bw_use(b, sk);
		return;
	}

	/* Begin at a loss: the bucket is empty then, and the burst before it is not averaged in. */
	if (!b->lt_is_sampling) {
		if (!losses)
			return;
		bbr_reset_lt_bw_sampling_interval(b, sk);
		b->lt_is_sampling = 1;
	}
	bbr_lt_bw_sample(b, sk, losses, is_app_limited);
}

#endif
