/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The min filter of RTT, and PROBE_RTT, which refreshes it.
 *
 * A sender that keeps a queue, or several that share one, never see the RTT of the empty path. So
 * if no lower RTT was measured for 10 s, BBR cuts inflight to 4 packets for 200 ms and at least one
 * round. Flows that share a bottleneck see the RTT fall together, so their filters expire together,
 * their PROBE_RTTs coincide, and the queue empties for all of them. This costs 200 ms of 10 s, 2 %.
 * Connections with pauses get their min_rtt for free and never enter PROBE_RTT.
 */
#ifndef BBR_PROBE_RTT_H
#define BBR_PROBE_RTT_H

#include "probe_bw.h"
#include "recovery.h"

/* The window in PROBE_RTT, to which inflight has to fall so that the queue empties. */
static inline u32 bbr_probe_rtt_cwnd(const struct bbr *b, const struct shell_sock *sk)
{
	u32 cwnd = PARAM(sk, probe_rtt_cwnd);

	if (OPTION(sk, probe_rtt_bdp_gain))
		cwnd = max_u32(cwnd, bbr_bdp(b, sk, bbr_bw(b), OPTION(sk, probe_rtt_bdp_gain)));
	cwnd = max_u32(cwnd, (u64)b->prior_cwnd * OPTION(sk, probe_rtt_cwnd_gain) >> BBR_SCALE);
	return bbr_bound_cwnd(sk, cwnd);
}

static inline void bbr_leave_probe_rtt(struct bbr *b, struct shell_sock *sk)
{
	u32 cwnd = bbr_bound_cwnd(sk, max_u32(IN(sk, cwnd), b->prior_cwnd));

	b->min_rtt_stamp = IN(sk, now_ms); /* min_rtt is valid for min_rtt_win from now on */
	bbr_put_cwnd(sk, min_u32(cwnd, IN(sk, snd_cwnd_clamp)));
	if (b->full_bw_reached)
		bbr_enter_probe_bw(b, sk, BBR_R_PROBE_RTT_DONE);
	else
		bbr_enter_mode(b, BBR_STARTUP, BBR_R_PROBE_RTT_DONE);
}

static inline void bbr_check_probe_rtt_done(struct bbr *b, struct shell_sock *sk)
{
	if (b->probe_rtt_done_stamp && after(IN(sk, now_ms), b->probe_rtt_done_stamp))
		bbr_leave_probe_rtt(b, sk);
}

/* On each ACK in PROBE_RTT. */
static inline void bbr_probe_rtt(struct bbr *b, struct shell_sock *sk)
{
	/*
	 * The low rate is ours, not the path's: mark what is sent as app-limited, so that bw
	 * ignores it.
	 */
	SET(sk, app_limited, max_u32(IN(sk, delivered) + IN(sk, inflight), 1));

	if (!b->probe_rtt_done_stamp) {
		if (IN(sk, inflight) > bbr_probe_rtt_cwnd(b, sk))
			return;
		/* Low enough: the clock starts here, and a round begins. */
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

/* Only PROBE_RTT marks. */
static inline bool bbr_was_sent_after_mark(const struct bbr *b, const struct shell_sock *sk,
					   u32 prior_delivered)
{
	(void)sk;
	(void)prior_delivered;
	return !bbr_mark_is_young(b);
}

#define bbr_was_sent_after_mark bbr_was_sent_after_mark

/*
 * min_rtt is pinned, so PROBE_RTT has nothing to find. The value counts as measured now: when it is
 * no longer pinned, it lasts for min_rtt_win, like any other.
 */
static inline void bbr_pin_min_rtt(struct bbr *b, struct shell_sock *sk)
{
	b->min_rtt_us = OPTION(sk, pin_min_rtt);
	b->min_rtt_stamp = IN(sk, now_ms);
	if (b->mode == BBR_PROBE_RTT)
		bbr_leave_probe_rtt(b, sk);
}

static inline void bbr_measure_min_rtt(struct bbr *b, struct shell_sock *sk,
				       const struct shell_rs *rs)
{
	bool expired = bbr_is_general(sk) && bbr_is_min_rtt_expired(b, sk);
	s64 rtt_us = rs->rtt_us;

	/*
	 * A lower RTT counts even if it includes the delay of a delayed ACK. An equal one does not,
	 * or a standing queue could put PROBE_RTT off for ever. A higher one replaces an expired
	 * minimum, but not if the ACK was delayed. No sample is -1, which as a u64 is above any
	 * RTT.
	 */
	if ((u64)rtt_us < b->min_rtt_us || (expired && rtt_us >= 0 && !rs->is_ack_delayed)) {
		b->min_rtt_us = rtt_us;
		b->min_rtt_stamp = IN(sk, now_ms);
	}

	if (!bbr_is_general(sk))
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

static inline void bbr_update_min_rtt(struct bbr *b, struct shell_sock *sk,
				      const struct shell_rs *rs)
{
	if (OPTION(sk, pin_min_rtt))
		bbr_pin_min_rtt(b, sk);
	else
		bbr_measure_min_rtt(b, sk, rs);

	/* The first data delivered after a restart ends it. */
	if (bbr_is_general(sk) && rs->delivered > 0)
		b->idle_restart = 0;
}

#endif
