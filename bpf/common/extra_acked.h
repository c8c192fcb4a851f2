/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far ACKs come ahead of what bw explains: the measurement, and the filter that keeps its
 * maximum. Every BBR has it.
 */
#ifndef COMMON_EXTRA_ACKED_H
#define COMMON_EXTRA_ACKED_H

#include "bbr.h"

#define BBR_ACK_EPOCH_ACKED_MAX 0xfffffu /* 20 bits */
#define BBR_EXTRA_ACKED_WIN_RTTS_MAX 0x1f /* 5 bits */

static inline u16 bbr_extra_acked(const struct bbr *b)
{
	return max_u32(b->extra_acked[0], b->extra_acked[1]);
}

/* Starts the measurement again: for a new connection, or after a pause. */
static inline void bbr_start_ack_epoch(struct bbr *b, const struct shell_sock *sk)
{
	bbr_set_ack_epoch(b, IN(sk, tcp_mstamp));
	b->ack_epoch_acked = 0;
}

static inline void bbr_reset_extra_acked(struct bbr *b, const struct shell_sock *sk)
{
	bbr_start_ack_epoch(b, sk);
	b->extra_acked_win_rtts = 0;
	b->extra_acked[0] = 0;
	b->extra_acked[1] = 0;
}

/*
 * A round begins. win: the window in rounds. The filter holds a maximum over one to two windows: that of the current window,
 * and that of the one before. (Mainline and Google leave them where they are and note which one is
 * current, which each ACK would have to check.)
 */
static inline void bbr_rotate_extra_acked(struct bbr *b, u32 win)
{
	b->extra_acked_win_rtts =
		min_u32(BBR_EXTRA_ACKED_WIN_RTTS_MAX, b->extra_acked_win_rtts + 1);
	if (b->extra_acked_win_rtts < win)
		return;
	b->extra_acked_win_rtts = 0;
	b->extra_acked[1] = b->extra_acked[0];
	b->extra_acked[0] = 0;
}

/* Keeps the maximum, but no more than the window. */
static inline void bbr_note_extra_acked(struct bbr *b, const struct shell_sock *sk, u32 extra)
{
	if (extra > b->extra_acked[0])
		b->extra_acked[0] = max_u32(b->extra_acked[0], min_u32(extra, IN(sk, cwnd)));
}

static inline void bbr_measure_extra_acked(struct bbr *b, const struct shell_sock *sk,
					   const struct shell_rs *rs, u32 bw)
{
	u64 now = IN(sk, delivered_mstamp);
	u32 expected = (u64)bw * stamp_us_delta(now, b->ack_epoch_mstamp) / BW_UNIT;
	u32 acked = b->ack_epoch_acked + rs->acked_sacked;

	/*
	 * A burst is over when the ACKs are no longer ahead of bw. So is a very long epoch, because
	 * bw may have changed since it began. (Up to ack_epoch_max it fits the 20 bits.)
	 */
	if (b->ack_epoch_acked <= expected || acked >= PARAM(sk, ack_epoch_max)) {
		bbr_set_ack_epoch(b, now);
		acked = min_u32(BBR_ACK_EPOCH_ACKED_MAX, rs->acked_sacked);
		expected = 0;
	}

	b->ack_epoch_acked = acked;
	bbr_note_extra_acked(b, sk, acked - expected);
}

/* Packets to add to the window, so that it does not run dry while ACKs are held back. */
static inline u32 bbr_extra_acked_cwnd(const struct bbr *b, const struct shell_sock *sk, u32 bw,
				       u32 gain)
{
	u32 most = (u64)bw * PARAM(sk, extra_acked_max) / BW_UNIT;

	return min_u32(gain * bbr_extra_acked(b) >> BBR_SCALE, most);
}

#endif
