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

static inline u8 bbr_policer(const struct bbr *b)
{
	if (b->lt_use_bw)
		return BBR_POLICER_DETECTED;
	return b->lt_is_sampling ? BBR_POLICER_SAMPLING : BBR_POLICER_OFF;
}

/* The pointers do not alias (restrict), so the compiler reads each word of b only once. */
static inline u16 bbr_fill_event(struct bbr_event *restrict e, struct bbr_tail *restrict tail,
				 const struct bbr *restrict b, const struct bbr_more *more)
{
	(void)more; /* version 1 has none */
	tail->behind = b->behind;
	tail->max_bw = bbr_max_bw(b);
	tail->lt_bw = b->lt_bw;
	e->bw = bbr_bw(b);
	e->mode = b->mode;
	e->phase = b->cycle_idx;
	tail->lt_rtt_cnt = b->lt_rtt_cnt;
	tail->policer = bbr_policer(b);
	tail->full_bw = b->full_bw;
	tail->prior_cwnd = b->prior_cwnd;
	tail->extra_acked = bbr_extra_acked(b);
	tail->full_bw_cnt = b->full_bw_cnt;
	e->min_rtt_us = b->min_rtt_us;
	e->rounds = b->round_count;
	/* Copies cwnd_gain, too: the two are adjacent in both structs. */
	__builtin_memcpy(&e->pacing_gain, &b->pacing_gain, sizeof(u32));
	return (b->round_start ? BBR_F_ROUND_START : 0) | (b->full_bw_reached ? BBR_F_FULL_BW : 0) |
	       (b->idle_restart ? BBR_F_IDLE_RESTART : 0) |
	       (b->packet_conservation ? BBR_F_CONSERVATION : 0);
}

#endif
