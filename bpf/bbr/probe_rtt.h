/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The minimum filter of RTT, and PROBE_RTT, which refreshes it.
 *
 * A sender that keeps a queue, or several that share one, never see the RTT of the empty path. If the
 * minimum was not met for 10 s, cut inflight to 4 packets for 200 ms and at least one round: flows that
 * share a bottleneck see the RTT fall together, so their windows expire together, their PROBE_RTTs
 * meet, and the queue becomes empty for all of them. It costs 200 ms of 10 s, 2 %. Connections
 * with pauses get their minimum for nothing and never come here.
 */
#ifndef BBR_PROBE_RTT_H
#define BBR_PROBE_RTT_H

#include "probe_bw.h"
#include "recovery.h"

/* The window while the queue empties, which inflight has to come down to. */
static inline u32 bbr_probe_rtt_cwnd(const struct bbr *b, const struct bbr_sock *sk)
{
	u32 cwnd = PARAM(sk, probe_rtt_cwnd);

	if (OPTION(sk, probe_rtt_bdp_gain))
		cwnd = max_u32(cwnd, bbr_bdp(b, sk, bbr_bw(b), OPTION(sk, probe_rtt_bdp_gain)));
	cwnd = max_u32(cwnd, (u64)b->prior_cwnd * OPTION(sk, probe_rtt_cwnd_gain) >> BBR_SCALE);
	return bbr_bound_cwnd(sk, cwnd);
}

static inline void bbr_leave_probe_rtt(struct bbr *b, struct bbr_sock *sk)
{
	b->min_rtt_stamp = IN(sk, now_ms); /* whatever was measured holds for a window from now */
	bbr_put_cwnd(sk, bbr_bound_cwnd(sk, max_u32(IN(sk, cwnd), b->prior_cwnd)));
	if (b->full_bw_reached)
		bbr_enter_probe_bw(b, sk, BBR_R_PROBE_RTT_DONE);
	else
		bbr_enter_mode(b, BBR_STARTUP, BBR_R_PROBE_RTT_DONE);
}

static inline void bbr_check_probe_rtt_done(struct bbr *b, struct bbr_sock *sk)
{
	if (b->probe_rtt_done_stamp && after(IN(sk, now_ms), b->probe_rtt_done_stamp))
		bbr_leave_probe_rtt(b, sk);
}

/* On each ACK in PROBE_RTT. */
static inline void bbr_probe_rtt(struct bbr *b, struct bbr_sock *sk)
{
	/* Samples of the low rate are ours, not the path's: mark what is sent as app-limited. */
	SET(sk, app_limited, max_u32(IN(sk, delivered) + IN(sk, inflight), 1));

	if (!b->probe_rtt_done_stamp) {
		if (IN(sk, inflight) > bbr_probe_rtt_cwnd(b, sk))
			return;
		/* Low enough: the clock runs from here, and a round begins. */
		b->probe_rtt_done_stamp = IN(sk, now_ms) + PARAM(sk, probe_rtt_duration);
		b->probe_rtt_round_done = 0;
		b->next_round_delivered = IN(sk, delivered);
		return;
	}
	if (b->round_start)
		b->probe_rtt_round_done = 1;
	if (b->probe_rtt_round_done)
		bbr_check_probe_rtt_done(b, sk);
}

static inline bool bbr_is_min_rtt_expired(const struct bbr *b, const struct bbr_sock *sk)
{
	return after(IN(sk, now_ms), b->min_rtt_stamp + PARAM(sk, min_rtt_win));
}

/*
 * min_rtt is given: there is nothing that PROBE_RTT could find. It counts as measured now, so when it is
 * given no longer it lasts for a window, like any other.
 */
static inline void bbr_pin_min_rtt(struct bbr *b, struct bbr_sock *sk)
{
	b->min_rtt_us = OPTION(sk, pin_min_rtt);
	b->min_rtt_stamp = IN(sk, now_ms);
	if (b->mode == BBR_PROBE_RTT)
		bbr_leave_probe_rtt(b, sk);
}

static inline void bbr_measure_min_rtt(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs)
{
	bool expired = !bbr_is_calm(sk) && bbr_is_min_rtt_expired(b, sk);
	s64 rtt_us = rs->rtt_us;

	/* A lower RTT counts even with the delay of a delayed ACK in it; an equal one does not, or a
	 * standing queue could put PROBE_RTT off for ever. A higher one replaces an expired minimum,
	 * but not with the receiver's delay. No sample is -1, which as u64 is above any.
	 */
	if ((u64)rtt_us < b->min_rtt_us || (expired && rtt_us >= 0 && !rs->is_ack_delayed)) {
		b->min_rtt_us = rtt_us;
		b->min_rtt_stamp = IN(sk, now_ms);
	}

	if (bbr_is_calm(sk))
		return;
	/* After a pause the queue is empty anyway: the next samples measure the path. */
	if (expired && PARAM(sk, probe_rtt_duration) && !b->idle_restart &&
	    b->mode != BBR_PROBE_RTT) {
		bbr_enter_mode(b, BBR_PROBE_RTT, BBR_R_MIN_RTT_EXPIRED);
		bbr_save_cwnd(b, sk);
		b->probe_rtt_done_stamp = 0;
	}

	if (unlikely(b->mode == BBR_PROBE_RTT))
		bbr_probe_rtt(b, sk);
}

static inline void bbr_update_min_rtt(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs)
{
	if (OPTION(sk, pin_min_rtt))
		bbr_pin_min_rtt(b, sk);
	else
		bbr_measure_min_rtt(b, sk, rs);

	if (!bbr_is_calm(sk) &&
	    rs->delivered > 0) /* the restart is over with the first data delivered after it */
		b->idle_restart = 0;
}

#endif
