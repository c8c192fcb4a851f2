/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACK aggregation. Wireless and cable links, and receivers with offloads, hold ACKs back and send them
 * all at once; a window of a few BDP runs dry in the meantime. So measure how many packets are ACKed
 * beyond what bw explains, and keep so many more in flight.
 */
#ifndef BBR_AGGREGATION_H
#define BBR_AGGREGATION_H

#include "model.h"

/* In STARTUP bw doubles each round: what was measured against the bw of five rounds ago tells nothing. */
static inline u32 bbr_extra_acked_win(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_is_pipe_full(b, sk) ? PARAM(sk, extra_acked_win) :
					 PARAM(sk, extra_acked_startup_win);
}

#include "common/extra_acked.h"

static inline void bbr_update_ack_aggregation(struct bbr *b, const struct bbr_sock *sk,
					      const struct bbr_sample *s, u32 bw)
{
	if (!PARAM(sk, extra_acked_gain) || !bbr_is_valid_sample(sk, s->rs))
		return;
	if (b->round_start)
		bbr_rotate_extra_acked(b, sk);
	bbr_measure_extra_acked(b, sk, s->rs, bw);
}

#endif
