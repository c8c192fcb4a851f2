/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of BBR version 3 for a stack that knows all of its inputs (struct bbr_ack). The
 * tests and the replay of recordings call them; algorithm.h calls them for the shell, with what it
 * knows. (The others are in recovery.h: bbr_lose, bbr_lose_tail, bbr_enter_recovery, bbr_undo,
 * bbr_change_state; in ecn.h: bbr_receive_ce; and in control.h: bbr_tso_segs.)
 */
#ifndef BBR_CALLBACKS_H
#define BBR_CALLBACKS_H

#include "kind.h"
#include "probe_rtt.h"
#include "startup.h"

#define BBR_INFINITE_SSTHRESH 0x7fffffff /* TCP_INFINITE_SSTHRESH */
#define BBR_INIT_CWND_MAX 0x7fu /* 7 bits */

static inline void bbr_init_more(struct bbr_more *more, struct bbr_sock *sk)
{
	more->rounds = 0;
	more->undo_bw_lo = 0;
	more->undo_inflight_lo = 0;
	more->undo_inflight_hi = 0;
	bbr_init_ecn(more, sk);
}

/* A connection begins, or an existing one switches to BBR. */
static inline void bbr_start(struct bbr *b, struct bbr_sock *sk)
{
	b->initialized = 1;
	b->init_cwnd = min_u32(IN(sk, cwnd), BBR_INIT_CWND_MAX);
	b->prior_cwnd = IN(sk, stack_prior_cwnd);
	b->prev_ca_state = TCP_CA_Open;
	SET(sk, ssthresh, BBR_INFINITE_SSTHRESH);
	SET(sk, fast_ack_mode, 1);
	if (IN(sk, uses_ecn))
		SET(sk, ect_permanent, 1);
	if (sk->more)
		bbr_init_more(sk->more, sk);

	b->round_start = 0;
	bbr_start_round(b, sk);
	b->loss_round_delivered = IN(sk, delivered) + 1;
	b->loss_round_start = 0;
	b->loss_events_in_round = 0;
	bbr_reset_congestion_signals(b, sk);

	b->probe_rtt_done_stamp = 0;
	b->round_done = 0;
	b->probe_rtt_min_us = IN(sk, min_rtt_us);
	b->probe_rtt_min_stamp = IN(sk, now_ms);
	b->min_rtt_us = IN(sk, min_rtt_us);
	b->min_rtt_stamp = IN(sk, now_ms);

	b->has_seen_rtt = 0;
	bbr_init_pacing_rate_from_rtt(b, sk);

	b->mode = BBR_STARTUP;
	b->idle_restart = 0;
	b->full_bw_reached = 0;
	bbr_reset_full_bw(b, 0);
	b->bw_hi[0] = 0;
	b->bw_hi[1] = 0;
	b->inflight_hi = BBR_COUNT_NONE;
	bbr_reset_lower_bounds(b);

	b->cycle_mstamp = 0;
	bbr_enter_phase(b, BBR_UP);
	b->acks = BBR_ACKS_INIT;
	b->probe_up_cnt = BBR_COUNT_NONE;
	b->probe_up_acks = 0;
	b->probe_up_rounds = 0;
	b->probe_wait_us = 0;
	b->rounds_since_probe = 0;
	b->probe_samples = 0;
	b->prev_probe_too_high = 0;
	b->stopped_risky_probe = 0;

	bbr_reset_extra_acked(b, sk);
}

/*
 * The first packet after a pause is about to be sent. If the application paused, the pipe is empty:
 * pace at the estimated bandwidth (idle_restart_gain) rather than at a gain that probes, which
 * would build a needless queue.
 */
static inline void bbr_restart(struct bbr *b, struct bbr_sock *sk)
{
	if (!IN(sk, app_limited))
		return;

	b->idle_restart = 1;
	bbr_start_ack_epoch(b, sk);
	if (b->mode == BBR_PROBE_BW)
		bbr_set_pacing_rate(b, sk, bbr_bw(b), PARAM(sk, idle_restart_gain));
	else if (b->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(b, sk);
}

static inline u32 bbr_pacing_gain(const struct bbr *b, const struct bbr_sock *sk)
{
	switch (bbr_mode_of(b, sk)) {
	case BBR_STARTUP:
		return PARAM(sk, startup_pacing_gain);
	case BBR_DRAIN:
		return PARAM(sk, drain_gain);
	case BBR_PROBE_RTT:
		return PARAM(sk, probe_rtt_gain);
	default:
		return PARAM_AT(sk, probe_bw_gains, bbr_phase_of(b, sk));
	}
}

static inline u32 bbr_cwnd_gain(const struct bbr *b, const struct bbr_sock *sk)
{
	switch (bbr_mode_of(b, sk)) {
	case BBR_STARTUP:
	case BBR_DRAIN: /* slower, but with the window kept open */
		return PARAM(sk, startup_cwnd_gain);
	case BBR_PROBE_RTT:
		return PARAM(sk, probe_rtt_gain);
	default:
		return PARAM(sk, cwnd_gain) +
		       (bbr_is_phase(b, sk, BBR_UP) ? PARAM(sk, probe_up_cwnd_gain) : 0);
	}
}

/*
 * Grows the window towards the target by the number of packets ACKed, like slow start. Cuts it to
 * the target only once the pipe was full, because before that the target is too low. At the target
 * there is nothing left to do for an ACK that reports nothing new (try_fast_path). The quantization
 * budget only raises the target: a window that stays below it need not know it. (Without losses
 * the window is mostly at the target, so that asking would cost more than it saves.)
 */
static inline u32 bbr_cwnd_towards_target(struct bbr *b, const struct bbr_sock *sk,
					  const struct bbr_rs *rs, u32 bw, u32 gain)
{
	u32 least = b->init_cwnd * PARAM(sk, startup_cwnd) >> BBR_SCALE;
	u32 target = bbr_bdp(b, sk, bw, gain), grown = IN(sk, cwnd) + rs->acked_sacked, cwnd;

	target += bbr_extra_acked_cwnd(b, sk, bw, PARAM(sk, extra_acked_gain));
	if (!bbr_is_lossless(sk) && grown < target) {
		b->try_fast_path = 0;
		return max_u32(grown, PARAM(sk, cwnd_min_target));
	}
	if (bbr_is_pipe_full(b, sk) || IN(sk, cwnd) >= target)
		target = bbr_quantization_budget(b, sk, target);
	READ_AGAIN();
	cwnd = IN(sk, cwnd);
	if (likely(bbr_is_pipe_full(b, sk) && cwnd + rs->acked_sacked >= target)) {
		b->try_fast_path = 1;
		return target; /* that is cwnd_min_target or more */
	} else if (bbr_is_pipe_full(b, sk) || cwnd < target || cwnd < least) {
		b->try_fast_path = 0;
		cwnd += rs->acked_sacked;
	} else {
		b->try_fast_path = 1;
	}
	return max_u32(cwnd, PARAM(sk, cwnd_min_target));
}

static inline void bbr_set_cwnd(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs, u32 bw,
				u32 gain)
{
	u32 cwnd = IN(sk, cwnd);

	/* An ACK that delivers nothing does not change the window, but the caps still apply. */
	if (bbr_is_calm(sk) || rs->acked_sacked)
		cwnd = bbr_cwnd_towards_target(b, sk, rs, bw, gain);
	cwnd = min_u32(cwnd, IN(sk, snd_cwnd_clamp));
	if (!bbr_is_calm(sk) && unlikely(b->mode == BBR_PROBE_RTT))
		cwnd = min_u32(cwnd, bbr_probe_rtt_cwnd(b, sk));
	bbr_put_cwnd(sk, bbr_bound_cwnd(b, sk, cwnd));
}

static inline void bbr_note_gains(struct bbr *b, const struct bbr_sock *sk, u32 pacing_gain,
				  u32 cwnd_gain)
{
	struct bbr_more *more = MORE(sk);

	b->new_gains = 0;
	b->raising = pacing_gain > BBR_UNIT;
	if (more) {
		more->pacing_gain = pacing_gain;
		more->cwnd_gain = cwnd_gain;
	}
}

/* Sets rate and window for the mode, phase and model after this ACK. */
static inline void bbr_update_control(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				      u32 bw)
{
	u32 pacing_gain = bbr_pacing_gain(b, sk), cwnd_gain = bbr_cwnd_gain(b, sk);

	if (!bbr_is_settled(sk) && b->new_gains)
		bbr_note_gains(b, sk, pacing_gain, cwnd_gain);
	bbr_set_pacing_rate(b, sk, bw, pacing_gain);
	bbr_set_cwnd(b, sk, rs, bw, cwnd_gain);
}

/* Updates mode, phase and min_rtt: on any ACK, because the clock alone can change them. */
static inline void bbr_update_mode(struct bbr *b, struct bbr_sock *sk, const struct bbr_sample *s)
{
	bbr_check_drain(b, sk);
	bbr_update_cycle_phase(b, sk, s);
	bbr_update_min_rtt(b, sk, s->rs);
}

/*
 * Does the ACK report nothing new? The flow is app-limited, its rate is below max_bw, nothing was
 * lost or marked in this loss round, and the window has reached its target.
 */
static inline bool bbr_is_fast_path(const struct bbr *b, const struct bbr_sock *sk,
				    const struct bbr_sample *s)
{
	return bbr_is_sample_limited(sk, s) && PARAM(sk, fast_path) && b->try_fast_path &&
	       s->bw < bbr_max_bw(b) &&
	       (bbr_is_lossless(sk) ||
		(!b->loss_in_round && !(sk->more && sk->more->ecn_in_round)));
}

/*
 * The order matters: signals before the bounds that follow from them, the end of STARTUP before
 * DRAIN, and the mode before its rate and window. The fast path, as in Google's code, skips the
 * first steps; it skips rate and window only if the ACK has changed nothing after all.
 */
static inline void bbr_update(struct bbr *b, struct bbr_sock *sk, const struct bbr_sample *s)
{
	u32 mode = b->mode, min_rtt_us = b->min_rtt_us, bw = 0;
	bool is_fast = bbr_is_fast_path(b, sk, s);

	if (!is_fast) {
		bbr_update_congestion_signals(b, sk, s);
		bw = bbr_bw_of(b, sk);
		bbr_update_ack_aggregation(b, sk, s->rs, bw);
		bbr_check_startup_loss(b, sk, s);
		bbr_check_full_bw(b, sk, s);
	}
	if (!bbr_is_calm(sk)) { /* as in bbr_estimate_ack() */
		is_fast = unknown_to_verifier(is_fast, IN(sk, delivered));
		bw = unknown_to_verifier(bw, IN(sk, delivered));
	}
	bbr_update_mode(b, sk, s);
	if (is_fast && b->mode == mode && b->min_rtt_us == min_rtt_us && b->try_fast_path)
		return;
	/* A phase that probes changes bw: it advances the max filter, and resets bw_lo. */
	if (!bbr_is_staying(sk))
		bw = bbr_bw(b);
	bbr_update_control(b, sk, s->rs, bw);
}

/* Ends an ACK: notes what the cycle and the next ACK need. */
static inline void bbr_end_ack(struct bbr *b, struct bbr_sock *sk, const struct bbr_sample *s)
{
	const struct bbr_ack *ack = s->ack;

	if (!bbr_is_staying(sk))
		bbr_advance_latest_delivery(b, sk, s);
	if (bbr_is_lossless(sk))
		return;
	b->prev_ca_state = IN(sk, ca_state);
	if (ack->flight.lost > 0)
		b->loss_in_cycle = 1;
	if (sk->more && ack->delivered_ce > 0)
		sk->more->ecn_in_cycle = 1;
}

/* Handles an ACK of a known kind (kind.h). */
static inline void bbr_acked_of_kind(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
				     const struct bbr_ack *ack, u8 kind)
{
	struct bbr_sample s = { .rs = rs, .ack = ack };

	sk->kind = kind;
	b->flags &= ~BBR_FLAGS(.round_start = 1, .loss_round_start = 1);
	/*
	 * Done here, where the flight is at hand: nothing reads inflight_hi before the phase and
	 * the window do.
	 */
	if (bbr_is_waiting(sk)) {
		bbr_note_safe_inflight(b, sk, &s);
		s.delivered_bw = (u32)rs->delivered * BW_UNIT;
		s.interval_us = rs->interval_us;
	} else {
		s.bw = bbr_sample_bw(sk, rs);
	}
	bbr_update_round(b, sk, rs);
	if (b->round_start)
		bbr_update_ecn(b, sk);
	bbr_note_marks(sk, ack);
	bbr_update_latest_delivery(b, sk, &s);

	bbr_update(b, sk, &s);

	bbr_end_ack(b, sk, &s);
}

/* Handles an ACK of any kind. */
static inline void bbr_acked(struct bbr *b, struct bbr_sock *sk, const struct bbr_rs *rs,
			     const struct bbr_ack *ack)
{
	bbr_acked_of_kind(b, sk, rs, ack, 0);
}

#endif
