/* SPDX-License-Identifier: GPL-2.0-only */
/* The window, as every BBR sets and remembers it. */
#ifndef COMMON_WINDOW_H
#define COMMON_WINDOW_H

#include "bbr.h"

/*
 * Keeps the window valid whatever the parameters are: a window of 0 would stay for ever, and the
 * kernel takes one that is negative as an int for a mistake.
 */
static inline void bbr_put_cwnd(struct shell_sock *sk, u32 cwnd)
{
	SET(sk, cwnd, (s32)cwnd > 0 ? cwnd : 1);
}

static inline u32 bbr_start_cwnd(const struct shell_sock *sk)
{
	return PARAM(sk, start_cwnd) ? PARAM(sk, start_cwnd) : IN(sk, cwnd);
}

/*
 * Sets the initial window. Only if nothing but the SYN was sent (it may count as delivered), and not
 * if the SYN was lost: then the stack sets a window of 1.
 */
static inline void bbr_init_cwnd(struct shell_sock *sk, u32 cwnd)
{
	if (cwnd != IN(sk, cwnd) && IN(sk, delivered) <= 1 && !IN(sk, inflight) && IN(sk, cwnd) > 1)
		bbr_put_cwnd(sk, min_u32(cwnd, IN(sk, snd_cwnd_clamp)));
}

/* Remembers the window; the larger one if recovery or PROBE_RTT has cut it. */
static inline void bbr_save_cwnd(struct bbr *b, const struct shell_sock *sk)
{
	if (b->prev_ca_state < TCP_CA_Recovery && b->mode != BBR_PROBE_RTT)
		b->prior_cwnd = IN(sk, cwnd);
	else
		b->prior_cwnd = max_u32(b->prior_cwnd, IN(sk, cwnd));
}

/*
 * PROBE_RTT marks what is sent as app-limited, but sends nothing until inflight is low: until then,
 * ACKs are of packets that are older than the mark.
 */
static inline bool bbr_mark_is_young(const struct bbr *b)
{
	return b->mode == BBR_PROBE_RTT && !b->probe_rtt_done_stamp;
}

#endif
