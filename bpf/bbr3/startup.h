/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * STARTUP and DRAIN. STARTUP is a binary search for the bandwidth of the path: it doubles the rate
 * each round, so it needs log2(BDP) rounds, whether the path is a modem or a data centre. DRAIN
 * then drains the queue that the last doublings built.
 *
 * STARTUP ends when bandwidth stops growing. If the buffer is smaller than the BDP, or other flows
 * share it, losses and marks come first: then they end STARTUP, and what was in flight becomes the
 * first inflight_hi.
 */
#ifndef BBR_STARTUP_H
#define BBR_STARTUP_H

#include "probe_bw.h"

#define BBR_LOSS_EVENTS_MAX 15 /* 4 bits */

/*
 * The pipe is full when raising the rate no longer raises the delivery rate by a quarter
 * (full_bw_thresh). Wait for three such rounds (full_bw_rounds): if the receive window was the
 * limit, it takes one round to enlarge it, one to fill it, and one to measure the result. UP
 * searches again: full_bw_now is the result of the latest search.
 */
static inline void bbr_check_full_bw(struct bbr *b, const struct shell_sock *sk,
				     const struct bbr_sample *s)
{
	u32 thresh;

	if (bbr_is_fast(sk) || b->full_bw_now || s->ack->flight.is_app_limited)
		return;
	if (OPTION(sk, full_bw_by_round) && !b->round_start)
		return;
	thresh = (u64)b->full_bw * PARAM(sk, full_bw_thresh) >> BBR_SCALE;
	if (s->bw >= thresh) {
		bbr_reset_full_bw(b, s->bw);
		return;
	}
	if (!b->round_start)
		return;
	b->full_bw_cnt++;
	b->full_bw_now = b->full_bw_cnt >= PARAM(sk, full_bw_rounds);
	if (b->full_bw_now)
		b->full_bw_reached = 1;
}

/*
 * The pipe is more than full: the most that was delivered at once, but at least the BDP, is the
 * first inflight_hi. This can happen in PROBE_RTT, too, if that came before the pipe was full.
 */
static inline void bbr_end_startup(struct bbr *b, const struct shell_sock *sk,
				   enum bbr_reason reason)
{
	u32 bdp = bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT);

	b->full_bw_reached = 1;
	b->inflight_hi = bbr_count(max_u32(bdp, b->inflight_latest));
	if (b->mode == BBR_STARTUP)
		b->steps |= 1 << reason;
}

/* Once a round. Marks can end STARTUP, too. */
static inline void bbr_update_ecn(struct bbr *b, struct shell_sock *sk)
{
	struct bbr_more *more = bbr_ecn(sk);
	s32 ratio;

	if (!more)
		return;
	ratio = bbr_update_ecn_alpha(b, more, sk);
	if (ratio >= 0 && !b->full_bw_reached && bbr_is_startup_marked(more, sk, ratio))
		bbr_end_startup(b, sk, BBR_R_STARTUP_ECN);
}

/*
 * Losses end STARTUP if they are more than chance: in recovery, on 6 ACKs of a round
 * (full_loss_cnt), and above 2 % of the flight (loss_thresh). BBR judges them at the end of the
 * round, when it knows how much was lost.
 */
static inline bool bbr_is_startup_lossy(const struct bbr *b, const struct shell_sock *sk)
{
	return PARAM(sk, full_loss_cnt) && IN(sk, ca_state) == TCP_CA_Recovery &&
	       b->loss_events_in_round >= PARAM(sk, full_loss_cnt);
}

static inline void bbr_check_startup_loss(struct bbr *b, const struct shell_sock *sk,
					  const struct bbr_sample *s)
{
	if (bbr_is_pipe_full(b, sk))
		return;
	if (s->rs->losses)
		b->loss_events_in_round = min_u32(b->loss_events_in_round + 1, BBR_LOSS_EVENTS_MAX);
	if (!b->loss_round_start)
		return;
	if (bbr_is_startup_lossy(b, sk)) {
		if (bbr_is_loss_too_high(sk, &s->ack->flight))
			bbr_end_startup(b, sk, BBR_R_STARTUP_LOSS);
		else if (bbr_is_ecn_too_high(sk, s))
			bbr_end_startup(b, sk, BBR_R_STARTUP_ECN);
		if (b->full_bw_reached)
			return;
	}
	b->loss_events_in_round = 0;
}

/* Starts DRAIN. If nothing else has ended STARTUP, bandwidth stopped growing. */
static inline void bbr_enter_drain(struct bbr *b, struct shell_sock *sk)
{
	b->mode = BBR_DRAIN;
	b->new_gains = 1;
	if (!b->steps)
		b->steps = 1 << BBR_R_FULL_BW;
	b->drain_rounds = 0;
	SET(sk, ssthresh, bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT)); /* for monitors */
	bbr_reset_congestion_signals(b, sk);
}

/* True if DRAIN has lasted too long (drain_max_rounds): other flows may keep the queue up. */
static inline bool bbr_is_drain_overdue(struct bbr *b, const struct shell_sock *sk)
{
	if (!OPTION(sk, drain_max_rounds) || !b->round_start)
		return false;
	if (b->drain_rounds >= OPTION(sk, drain_max_rounds))
		return true;
	b->drain_rounds++;
	return false;
}

/* True if inflight is down to the BDP. Without a queue it is, on the ACK that began DRAIN. */
static inline bool bbr_is_drained(const struct bbr *b, const struct shell_sock *sk)
{
	return bbr_packets_in_net_at_edt(b, sk, IN(sk, inflight)) <=
	       bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT);
}

/* From STARTUP to DRAIN to PROBE_BW. */
static inline void bbr_check_drain(struct bbr *b, struct shell_sock *sk)
{
	bool is_overdue = false;

	if (bbr_is_mode(b, sk, BBR_PROBE_BW))
		return;
	if (unlikely(b->mode == BBR_STARTUP && b->full_bw_reached))
		bbr_enter_drain(b, sk);
	else if (unlikely(b->mode == BBR_DRAIN))
		is_overdue = bbr_is_drain_overdue(b, sk);
	if (unlikely(b->mode == BBR_DRAIN) && (is_overdue || bbr_is_drained(b, sk))) {
		bbr_enter_mode(b, BBR_PROBE_BW, BBR_R_DRAINED);
		bbr_start_down(b, sk);
	}
}

#endif
