/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The callbacks of BBR version 3. First those of a stack that knows all of its inputs (struct
 * bbr_ack), as Google's does: the replay of recordings calls these. (Some are in other files:
 * bbr_lose, bbr_lose_tail, bbr_enter_recovery, bbr_undo and bbr_change_state in recovery.h;
 * bbr_receive_ce in ecn.h; bbr_tso_segs in control.h.) Then those that the shell calls
 * (defaults.bpf.h), with the inputs that estimate.h estimates.
 */
#ifndef BBR_ALGORITHM_H
#define BBR_ALGORITHM_H

#include "estimate.h"
#include "kind.h"
#include "probe_rtt.h"
#include "report.h"
#include "startup.h"

#define BBR_INFINITE_SSTHRESH 0x7fffffff /* TCP_INFINITE_SSTHRESH */
#define BBR_INIT_CWND_MAX 0x7fu /* 7 bits */

static inline void bbr_init_more(struct bbr_more *more, struct shell_sock *sk)
{
	more->rounds = 0;
	more->behind = 0;
	more->undo_bw_lo = 0;
	more->undo_inflight_lo = 0;
	more->undo_inflight_hi = 0;
	bbr_init_ecn(more, sk);
}

/* A connection begins, or an existing one switches to BBR. */
static inline void bbr_start(struct bbr *b, struct shell_sock *sk)
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
static inline void bbr_restart(struct bbr *b, struct shell_sock *sk)
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

static inline u32 bbr_pacing_gain(const struct bbr *b, const struct shell_sock *sk)
{
	if (bbr_is_mode(b, sk, BBR_PROBE_BW))
		return PARAM_AT(sk, probe_bw_gains, bbr_phase_of(b, sk));
	if (bbr_is_mode(b, sk, BBR_PROBE_RTT))
		return PARAM(sk, probe_rtt_gain);
	return bbr_is_mode(b, sk, BBR_DRAIN) ? PARAM(sk, drain_gain) :
					       PARAM(sk, startup_pacing_gain);
}

static inline u32 bbr_cwnd_gain(const struct bbr *b, const struct shell_sock *sk)
{
	if (bbr_is_mode(b, sk, BBR_PROBE_BW))
		return PARAM(sk, cwnd_gain) +
		       (bbr_is_phase(b, sk, BBR_UP) ? PARAM(sk, probe_up_cwnd_gain) : 0);
	if (bbr_is_mode(b, sk, BBR_PROBE_RTT))
		return PARAM(sk, probe_rtt_gain);
	return PARAM(sk, startup_cwnd_gain); /* DRAIN sends slower, but keeps the window open */
}

/*
 * Grows the window towards the target by the number of packets ACKed, like slow start. Cuts it to
 * the target only once the pipe was full, because before that the target is too low. At the target
 * there is nothing left to do for an ACK that reports nothing new (try_fast_path). The quantization
 * budget only raises the target: a window that stays below the target does not need it. (Without
 * losses the window is mostly at the target, so this check would cost more than it saves.)
 */
static inline u32 bbr_cwnd_towards_target(struct bbr *b, const struct shell_sock *sk,
					  const struct shell_rs *rs, u32 bw, u32 gain)
{
	u32 least = b->init_cwnd * PARAM(sk, startup_cwnd) >> BBR_SCALE;
	u32 target = bbr_bdp(b, sk, bw, gain), grown = IN(sk, cwnd) + rs->acked_sacked, cwnd;

	target += bbr_extra_acked_cwnd(b, sk, bw, PARAM(sk, extra_acked_gain));
	if (!bbr_is_fast(sk) && grown < target) {
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

static inline void bbr_set_cwnd(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs,
				u32 bw, u32 gain)
{
	u32 cwnd = IN(sk, cwnd);

	/* An ACK that delivers nothing does not change the window, but the caps still apply. */
	if (!bbr_is_general(sk) || rs->acked_sacked)
		cwnd = bbr_cwnd_towards_target(b, sk, rs, bw, gain);
	cwnd = min_u32(cwnd, IN(sk, snd_cwnd_clamp));
	if (unlikely(bbr_is_mode(b, sk, BBR_PROBE_RTT)))
		cwnd = min_u32(cwnd, bbr_probe_rtt_cwnd(b, sk));
	bbr_put_cwnd(sk, bbr_bound_cwnd(b, sk, cwnd));
}

static inline void bbr_note_gains(struct bbr *b, const struct shell_sock *sk, u32 pacing_gain,
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

/* The pacing gain, raised by cpu_gain while the sender is behind. */
static inline u32 bbr_gain_to_pace(const struct bbr *b, struct shell_sock *sk, u32 bw, u32 gain)
{
	bool behind;

	if (!OPTION(sk, cpu_gain) || !sk->more)
		return gain;
	behind = sk->more->behind && bbr_stays_behind(b, sk, bbr_bdp(b, sk, bw, gain));
	sk->more->behind = behind;
	return behind ? bbr_catch_up_gain(sk, gain) : gain;
}

/* Sets rate and window for the mode, phase and model after this ACK. */
static inline void bbr_update_control(struct bbr *b, struct shell_sock *sk,
				      const struct shell_rs *rs, u32 bw)
{
	u32 pacing_gain = bbr_pacing_gain(b, sk), cwnd_gain = bbr_cwnd_gain(b, sk);

	if (!bbr_is_fast(sk) && b->new_gains)
		bbr_note_gains(b, sk, pacing_gain, cwnd_gain);
	bbr_set_pacing_rate(b, sk, bw, bbr_gain_to_pace(b, sk, bw, pacing_gain));
	bbr_set_cwnd(b, sk, rs, bw, cwnd_gain);
}

/* Updates mode, phase and min_rtt: on any ACK, because the clock alone can change them. */
static inline void bbr_update_mode(struct bbr *b, struct shell_sock *sk, const struct bbr_sample *s)
{
	bbr_check_drain(b, sk);
	bbr_update_cycle_phase(b, sk, s);
	bbr_update_min_rtt(b, sk, s->rs);
}

/*
 * True if the ACK carries no new information: the flow is app-limited, its rate is below max_bw,
 * nothing was lost or marked in this loss round, and the window has reached its target. (A bound of
 * the rate may be newer than the rate.)
 */
static inline bool bbr_is_fast_path(const struct bbr *b, const struct shell_sock *sk,
				    const struct bbr_sample *s)
{
	return s->ack->flight.is_app_limited && PARAM(sk, fast_path) && b->try_fast_path &&
	       !OPTION(sk, max_pacing_rate) && s->bw < bbr_max_bw(b) && !b->loss_in_round &&
	       !(bbr_ecn(sk) && bbr_ecn(sk)->ecn_in_round);
}

/*
 * The order matters: signals before the bounds that follow from them, the end of STARTUP before
 * DRAIN, and the mode before its rate and window. The fast path, as in Google's code, skips the
 * first steps; it skips rate and window only if the ACK has changed nothing after all.
 */
static inline void bbr_update(struct bbr *b, struct shell_sock *sk, const struct bbr_sample *s)
{
	u32 mode = b->mode, min_rtt_us = b->min_rtt_us, bw = 0;
	bool is_fast = bbr_is_fast_path(b, sk, s);

	if (!is_fast) {
		bbr_update_congestion_signals(b, sk, s);
		bw = bbr_bw(b);
		bbr_update_ack_aggregation(b, sk, s->rs, bw);
		bbr_check_startup_loss(b, sk, s);
		bbr_check_full_bw(b, sk, s);
	}
	if (bbr_is_general(sk)) { /* as in bbr_estimate_ack() */
		is_fast = unknown_to_verifier(is_fast, IN(sk, delivered));
		bw = unknown_to_verifier(bw, IN(sk, delivered));
	}
	bbr_update_mode(b, sk, s);
	if (is_fast && b->mode == mode && b->min_rtt_us == min_rtt_us && b->try_fast_path)
		return;
	/* A phase that probes changes bw: it advances the max filter, and resets bw_lo. */
	if (!bbr_is_fast(sk))
		bw = bbr_bw(b);
	bbr_update_control(b, sk, s->rs, bw);
}

/* Ends an ACK: notes what the cycle and the next ACK need. */
static inline void bbr_end_ack(struct bbr *b, struct shell_sock *sk, const struct bbr_sample *s)
{
	const struct bbr_ack *ack = s->ack;

	bbr_advance_latest_delivery(b, s);
	if (bbr_is_fast(sk))
		return;
	b->prev_ca_state = IN(sk, ca_state);
	if (ack->flight.lost > 0)
		b->loss_in_cycle = 1;
	if (bbr_ecn(sk) && ack->delivered_ce > 0)
		bbr_ecn(sk)->ecn_in_cycle = 1;
}

/* Handles an ACK, and the losses that were reported before it. */
static inline void bbr_acked(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs,
			     const struct bbr_ack *ack)
{
	struct bbr_sample s = { .rs = rs, .ack = ack, .bw = bbr_sample_bw(sk, rs) };

	if (ack->lost.marked)
		bbr_lose(b, sk, &ack->lost.flight, ack->lost.packets);
	b->flags &= ~BBR_FLAGS(.round_start = 1, .loss_round_start = 1);
	bbr_update_round(b, sk, rs);
	if (b->round_start)
		bbr_update_ecn(b, sk);
	bbr_note_marks(sk, ack);
	bbr_update_latest_delivery(b, sk, &s);

	bbr_update(b, sk, &s);

	bbr_end_ack(b, sk, &s);
}

/* ---- the callbacks that the shell calls */

static inline void bbr_init(struct bbr *b, struct shell_sock *sk)
{
	b->steps = 0;
	b->drain_rounds = 0;
	b->raising = 0;
	if (sk->more) {
		sk->more->pacing_gain = 0;
		sk->more->cwnd_gain = 0;
	}
	bbr_init_estimate(b, sk);
	bbr_init_cwnd(sk, bbr_start_cwnd(sk));
	bbr_start(b, sk);
}

static inline void bbr_main(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs)
{
	struct bbr_ack ack;

	b->steps = 0;
	bbr_estimate_ack(b, sk, rs, &ack);
	bbr_acked(b, sk, rs, &ack);
}

static inline void bbr_tx_start(struct bbr *b, struct shell_sock *sk)
{
	b->steps = 0;
	bbr_restart(b, sk);
}
#define bbr_tx_start bbr_tx_start

static inline void bbr_cwnd_event(struct bbr *b, struct shell_sock *sk, u8 event)
{
	b->steps = 0;
	if (event == CA_EVENT_ECN_NO_CE || event == CA_EVENT_ECN_IS_CE)
		bbr_receive_ce(sk, event == CA_EVENT_ECN_IS_CE);
}
#define bbr_cwnd_event bbr_cwnd_event

/*
 * Handles losses marked by a timer, or by an ACK that BBR has not seen yet. They come before what
 * an undo restores: if they show that inflight_hi is too high, that is no mistake of the recovery.
 * Returns how many packets they are.
 */
static inline u32 bbr_catch_up(struct bbr *b, struct shell_sock *sk)
{
	struct bbr_lost lost = bbr_estimate_lost(b, sk);
	u32 inflight_hi = b->inflight_hi;

	if (!lost.marked)
		return 0;
	bbr_lose(b, sk, &lost.flight, lost.packets);
	if (sk->more && sk->more->undo_inflight_hi == inflight_hi)
		sk->more->undo_inflight_hi = b->inflight_hi;
	return lost.marked;
}

static inline void bbr_set_state(struct bbr *b, struct shell_sock *sk, u8 ca_state)
{
	u32 marked;

	b->steps = 0;
	marked = bbr_catch_up(b, sk);
	if (bbr_is_tail_loss(sk, ca_state, marked))
		bbr_lose_tail(b, sk, bbr_was_app_limited(b, sk));
	bbr_note_timeout(sk, ca_state);
	bbr_change_state(b, sk, ca_state);
}
#define bbr_set_state bbr_set_state

/* The losses of this ACK are handled after it, so what is saved for an undo is from before them. */
static inline u32 bbr_ssthresh(struct bbr *b, const struct shell_sock *sk)
{
	return bbr_enter_recovery(b, sk);
}
#define bbr_ssthresh bbr_ssthresh

static inline u32 bbr_undo_cwnd(struct bbr *b, const struct shell_sock *sk)
{
	return bbr_undo(b, sk);
}
#define bbr_undo_cwnd bbr_undo_cwnd

/*
 * True if losses were marked that are not recorded yet, or a burst is longer than the rate's, or
 * with cpu_gain, which looks at the clock.
 */
static inline bool bbr_is_burst_rare(const struct bbr *b, const struct shell_sock *sk)
{
	return bbr_newly_lost(b, sk) || !bbr_is_burst_of_rate(b, sk) || OPTION(sk, cpu_gain);
}
#define bbr_is_burst_rare bbr_is_burst_rare

/*
 * The stack is about to send: record the losses so far, so that what it sends counts as sent after
 * them. The stack by itself sends a burst that follows from the rate (tcp_tso_autosize()), with up
 * to 256 bytes more for the RTT as here. So only a longer burst matters.
 */
static inline u32 bbr_min_tso_segs(const struct bbr *b, struct shell_sock *sk)
{
	u32 marked = bbr_newly_lost(b, sk);

	if (marked)
		bbr_note_losses(bbr_begin_history(b, sk), sk, marked);
	if (OPTION(sk, cpu_gain) && bbr_is_late(sk)) {
		struct bbr_more *more = MORE(sk);

		if (more)
			more->behind = 1;
	}
	if (likely(bbr_is_burst_of_rate(b, sk)))
		return IN(sk, min_tso_segs);
	return bbr_tso_segs(b, sk, IN(sk, gso_max_size));
}
#define bbr_min_tso_segs bbr_min_tso_segs

static inline u32 bbr_sndbuf_expand(const struct bbr *b, const struct shell_sock *sk)
{
	(void)b;
	return PARAM(sk, sndbuf_expand);
}
#define bbr_sndbuf_expand bbr_sndbuf_expand

#endif
