/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACK aggregation. Wireless and cable links, and receivers with offloads, hold ACKs back and send them
 * all at once; a window of a few BDP runs dry in the meantime. So measure how many packets are ACKed
 * beyond what bw explains, and keep so many more in flight.
 */
#ifndef BBR_AGGREGATION_H
#define BBR_AGGREGATION_H

#include "model.h"

#define BBR_ACK_EPOCH_ACKED_MAX 0xfffffu /* 20 bits */
#define BBR_EXTRA_ACKED_WIN_RTTS_MAX 0x1f /* 5 bits */

/* The filter holds a maximum over one to two times extra_acked_win: two slots that take turns. */
static inline void bbr_rotate_extra_acked(struct bbr *b, const struct bbr_sock *sk)
{
	b->extra_acked_win_rtts =
		min_u32(BBR_EXTRA_ACKED_WIN_RTTS_MAX, b->extra_acked_win_rtts + 1);
	if (b->extra_acked_win_rtts < PARAM(sk, extra_acked_win))
		return;
	b->extra_acked_win_rtts = 0;
	b->extra_acked_win_idx = !b->extra_acked_win_idx;
	/* Two constant places: the verifier allows no computed index into icsk_ca_priv. */
	if (b->extra_acked_win_idx)
		b->extra_acked[1] = 0;
	else
		b->extra_acked[0] = 0;
}

static inline void bbr_update_ack_aggregation(struct bbr *b, const struct bbr_sock *sk,
					      const struct bbr_rs *rs, u32 bw)
{
	u32 expected, extra;

	if (!PARAM(sk, extra_acked_gain) || (!bbr_is_calm(sk) && !rs->acked_sacked))
		return;

	if (b->round_start)
		bbr_rotate_extra_acked(b, sk);

	expected =
		(u64)bw * stamp_us_delta(IN(sk, delivered_mstamp), b->ack_epoch_mstamp) / BW_UNIT;

	/* A burst is over when the ACKs are no longer ahead of bw; so is a very long epoch, which bw
	 * has left behind.
	 */
	if (b->ack_epoch_acked <= expected ||
	    b->ack_epoch_acked + rs->acked_sacked >= PARAM(sk, ack_epoch_max)) {
		b->ack_epoch_acked = 0;
		b->ack_epoch_mstamp = IN(sk, delivered_mstamp);
		expected = 0;
	}

	b->ack_epoch_acked =
		min_u32(BBR_ACK_EPOCH_ACKED_MAX, b->ack_epoch_acked + rs->acked_sacked);
	extra = min_u32(b->ack_epoch_acked - expected, IN(sk, cwnd));
	if (b->extra_acked_win_idx) {
		if (extra > b->extra_acked[1])
			b->extra_acked[1] = extra;
	} else {
		if (extra > b->extra_acked[0])
			b->extra_acked[0] = extra;
	}
}

/* Packets to add to the window for it. In STARTUP the gain leaves room enough. */
static inline u32 bbr_ack_aggregation_cwnd(const struct bbr *b, const struct bbr_sock *sk, u32 bw)
{
	u32 most;

	if (!bbr_is_pipe_full(b, sk))
		return 0;
	most = (u64)bw * PARAM(sk, extra_acked_max) / BW_UNIT;
	return min_u32(PARAM(sk, extra_acked_gain) * bbr_extra_acked(b) >> BBR_SCALE, most);
}

#endif
