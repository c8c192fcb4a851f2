/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PROBE_BW, where BBR spends most of its time, in four phases:
 *
 *	DOWN	(0.91) drains what probing queued, until inflight leaves headroom below inflight_hi
 *	CRUISE	(1.0) sends at the delivery rate, and slows down on losses and marks
 *	REFILL	(1.0, a round) refills the pipe, so that UP does not lose packets too early
 *	UP	(1.25) raises inflight until it meets losses, marks, or no more bandwidth
 *
 * The length of DOWN and CRUISE is a compromise. A probe may cost losses, so Reno and CUBIC must
 * have the time to regain what it took: at 25 Mbit/s and 30 ms, which is a film in 4K, the BDP is
 * 62 packets, so they need 62 rounds, 1.9 s. So wait for as many rounds as the BDP has packets, at
 * most 63, or for 2 to 3 s, whichever is shorter.
 */
#ifndef BBR_PROBE_BW_H
#define BBR_PROBE_BW_H

#include "bounds.h"

#define BBR_PROBE_UP_ROUNDS_MAX 30 /* 2^30 packets are more than any window */

/*
 * Starts the wait for the next probe. One random number gives both random parts. The integer part
 * of r * probe_rand_rounds is the first count of rounds; what is left, a fraction, times
 * probe_wait_rand is added to probe_wait.
 */
static inline void bbr_pick_probe_wait(struct bbr *b, const struct shell_sock *sk)
{
	u64 rounds = (u64)IN(sk, random) * PARAM(sk, probe_rand_rounds);

	bbr_count_rounds(sk, b->rounds_since_probe - (u32)(rounds >> 32));
	b->rounds_since_probe = rounds >> 32;
	b->probe_wait_us =
		PARAM(sk, probe_wait) + ((u64)(u32)rounds * PARAM(sk, probe_wait_rand) >> 32);
}

static inline void bbr_start_down(struct bbr *b, struct shell_sock *sk)
{
	bbr_reset_congestion_signals(b, sk);
	b->probe_up_cnt = BBR_COUNT_NONE;
	bbr_pick_probe_wait(b, sk);
	b->cycle_mstamp = IN(sk, tcp_mstamp);
	b->acks = BBR_ACKS_PROBE_STOPPING;
	bbr_start_round(b, sk);
	bbr_enter_phase(b, BBR_DOWN);
}

static inline void bbr_start_cruise(struct bbr *b, const struct shell_sock *sk)
{
	if (b->inflight_lo != BBR_COUNT_NONE && !OPTION(sk, cruise_above_hi))
		b->inflight_lo = min_u32(b->inflight_lo, b->inflight_hi);
	bbr_enter_phase(b, BBR_CRUISE);
}

/* up_rounds: UP begins with the slope that it has after so many rounds. */
static inline void bbr_start_refill(struct bbr *b, const struct shell_sock *sk, u32 up_rounds,
				    enum bbr_reason reason)
{
	b->steps |= 1 << reason;
	bbr_reset_lower_bounds(b);
	b->probe_up_rounds = up_rounds;
	b->probe_up_acks = 0;
	b->stopped_risky_probe = 0;
	b->acks = BBR_ACKS_REFILLING;
	bbr_start_round(b, sk);
	bbr_enter_phase(b, BBR_REFILL);
}

/*
 * In UP inflight_hi grows by 1 packet in the first round, 2 in the second, 4 in the third: slowly
 * near what was too high, fast where there is much room.
 */
static inline void bbr_raise_probe_slope(struct bbr *b, const struct shell_sock *sk)
{
	u32 cnt = IN(sk, cwnd) >> b->probe_up_rounds;

	b->probe_up_rounds = min_u32(b->probe_up_rounds + 1, BBR_PROBE_UP_ROUNDS_MAX);
	b->probe_up_cnt = bbr_count(max_u32(cnt, 1));
}

static inline void bbr_start_up(struct bbr *b, const struct shell_sock *sk,
				const struct bbr_sample *s)
{
	b->steps |= 1 << BBR_R_REFILLED;
	b->acks = BBR_ACKS_PROBE_STARTING;
	bbr_start_round(b, sk);
	b->cycle_mstamp = IN(sk, tcp_mstamp);
	bbr_reset_full_bw(b, s->bw);
	bbr_enter_phase(b, BBR_UP);
	bbr_raise_probe_slope(b, sk);
}

/* True if the window limits inflight, and inflight_hi the window. */
static inline bool bbr_is_inflight_hi_limiting(const struct bbr *b, const struct shell_sock *sk)
{
	return IN(sk, cwnd) >= b->inflight_hi && IN(sk, is_cwnd_limited);
}

/* Nothing was too high: raises inflight_hi, if it is what limits inflight. */
static inline void bbr_raise_inflight_hi(struct bbr *b, const struct shell_sock *sk,
					 const struct bbr_sample *s)
{
	u32 acks, more;

	if (!bbr_is_inflight_hi_limiting(b, sk))
		return;
	acks = b->probe_up_acks + s->rs->acked_sacked;
	if (acks >= b->probe_up_cnt) {
		more = quotient(acks, b->probe_up_cnt);
		acks -= more * b->probe_up_cnt;
		b->inflight_hi = bbr_count(b->inflight_hi + more);
		b->try_fast_path = 0;
	}
	b->probe_up_acks = bbr_count(acks);
	if (b->round_start)
		bbr_raise_probe_slope(b, sk);
}

/*
 * A probe went too far: ends it, and sets inflight_hi to the inflight at which that began, but at
 * least to the target inflight cut by beta (0.3). Only once per probe, because its losses arrive
 * one after another. An app-limited flight sets no bound: its inflight is low for lack of data.
 */
static inline void bbr_handle_too_high(struct bbr *b, struct shell_sock *sk,
				       const struct bbr_flight *flight, enum bbr_reason reason)
{
	b->prev_probe_too_high = 1;
	b->probe_samples = 0;
	if (!flight->is_app_limited)
		b->inflight_hi = bbr_count(
			max_u32(flight->tx_in_flight, bbr_cut(sk, bbr_target_inflight(b, sk))));
	if (bbr_is_phase(b, sk, BBR_UP)) {
		b->steps |= 1 << reason;
		bbr_start_down(b, sk);
	}
}

/*
 * Inflight above the bound that did no harm raises the bound: in every phase, or random losses
 * would wear it down.
 */
static inline void bbr_note_safe_inflight(struct bbr *b, const struct shell_sock *sk,
					  const struct bbr_sample *s)
{
	if (s->ack->flight.tx_in_flight > b->inflight_hi)
		b->inflight_hi = bbr_count(s->ack->flight.tx_in_flight);
	if (bbr_is_phase(b, sk, BBR_UP))
		bbr_raise_inflight_hi(b, sk, s);
}

/*
 * All ACKs of what UP sent have arrived, so the maximum of this probe is complete: forget that of
 * the probe before. If UP stopped only because inflight reached what was too high last time, and
 * nothing was lost, it is no longer too high: probe again at once. Returns true if so.
 */
static inline bool bbr_end_probe_feedback(struct bbr *b, const struct shell_sock *sk,
					  const struct bbr_sample *s)
{
	b->probe_samples = 0;
	b->acks = BBR_ACKS_INIT;
	if (!bbr_is_mode(b, sk, BBR_PROBE_BW))
		return false;
	if (!s->ack->flight.is_app_limited)
		bbr_advance_max_bw(b);
	if (!b->stopped_risky_probe || b->prev_probe_too_high)
		return false;
	bbr_start_refill(b, sk, 0, BBR_R_PROBE_AGAIN);
	return true;
}

/* On each ACK once the pipe was full. Returns true if a phase began that this ACK must not end. */
static inline bool bbr_adapt_upper_bounds(struct bbr *b, struct shell_sock *sk,
					  const struct bbr_sample *s)
{
	bool is_lossy;

	if (bbr_is_fast(sk)) { /* no probe is left to ACK */
		bbr_note_safe_inflight(b, sk, s);
		return false;
	}
	if (b->round_start && b->acks == BBR_ACKS_PROBE_STARTING)
		b->acks = BBR_ACKS_PROBE_FEEDBACK;
	else if (b->round_start && b->acks == BBR_ACKS_PROBE_STOPPING &&
		 bbr_end_probe_feedback(b, sk, s))
		return true;

	is_lossy = bbr_is_loss_too_high(sk, &s->ack->flight);
	if (!is_lossy && !bbr_is_ecn_too_high(sk, s))
		bbr_note_safe_inflight(b, sk, s);
	else if (b->probe_samples)
		bbr_handle_too_high(b, sk, &s->ack->flight,
				    is_lossy ? BBR_R_PROBE_LOSS : BBR_R_PROBE_ECN);
	return false;
}

/* True if a Reno flow of this BDP would have lost a packet since the last probe. */
static inline bool bbr_is_reno_probe_time(const struct bbr *b, const struct shell_sock *sk)
{
	u32 rounds = b->rounds_since_probe;

	if (rounds >= PARAM(sk, probe_max_rounds))
		return true;
	/* The target is the BDP or more, so below the BDP there is no need to calculate it. */
	if (rounds < IN(sk, cwnd) && rounds < bbr_bdp(b, sk, bbr_bw(b), BBR_UNIT))
		return false;
	return rounds >= bbr_target_inflight(b, sk);
}

/*
 * True if marks have ceased and nothing was lost: the flow that built the queue is gone, and its
 * share is free.
 */
static inline bool bbr_have_marks_ceased(const struct bbr *b, const struct shell_sock *sk)
{
	return PARAM(sk, ecn_reprobe_gain) && bbr_is_ecn_eligible(sk) && sk->more->ecn_in_cycle &&
	       !b->loss_in_cycle && IN(sk, ca_state) == TCP_CA_Open;
}

/* Number of rounds after which UP grows by ecn_reprobe_gain (half) of inflight_hi in one round. */
static inline u32 bbr_reprobe_rounds(const struct bbr *b, const struct shell_sock *sk)
{
	u32 hi = b->inflight_hi == BBR_COUNT_NONE ? ~0u : b->inflight_hi;
	u32 growth = (u64)hi * PARAM(sk, ecn_reprobe_gain) >> BBR_SCALE;
	u32 rounds = 0;

	for (u32 step = 16; step; step /= 2)
		if (growth >> (rounds + step))
			rounds += step;
	return min_u32(rounds, BBR_PROBE_UP_ROUNDS_MAX);
}

/* Starts REFILL if it is time to probe, and returns whether it did. */
static inline bool bbr_check_time_to_probe(struct bbr *b, const struct shell_sock *sk)
{
	if (bbr_have_marks_ceased(b, sk))
		bbr_start_refill(b, sk, bbr_reprobe_rounds(b, sk), BBR_R_MARKS_CEASED);
	else if (stamp_us_delta(IN(sk, tcp_mstamp), b->cycle_mstamp + b->probe_wait_us))
		bbr_start_refill(b, sk, 0, BBR_R_WAITED);
	else if (bbr_is_reno_probe_time(b, sk))
		bbr_start_refill(b, sk, 0, BBR_R_WAITED_ROUNDS);
	return b->cycle_idx == BBR_REFILL;
}

/* True if DOWN may end: there is headroom and no queue. */
static inline bool bbr_is_time_to_cruise(const struct bbr *b, const struct shell_sock *sk,
					 const struct shell_rs *rs)
{
	u32 inflight = bbr_packets_in_net_at_edt(b, sk, rs->prior_in_flight);

	return inflight <= bbr_inflight_with_headroom(b, sk) &&
	       inflight <= bbr_inflight(b, sk, bbr_max_bw(b), BBR_UNIT);
}

/*
 * UP ends where the last probe ended if that went too far: by the time losses show, twice as much
 * would be on its way. It also ends when bandwidth stops growing, unless the window keeps it from
 * growing.
 */
static inline void bbr_check_up_done(struct bbr *b, struct shell_sock *sk,
				     const struct bbr_sample *s)
{
	if (b->prev_probe_too_high &&
	    bbr_packets_in_net_at_edt(b, sk, s->rs->prior_in_flight) >= b->inflight_hi) {
		b->stopped_risky_probe = 1;
		b->steps |= 1 << BBR_R_PROBE_INFLIGHT;
	} else if (bbr_is_inflight_hi_limiting(b, sk)) {
		bbr_reset_full_bw(b, s->bw);
		return;
	} else if (b->full_bw_now) {
		b->steps |= 1 << BBR_R_PROBE_FULL_BW;
	} else {
		return;
	}
	b->prev_probe_too_high = 0; /* it had no losses, so far */
	bbr_start_down(b, sk);
}

static inline void bbr_check_phase_done(struct bbr *b, struct shell_sock *sk,
					const struct bbr_sample *s)
{
	if (bbr_is_fast(sk)) /* the next probe is not due */
		return;
	switch (b->cycle_idx) {
	case BBR_CRUISE:
		bbr_check_time_to_probe(b, sk);
		break;
	case BBR_REFILL:
		if (!b->round_start)
			break;
		b->probe_samples = 1; /* from now on samples may show too much in flight */
		bbr_start_up(b, sk, s);
		break;
	case BBR_UP:
		bbr_check_up_done(b, sk, s);
		break;
	default: /* BBR_DOWN */
		if (bbr_check_time_to_probe(b, sk) || !bbr_is_time_to_cruise(b, sk, s->rs))
			break;
		b->steps |= 1 << BBR_R_HEADROOM;
		bbr_start_cruise(b, sk);
		break;
	}
}

static inline void bbr_update_cycle_phase(struct bbr *b, struct shell_sock *sk,
					  const struct bbr_sample *s)
{
	if (!bbr_is_pipe_full(b, sk) || bbr_adapt_upper_bounds(b, sk, s))
		return;
	if (bbr_is_mode(b, sk, BBR_PROBE_BW))
		bbr_check_phase_done(b, sk, s);
}

#endif
