/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of the path, from ACKs: ACK aggregation, packet-timed rounds, the max filter of
 * bandwidth, and what was delivered in the latest loss round. (The min filter of RTT is in
 * probe_rtt.h: PROBE_RTT refreshes it.)
 */
#ifndef BBR_MODEL_H
#define BBR_MODEL_H

#include "common/extra_acked.h"
#include "control.h"

/*
 * ---- ACK aggregation
 *
 * Wireless and cable links, and receivers with offloads, hold ACKs back and then send them all at
 * once. Meanwhile a window of a few BDP runs dry. So BBR measures how many packets are ACKed beyond
 * what bw explains (extra_acked), and keeps that many more in flight.
 */

/* In STARTUP bw doubles each round, so an excess over the bw of five rounds ago means nothing. */
static inline u32 bbr_extra_acked_win(const struct bbr *b, const struct shell_sock *sk)
{
	return bbr_is_pipe_full(b, sk) ? PARAM(sk, extra_acked_win) :
					 PARAM(sk, extra_acked_startup_win);
}

static inline void bbr_update_ack_aggregation(struct bbr *b, const struct shell_sock *sk,
					      const struct shell_rs *rs, u32 bw)
{
	if (!bbr_is_valid_sample(sk, rs))
		return;
	if (b->round_start)
		bbr_rotate_extra_acked(b, bbr_extra_acked_win(b, sk));
	bbr_measure_extra_acked(b, sk, rs, bw);
}

/* ---- rounds and samples */

/* An ACK: its rate sample, what else it reports, and its delivery rate. */
struct bbr_sample {
	const struct shell_rs *rs;
	const struct bbr_ack *ack;
	u32 bw; /* 0: none */
};

/* A new round begins with what is sent from here on. */
static inline void bbr_start_round(struct bbr *b, const struct shell_sock *sk)
{
	b->next_round_delivered = IN(sk, delivered);
}

/* Counts rounds that rounds_since_probe does not count, or is about to lose. */
static inline void bbr_count_rounds(const struct shell_sock *sk, u32 rounds)
{
	struct bbr_more *more = MORE(sk);

	if (more)
		more->rounds += rounds;
}

/*
 * A round lasts until a packet is ACKed that was sent after the round began: one RTT, however long
 * that is, measured without a clock.
 */
static inline void bbr_update_round(struct bbr *b, const struct shell_sock *sk,
				    const struct shell_rs *rs)
{
	if ((bbr_is_general(sk) && rs->interval_us <= 0) ||
	    before(rs->prior_delivered, b->next_round_delivered))
		return;
	b->round_start = 1;
	bbr_start_round(b, sk);
	if (bbr_is_fast(sk) || b->rounds_since_probe < 0xff)
		b->rounds_since_probe++;
	else
		bbr_count_rounds(sk, 1);
}

/*
 * The delivery rate, rounded up: at a rate of a few units, rounding down would lower the window,
 * which would lower the rate, and so on. 0: no sample.
 */
static inline u32 bbr_sample_bw(const struct shell_sock *sk, const struct shell_rs *rs)
{
	if (bbr_is_general(sk) && (rs->interval_us <= 0 || rs->delivered < 0))
		return 0;
	return quotient((u32)rs->delivered * BW_UNIT + rs->interval_us - 1, rs->interval_us);
}

/*
 * The max filter of bandwidth. bw_hi[1] is the maximum of the current probing cycle, bw_hi[0] that
 * of the one before. So a maximum lasts for one to two cycles, however long these are.
 */
static inline void bbr_update_max_bw(struct bbr *b, const struct bbr_sample *s)
{
	/*
	 * An app-limited sample shows what the application sent, not what the path could carry. It
	 * counts only if the path turns out to carry more than was known.
	 */
	if (s->bw > b->bw_hi[1] && (!s->ack->flight.is_app_limited || s->bw >= bbr_max_bw(b)))
		b->bw_hi[1] = s->bw;
}

static inline void bbr_advance_max_bw(struct bbr *b)
{
	if (!b->bw_hi[1])
		return; /* no new sample: max_bw stays */
	b->bw_hi[0] = b->bw_hi[1];
	b->bw_hi[1] = 0;
}

/*
 * At the end of the ACK that starts a loss round: from now on the maxima are of the new round. Not
 * on the ACK of a tail loss probe: nothing was delivered while it waited for its timer, so keep the
 * maxima from before.
 */
static inline void bbr_advance_latest_delivery(struct bbr *b, const struct bbr_sample *s)
{
	if (!b->loss_round_start || s->ack->acks_tlp)
		return;
	b->bw_latest = s->bw;
	b->inflight_latest = bbr_count(s->rs->delivered);
}

/*
 * Begins a loss round at the first loss, independently of the packet-timed round, so that it covers
 * the whole flight in which something was lost.
 */
static inline void bbr_update_loss_round(struct bbr *b, const struct shell_sock *sk,
					 const struct shell_rs *rs)
{
	if (before(rs->prior_delivered, b->loss_round_delivered))
		return;
	b->loss_round_delivered = IN(sk, delivered);
	b->loss_round_start = 1;
}

/*
 * The maximum of what was delivered in a loss round (bw_latest, inflight_latest). Losses do not cut
 * the bounds below that, because the path has just carried it.
 */
static inline void bbr_update_latest_delivery(struct bbr *b, const struct shell_sock *sk,
					      const struct bbr_sample *s)
{
	if (!bbr_is_valid_sample(sk, s->rs))
		return;
	if (s->bw > b->bw_latest)
		b->bw_latest = s->bw;
	if ((u32)s->rs->delivered > b->inflight_latest)
		b->inflight_latest = bbr_count(s->rs->delivered);
	bbr_update_loss_round(b, sk, s->rs);
}

/* Losses and marks so far say nothing about the phase that begins. */
static inline void bbr_reset_congestion_signals(struct bbr *b, struct shell_sock *sk)
{
	struct bbr_more *more = MORE(sk);

	b->loss_in_round = 0;
	b->loss_in_cycle = 0;
	b->bw_latest = 0;
	b->inflight_latest = 0;
	if (more) {
		more->ecn_in_round = 0;
		more->ecn_in_cycle = 0;
	}
}

/* Restarts the search for the bandwidth plateau, where the delivery rate stops growing, from bw. */
static inline void bbr_reset_full_bw(struct bbr *b, u32 bw)
{
	b->full_bw = bw;
	b->full_bw_cnt = 0;
	b->full_bw_now = 0;
}

#endif
