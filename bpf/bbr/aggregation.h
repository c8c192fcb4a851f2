/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACK aggregation. Wireless and cable links, and receivers with offloads, hold ACKs back and then
 * send them all at once. Meanwhile a window of a few BDP runs dry. So BBR measures how many packets
 * are ACKed beyond what bw explains (extra_acked), and keeps that many more in flight.
 */
#ifndef BBR_AGGREGATION_H
#define BBR_AGGREGATION_H

#include "common/extra_acked.h"
#include "kind.h"

static inline void bbr_update_ack_aggregation(struct bbr *b, const struct shell_sock *sk,
					      const struct shell_rs *rs, u32 bw)
{
	if (!bbr_is_general(sk) || rs->acked_sacked)
		bbr_measure_extra_acked(b, sk, rs, bw);
}

/*
 * Packets to add to the window for ACK aggregation. None until the pipe is full: STARTUP's
 * cwnd_gain leaves enough room.
 */
static inline u32 bbr_ack_aggregation_cwnd(const struct bbr *b, const struct shell_sock *sk, u32 bw)
{
	if (!bbr_is_pipe_full(b, sk))
		return 0;
	return bbr_extra_acked_cwnd(b, sk, bw, PARAM(sk, extra_acked_gain));
}

#endif
