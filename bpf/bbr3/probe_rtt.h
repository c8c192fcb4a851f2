/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The min filters of RTT, and PROBE_RTT, which refreshes them.
 *
 * A sender that keeps a queue, or several that share one, never see the RTT of the empty path. So
 * if no lower RTT was measured for 5 s, BBR cuts inflight to half of the BDP for 200 ms and at
 * least one round. Flows that share a bottleneck see the RTT fall together, so their filters expire
 * together, their PROBE_RTTs coincide, and the queue empties for all of them. This costs half of
 * 200 ms of 5 s, 2 %. Connections with pauses get their min_rtt for free and never enter PROBE_RTT.
 *
 * There are two filters. That of 5 s (probe_rtt_win) decides when to enter PROBE_RTT. The model
 * uses the minimum of 10 s (min_rtt_win), so that one PROBE_RTT that did not empty the queue does
 * not spoil it.
 */
#ifndef BBR_PROBE_RTT_H
#define BBR_PROBE_RTT_H

#include "probe_bw.h"
#include "recovery.h"

/* The window in PROBE_RTT, to which inflight has to fall so that the queue empties. */
static inline u32 bbr_probe_rtt_cwnd(const struct bbr *b, const struct shell_sock *sk)
{
	return max_u32(PARAM(sk, cwnd_min_target),
		       bbr_bdp(b, sk, bbr_bw(b), PARAM(sk, probe_rtt_cwnd_gain)));
}

/*
 * The window grows again, which may cost losses, so the wait for the next probe begins here.
 * Inflight is below the BDP, so there is nothing for DOWN to drain.
 */
static inline void bbr_leave_probe_rtt(struct bbr *b, struct shell_sock *sk)
{
	b->probe_rtt_min_stamp = IN(sk, now_ms); /* the next one is in 5 s */
	bbr_restore_cwnd(b, sk);
	bbr_reset_lower_bounds(b);
	if (!b->full_bw_reached) {
		bbr_enter_mode(b, BBR_STARTUP, BBR_R_PROBE_RTT_DONE);
		return;
	}
	bbr_enter_mode(b, BBR_PROBE_BW, BBR_R_PROBE_RTT_DONE);
	bbr_start_down(b, sk);
	bbr_start_cruise(b, sk);
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
		b->round_done = 0;
		bbr_start_round(b, sk);
		return;
	}
	if (b->round_start)
		b->round_done = 1;
	if (b->round_done)
		bbr_check_probe_rtt_done(b, sk);
}

/*
 * What was sent in the gap between the last two marks (bbr_set_app_limited_until()) has none.
 * Without a second part only the mark of PROBE_RTT is told apart.
 */
static inline bool bbr_was_sent_after_mark(const struct bbr *b, const struct shell_sock *sk,
					   u32 prior_delivered)
{
	const struct bbr_more *more = MORE(sk);

	if (!more)
		return !bbr_mark_is_young(b);
	return !after(prior_delivered, more->unlimited_after) ||
	       !before(prior_delivered, more->unlimited_before);
}

#define bbr_was_sent_after_mark bbr_was_sent_after_mark

/* Adds the RTT to both filters. Returns true if that of probe_rtt_win had expired. */
static inline bool bbr_measure_min_rtt(struct bbr *b, const struct shell_sock *sk, s64 rtt_us,
				       bool is_ack_delayed)
{
	bool expired = bbr_is_general(sk) &&
		       after(IN(sk, now_ms), b->probe_rtt_min_stamp + PARAM(sk, probe_rtt_win));

	/*
	 * A lower RTT counts even if it includes the delay of a delayed ACK. An equal one does not,
	 * or a standing queue could put PROBE_RTT off for ever. A higher one replaces an expired
	 * minimum, but not if the ACK was delayed. (No sample is below 0, which as a u64 is above
	 * any RTT.)
	 */
	if ((u64)rtt_us < b->probe_rtt_min_us || (expired && !is_ack_delayed && rtt_us >= 0)) {
		b->probe_rtt_min_us = rtt_us;
		b->probe_rtt_min_stamp = IN(sk, now_ms);
	}
	if (b->probe_rtt_min_us <= b->min_rtt_us ||
	    after(IN(sk, now_ms), b->min_rtt_stamp + PARAM(sk, min_rtt_win))) {
		b->min_rtt_us = b->probe_rtt_min_us;
		b->min_rtt_stamp = b->probe_rtt_min_stamp;
	}
	return expired;
}

static inline void bbr_update_min_rtt(struct bbr *b, struct shell_sock *sk,
				      const struct shell_rs *rs)
{
	bool expired = bbr_measure_min_rtt(b, sk, rs->rtt_us, rs->is_ack_delayed);

	if (!bbr_is_general(sk))
		return;
	/* After a pause the queue is empty anyway: the next samples measure the path. */
	if (expired && PARAM(sk, probe_rtt_duration) && !b->idle_restart &&
	    b->mode != BBR_PROBE_RTT) {
		bbr_enter_mode(b, BBR_PROBE_RTT, BBR_R_MIN_RTT_EXPIRED);
		bbr_save_cwnd(b, sk); /* the larger one, in case recovery has cut it */
		b->probe_rtt_done_stamp = 0;
		b->acks = BBR_ACKS_PROBE_STOPPING;
		bbr_start_round(b, sk);
	}
	if (unlikely(b->mode == BBR_PROBE_RTT))
		bbr_probe_rtt(b, sk);
	if (rs->delivered > 0) /* the first data delivered ends the restart */
		b->idle_restart = 0;
}

#endif
