/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * STARTUP and DRAIN: a binary search for the bandwidth of the path, which doubles the rate each round
 * and so finds it in log2(BDP) rounds, whatever it is between a modem and a data centre; and the
 * draining of the queue that the last doublings made.
 *
 * STARTUP ends when bandwidth stops growing. In a buffer that is less than the BDP, or with neighbours, losses
 * and marks come first: then it ends by these, and what was in flight is the first inflight_hi.
 */
#ifndef BBR_STARTUP_H
#define BBR_STARTUP_H

#include "probe_bw.h"

#define BBR_LOSS_EVENTS_MAX 15 /* 4 bits */

/*
 * The pipe is full when raising the rate no longer makes the delivery rate grow by a quarter. Wait
 * for three rounds of it: the receive window may be what limits, and takes one round to be enlarged,
 * one to be filled, and one to be measured. UP searches again: full_bw_now is of this search.
 */
static inline void bbr_check_full_bw(struct bbr *b, const struct bbr_sock *sk,
				     const struct bbr_sample *s)
{
	u32 thresh;

	if (bbr_is_waiting(sk) || (!bbr_is_starting(sk) && b->full_bw_now) ||
	    bbr_is_sample_limited(sk, s))
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
	if (bbr_is_starting(sk)) /* bbr_stays_in_startup() */
		return;
	b->full_bw_now = b->full_bw_cnt >= PARAM(sk, full_bw_rounds);
	if (b->full_bw_now)
		b->full_bw_reached = 1;
}

/*
 * In STARTUP: does it go on, whatever this ACK tells, if that is no loss and no mark? It ends by no growth, of which rounds are
 * counted: one that does not begin, or is not the last of them, ends nothing.
 */
static inline bool bbr_stays_in_startup(const struct bbr *b, const struct bbr_sock *sk,
					const struct bbr_rs *rs)
{
	return b->acks == BBR_ACKS_INIT && !b->full_bw_now && !b->new_gains &&
	       (b->full_bw_cnt + 1u < PARAM(sk, full_bw_rounds) ||
		before(rs->prior_delivered, b->next_round_delivered));
}

/*
 * The pipe is more than full: what it was seen to hold at once is the bound. It can happen in PROBE_RTT, too, if that
 * came before the pipe was full.
 */
static inline void bbr_end_startup(struct bbr *b, const struct bbr_sock *sk, enum bbr_reason reason)
{
	u32 bdp = bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT);

	b->full_bw_reached = 1;
	b->inflight_hi = bbr_count(max_u32(bdp, b->inflight_latest));
	if (b->mode == BBR_STARTUP)
		b->steps |= 1 << reason;
}

/* Once a round. Marks end STARTUP, too. */
static inline void bbr_update_ecn(struct bbr *b, struct bbr_sock *sk)
{
	struct bbr_more *more = sk->more;
	s32 ratio;

	if (bbr_is_lossless(sk) || !more)
		return;
	ratio = bbr_update_ecn_alpha(b, more, sk);
	if (ratio >= 0 && !b->full_bw_reached && bbr_is_startup_marked(more, sk, ratio))
		bbr_end_startup(b, sk, BBR_R_STARTUP_ECN);
}

/*
 * Losses end STARTUP if they are more than chance: in recovery, on 6 ACKs of a round, and above 2 % of the
 * flight. They are judged when the round is over, for by then it is known how much was lost.
 */
static inline bool bbr_is_startup_lossy(const struct bbr *b, const struct bbr_sock *sk)
{
	return PARAM(sk, full_loss_cnt) && IN(sk, ca_state) == TCP_CA_Recovery &&
	       b->loss_events_in_round >= PARAM(sk, full_loss_cnt);
}

static inline void bbr_check_startup_loss(struct bbr *b, const struct bbr_sock *sk,
					  const struct bbr_sample *s)
{
	if (bbr_is_pipe_full(b, sk))
		return;
	if (!bbr_is_lossless(sk) && s->rs->losses)
		b->loss_events_in_round = min_u32(b->loss_events_in_round + 1, BBR_LOSS_EVENTS_MAX);
	if (!b->loss_round_start)
		return;
	if (!bbr_is_lossless(sk) && bbr_is_startup_lossy(b, sk)) {
		if (bbr_is_loss_too_high(sk, &s->ack->flight))
			bbr_end_startup(b, sk, BBR_R_STARTUP_LOSS);
		else if (bbr_is_ecn_too_high(sk, s))
			bbr_end_startup(b, sk, BBR_R_STARTUP_ECN);
		if (b->full_bw_reached)
			return;
	}
	b->loss_events_in_round = 0;
}

/* If nothing else has ended STARTUP, bandwidth stopped growing. */
static inline void bbr_enter_drain(struct bbr *b, struct bbr_sock *sk)
{
	b->mode = BBR_DRAIN;
	b->new_gains = 1;
	if (!b->steps)
		b->steps = 1 << BBR_R_FULL_BW;
	b->drain_rounds = 0;
	SET(sk, ssthresh, bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT)); /* for monitors */
	bbr_reset_congestion_signals(b, sk);
}

/* Has DRAIN lasted for too long? What keeps inflight up then may be others. */
static inline bool bbr_is_drain_overdue(struct bbr *b, const struct bbr_sock *sk)
{
	if (!OPTION(sk, drain_max_rounds) || !b->round_start)
		return false;
	if (b->drain_rounds >= OPTION(sk, drain_max_rounds))
		return true;
	b->drain_rounds++;
	return false;
}

/* Drains until inflight fits the pipe; at once, on the same ACK, if there is no queue. */
static inline bool bbr_is_drained(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_packets_in_net_at_edt(b, sk, IN(sk, inflight)) <=
	       bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT);
}

/* From STARTUP to DRAIN to PROBE_BW. */
static inline void bbr_check_drain(struct bbr *b, struct bbr_sock *sk)
{
	bool is_overdue = false;

	if (bbr_mode_of(b, sk) == BBR_PROBE_BW || bbr_is_starting(sk))
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
