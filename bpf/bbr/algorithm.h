/* SPDX-License-Identifier: GPL-2.0-only */
/* The callbacks of BBR, one function each. The shell (shell.bpf.h) and the tests call them. */
#ifndef BBR_ALGORITHM_H
#define BBR_ALGORITHM_H

#include "aggregation.h"
#include "kind.h"
#include "model.h"
#include "probe_rtt.h"
#include "recovery.h"
#include "report.h"
#include "startup.h"

#define BBR_INFINITE_SSTHRESH 0x7fffffff /* TCP_INFINITE_SSTHRESH */

/* A connection begins, or an existing one switches to BBR. */
static inline void bbr_init(struct bbr *b, struct shell_sock *sk)
{
	b->steps = 0;
	b->prior_cwnd = 0;
	SET(sk, ssthresh, BBR_INFINITE_SSTHRESH);
	b->round_count = 0;
	b->next_round_delivered = IN(sk, delivered);
	b->prev_ca_state = TCP_CA_Open;
	b->packet_conservation = 0;

	b->probe_rtt_done_stamp = 0;
	b->probe_rtt_round_done = 0;
	b->min_rtt_us = IN(sk, min_rtt_us);
	b->min_rtt_stamp = IN(sk, now_ms);

	minmax_reset(&b->bw, b->round_count, 0);

	b->has_seen_rtt = 0;
	bbr_init_cwnd(sk, bbr_bound_cwnd(sk, bbr_start_cwnd(sk)));
	bbr_init_pacing_rate_from_rtt(b, sk);

	b->round_start = 0;
	b->idle_restart = 0;
	b->behind = 0;
	b->full_bw_reached = 0;
	b->full_bw = 0;
	b->full_bw_cnt = 0;
	b->cycle_mstamp = 0;
	b->cycle_len = 0;
	b->cycle_idx = 0;
	bbr_reset_lt_bw_sampling(b, sk);
	b->mode = BBR_STARTUP;

	bbr_reset_extra_acked(b, sk);
}

/*
 * The first packet after a pause is about to be sent. If the application paused, the pipe is empty:
 * pace at the estimated bandwidth (idle_restart_gain) rather than at a gain that probes, which
 * would build a needless queue.
 */
static inline void bbr_tx_start(struct bbr *b, struct shell_sock *sk)
{
	b->steps = 0;
	if (!IN(sk, app_limited))
		return;

	b->idle_restart = 1;
	bbr_start_ack_epoch(b, sk);
	if (b->mode == BBR_PROBE_BW)
		bbr_set_pacing_rate(b, sk, bbr_bw(b), PARAM(sk, idle_restart_gain));
	else if (b->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(b, sk);
}
#define bbr_tx_start bbr_tx_start

/* BBR ignores the other events of the congestion window. */
static inline void bbr_cwnd_event(struct bbr *b, struct shell_sock *sk, u8 event)
{
	(void)sk;
	(void)event;
	b->steps = 0;
}
#define bbr_cwnd_event bbr_cwnd_event

/* Sets the gains of the current mode. */
static inline void bbr_update_gains(struct bbr *b, const struct shell_sock *sk)
{
	if (bbr_is_mode(b, sk, BBR_PROBE_BW)) {
		b->pacing_gain = bbr_is_policed(b, sk) ? PARAM(sk, lt_gain) :
							 PARAM_AT(sk, probe_bw_gains, b->cycle_idx);
		b->cwnd_gain = PARAM(sk, cwnd_gain);
	} else if (bbr_is_mode(b, sk, BBR_PROBE_RTT)) {
		b->pacing_gain = BBR_UNIT;
		b->cwnd_gain = BBR_UNIT;
	} else {
		b->pacing_gain = bbr_is_mode(b, sk, BBR_DRAIN) ? PARAM(sk, drain_gain) :
								 PARAM(sk, high_gain);
		b->cwnd_gain = PARAM(sk, high_gain); /* DRAIN keeps the window open */
	}
}

/*
 * Takes the rate sample of an ACK into the model: rounds, bw and ACK aggregation. Returns the
 * bandwidth to use from here on.
 */
static inline u32 bbr_take_sample(struct bbr *b, const struct shell_sock *sk,
				  const struct shell_rs *rs)
{
	u32 bw;

	b->round_start = 0;
	if (bbr_is_general(sk) && !bbr_is_valid_sample(rs))
		return bbr_bw(b);
	bbr_update_bw(b, sk, rs);
	bw = bbr_is_policed(b, sk) ? b->lt_bw : bbr_max_bw(b);
	bbr_update_ack_aggregation(b, sk, rs, bw);
	/*
	 * Otherwise clang keeps the flags in a register, and the verifier explores the rest once
	 * for each value that they may have.
	 */
	if (!bbr_is_fast(sk))
		READ_AGAIN();
	return bw;
}

/*
 * The order matters: bandwidth first, because the other steps use it; the gain cycle before the
 * state machine, so that a phase that begins on this ACK does not end on it; the gains last, when
 * the mode is known. Returns the bandwidth to use, which no step after the first changes.
 */
static inline u32 bbr_update_model(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs)
{
	u32 bw = bbr_take_sample(b, sk, rs);

	bbr_update_cycle_phase(b, sk, rs);
	bbr_check_full_bw_reached(b, sk, rs);
	bbr_check_drain(b, sk);
	bbr_update_min_rtt(b, sk, rs);
	bbr_update_gains(b, sk);
	return bw;
}

/*
 * Grows the window towards the target by the number of packets ACKed, like slow start. Cuts it to
 * the target only once the pipe was full, because before that the target is too low.
 */
static inline u32 bbr_cwnd_towards_target(const struct bbr *b, const struct shell_sock *sk,
					  const struct shell_rs *rs, u32 cwnd, u32 bw)
{
	u32 target = bbr_bdp(b, sk, bw, b->cwnd_gain);

	target += bbr_ack_aggregation_cwnd(b, sk, bw);
	if (OPTION(sk, pacing_rate))
		target = max_u32(target, bbr_fixed_rate_inflight(b, sk));
	target = bbr_quantization_budget(b, sk, target);

	if (bbr_is_pipe_full(b, sk))
		cwnd = min_u32(cwnd + rs->acked_sacked, target);
	else if (cwnd < target || IN(sk, delivered) < PARAM(sk, init_cwnd))
		cwnd += rs->acked_sacked;
	return max_u32(cwnd, PARAM(sk, cwnd_min_target));
}

static inline void bbr_set_cwnd(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs,
				u32 bw)
{
	u32 cwnd = IN(sk, cwnd);

	/* An ACK that delivers nothing does not change the window, but the caps still apply. */
	if ((!bbr_is_general(sk) || rs->acked_sacked) &&
	    !bbr_set_cwnd_to_recover_or_restore(b, sk, rs, &cwnd))
		cwnd = bbr_cwnd_towards_target(b, sk, rs, cwnd, bw);

	if (bbr_is_mode(b, sk, BBR_PROBE_RTT))
		cwnd = min_u32(cwnd, bbr_probe_rtt_cwnd(b, sk));
	cwnd = min_u32(bbr_bound_cwnd(sk, cwnd), IN(sk, snd_cwnd_clamp));
	bbr_put_cwnd(sk, cwnd);
}

/* The pacing gain, raised by cpu_gain while the sender is behind. */
static inline u32 bbr_gain_to_pace(struct bbr *b, const struct shell_sock *sk, u32 bw)
{
	if (!OPTION(sk, cpu_gain))
		return b->pacing_gain;
	b->behind = b->behind && bbr_stays_behind(b, sk, bbr_bdp(b, sk, bw, b->pacing_gain));
	return b->behind ? bbr_catch_up_gain(sk, b->pacing_gain) : b->pacing_gain;
}

/* An ACK: model first, then pacing rate, then window. */
static inline void bbr_main(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs)
{
	u32 bw;

	b->steps = 0;
	bw = bbr_update_model(b, sk, rs);
	bbr_set_pacing_rate(b, sk, bw, bbr_gain_to_pace(b, sk, bw));
	bbr_set_cwnd(b, sk, rs, bw);
}

/*
 * The recovery was spurious: nothing was lost. Forgets what STARTUP concluded meanwhile, and the
 * losses that suggested a policer. Returns the window as it is: once recovery is over, the next ACK
 * restores prior_cwnd.
 */
static inline u32 bbr_undo_cwnd(struct bbr *b, const struct shell_sock *sk)
{
	b->full_bw = 0;
	b->full_bw_cnt = 0;
	bbr_reset_lt_bw_sampling(b, sk);
	return IN(sk, cwnd);
}
#define bbr_undo_cwnd bbr_undo_cwnd

/*
 * Recovery begins: saves the window to restore afterwards. Returns ssthresh unchanged: BBR does not
 * use it.
 */
static inline u32 bbr_ssthresh(struct bbr *b, const struct shell_sock *sk)
{
	bbr_save_cwnd(b, sk);
	return IN(sk, ssthresh);
}
#define bbr_ssthresh bbr_ssthresh

/*
 * The stack enters ca_state. Only an RTO (TCP_CA_Loss) matters to BBR. It ends the round, because
 * no ACK of this round may arrive any more; it restarts the search for the bandwidth plateau
 * (full_bw); and it counts as a loss in the long-term sampling for a policer.
 */
static inline void bbr_set_state(struct bbr *b, const struct shell_sock *sk, u8 ca_state)
{
	b->steps = 0;
	if (ca_state != TCP_CA_Loss)
		return;
	b->prev_ca_state = TCP_CA_Loss;
	b->full_bw = 0;
	b->round_start = 1;
	bbr_lt_bw_sampling(b, sk, 1, false);
}
#define bbr_set_state bbr_set_state

/* True with cpu_gain, which looks at more than the rate. */
static inline bool bbr_is_burst_rare(const struct bbr *b, const struct shell_sock *sk)
{
	(void)b;
	return OPTION(sk, cpu_gain);
}
#define bbr_is_burst_rare bbr_is_burst_rare

/* The stack is about to send. Notes whether it is late (cpu_gain). Returns its least burst. */
static inline u32 bbr_min_tso_segs(struct bbr *b, const struct shell_sock *sk)
{
	if (OPTION(sk, cpu_gain) && bbr_is_late(sk))
		b->behind = 1;
	return bbr_least_burst(sk);
}
#define bbr_min_tso_segs bbr_min_tso_segs

/* Send buffer in multiples of the window. */
static inline u32 bbr_sndbuf_expand(const struct bbr *b, const struct shell_sock *sk)
{
	(void)b;
	return PARAM(sk, sndbuf_expand);
}
#define bbr_sndbuf_expand bbr_sndbuf_expand

#endif
