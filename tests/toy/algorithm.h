/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A congestion control that keeps a fixed window. It shows that an algorithm is a folder: nothing
 * outside this one knows it. Its state is larger than icsk_ca_priv, so it has a second part.
 */
#ifndef TOY_ALGORITHM_H
#define TOY_ALGORITHM_H

#include "event.h"
#include "params.h"

#include "socket.h"

#define TOY_RTTS 64

/* The second part: the latest RTT samples. */
struct bbr_more {
	u32 rtt_us[TOY_RTTS];
	u32 n; /* samples so far */
};
#define bbr_more bbr_more

struct bbr {
	u32 profile : 8, watched : 1; /* the shell's, as is the next member */
	u32 app_limited_until;
	u32 rounds;
	u32 next_round_delivered; /* the round ends when a packet sent at this count is ACKed */
	u32 bw; /* the latest sample, packets per microsecond << 24 */
	u32 min_rtt_us;
	u32 acks;
	u32 round_start;
};

static inline void bbr_init(struct bbr *b, struct shell_sock *sk)
{
	b->rounds = 0;
	b->next_round_delivered = IN(sk, delivered);
	b->bw = 0;
	b->min_rtt_us = BBR_RTT_NONE;
	b->acks = 0;
	b->round_start = 0;
	if (sk->more)
		__builtin_memset(sk->more, 0, sizeof(*sk->more));
}

static inline void toy_note_rtt(struct bbr *b, struct shell_sock *sk, u32 rtt_us)
{
	struct bbr_more *more = sk->more;

	b->min_rtt_us = min_u32(b->min_rtt_us, rtt_us);
	if (more)
		more->rtt_us[more->n++ % TOY_RTTS] = rtt_us;
}

static inline void bbr_main(struct bbr *b, struct shell_sock *sk, const struct shell_rs *rs)
{
	b->acks++;
	b->round_start = !before(rs->prior_delivered, b->next_round_delivered);
	if (b->round_start) {
		b->rounds++;
		b->next_round_delivered = IN(sk, delivered);
	}
	if (rs->rtt_us >= 0)
		toy_note_rtt(b, sk, rs->rtt_us);
	if (rs->delivered > 0 && rs->interval_us > 0)
		b->bw = quotient((u64)rs->delivered << 24, rs->interval_us);
	SET(sk, cwnd, min_u32(PARAM(sk, window), IN(sk, snd_cwnd_clamp)));
	SET(sk, pacing_rate, IN(sk, max_pacing_rate));
}

static inline bool bbr_round_start(const struct bbr *b)
{
	return b->round_start;
}
#define bbr_round_start bbr_round_start

static inline u32 toy_worst_rtt(const struct bbr_more *more)
{
	u32 worst = 0;

	if (!more || !more->n)
		return BBR_RTT_NONE;
	for (u32 i = 0; i < TOY_RTTS; i++) /* unused ones are 0 */
		worst = max_u32(worst, more->rtt_us[i]);
	return worst;
}

static inline u16 bbr_fill_event(struct bbr_event *e, struct bbr_tail *tail, const struct bbr *b,
				 const struct bbr_more *more)
{
	e->bw = b->bw;
	e->min_rtt_us = b->min_rtt_us;
	e->rounds = b->rounds;
	e->pacing_gain = BBR_UNIT;
	e->cwnd_gain = BBR_UNIT;
	e->mode = BBR_FIXED;
	tail->acks = b->acks;
	tail->worst_rtt_us = toy_worst_rtt(more);
	return b->round_start ? BBR_F_ROUND_START : 0;
}

#endif
