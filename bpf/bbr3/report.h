/* SPDX-License-Identifier: GPL-2.0-only */
/* What monitors see of a connection (event.h). */
#ifndef BBR_REPORT_H
#define BBR_REPORT_H

#include "bbr.h"
#include "common/extra_acked.h"

/* A callback makes each transition at most once, in the order of enum bbr_reason. */
#define BBR_STEPS BBR_REASONS

static inline u8 bbr_mode(const struct bbr *b)
{
	return b->mode;
}
#define bbr_mode bbr_mode

static inline bool bbr_round_start(const struct bbr *b)
{
	return b->round_start;
}
#define bbr_round_start bbr_round_start

static inline bool bbr_has_steps(const struct bbr *b)
{
	return b->steps;
}

static inline bool bbr_step(const struct bbr *b, u32 i, u8 *to, u8 *reason)
{
	if (!(b->steps & (1 << i)))
		return false;
	*reason = i;
	switch (i) {
	case BBR_R_FULL_BW:
	case BBR_R_STARTUP_LOSS:
	case BBR_R_STARTUP_ECN:
		*to = BBR_DRAIN;
		break;
	case BBR_R_MIN_RTT_EXPIRED:
		*to = BBR_PROBE_RTT;
		break;
	case BBR_R_PROBE_RTT_DONE: /* always the last step */
		*to = b->mode;
		break;
	default:
		*to = BBR_PROBE_BW;
	}
	return true;
}
#define bbr_step bbr_step

/* A 24-bit count as monitors see it. */
static inline u32 bbr_tail_count(u32 count)
{
	return count == BBR_COUNT_NONE ? BBR_TAIL_NONE : count;
}

static inline void bbr_fill_more(struct bbr_event *e, struct bbr_tail *tail, const struct bbr *b,
				 const struct bbr_more *more)
{
	e->rounds = more->rounds + b->rounds_since_probe;
	e->pacing_gain = more->pacing_gain;
	e->cwnd_gain = more->cwnd_gain;
	tail->ecn_alpha = more->ecn_alpha;
	tail->behind = more->behind;
	tail->flags |= BBR_T_SECOND_PART | (more->ecn_in_round ? BBR_T_ECN_IN_ROUND : 0) |
		       (more->ecn_eligible ? BBR_T_ECN : 0);
}

static inline u16 bbr_fill_event(struct bbr_event *e, struct bbr_tail *tail, const struct bbr *b,
				 const struct bbr_more *more)
{
	e->bw = bbr_bw(b);
	e->min_rtt_us = b->min_rtt_us;
	e->mode = b->mode;
	e->phase = b->mode == BBR_PROBE_BW ? b->cycle_idx : BBR_PHASE_NONE;
	tail->bw_hi = bbr_max_bw(b);
	tail->bw_lo = b->bw_lo;
	tail->bw_latest = b->bw_latest;
	tail->full_bw = b->full_bw;
	tail->inflight_hi = bbr_tail_count(b->inflight_hi);
	tail->inflight_lo = bbr_tail_count(b->inflight_lo);
	tail->inflight_latest = b->inflight_latest;
	tail->prior_cwnd = b->prior_cwnd;
	tail->extra_acked = bbr_extra_acked(b);
	tail->probe_wait_us = b->probe_wait_us;
	tail->probe_up_cnt = bbr_tail_count(b->probe_up_cnt);
	tail->full_bw_cnt = b->full_bw_cnt;
	tail->rounds_since_probe = b->rounds_since_probe;
	tail->acks = b->acks;
	tail->flags = (b->loss_in_round ? BBR_T_LOSS_IN_ROUND : 0) |
		      (b->prev_probe_too_high ? BBR_T_TOO_HIGH : 0) |
		      (b->probe_samples ? BBR_T_SAMPLES : 0);
	if (more)
		bbr_fill_more(e, tail, b, more);
	return (b->round_start ? BBR_F_ROUND_START : 0) | (b->full_bw_reached ? BBR_F_FULL_BW : 0) |
	       (b->idle_restart ? BBR_F_IDLE_RESTART : 0);
}

#endif
