/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACK aggregation. Wireless and cable links, and receivers with offloads, hold ACKs back and send them
 * all at once; a window of a few BDP runs dry in the meantime. So measure how many packets are ACKed
 * beyond what bw explains, and keep so many more in flight.
 */
#ifndef BBR_AGGREGATION_H
#define BBR_AGGREGATION_H

#include "bbr.h"

/* In STARTUP bw doubles each round: what was measured against the bw of five rounds ago tells nothing. */
static inline u32 bbr_extra_acked_win(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_is_pipe_full(b, sk) ? PARAM(sk, extra_acked_win) :
					 PARAM(sk, extra_acked_startup_win);
}

#include "common/extra_acked.h"

static inline bool bbr_is_aggregation_measured(const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	return IS_ON(sk) && bbr_is_valid_sample(sk, rs);
}

/* A round begins. */
static inline void bbr_age_extra_acked(struct bbr *b, const struct bbr_sock *sk,
				       const struct bbr_rs *rs)
{
	if (bbr_is_aggregation_measured(sk, rs))
		bbr_rotate_extra_acked(b, sk);
}

static inline void bbr_update_ack_aggregation(struct bbr *b, const struct bbr_sock *sk,
					      const struct bbr_rs *rs, u32 bw)
{
	if (!bbr_is_staying(sk) && b->round_start)
		bbr_age_extra_acked(b, sk, rs);
	if (bbr_is_aggregation_measured(sk, rs))
		bbr_measure_extra_acked(b, sk, rs, bw);
}

#endif
