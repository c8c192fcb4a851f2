/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loss recovery. BBR's model does not react to a loss, but a sender that just lost packets does not
 * know whether its model still holds: so for one round it conserves packets (one out for one in),
 * afterwards grows at most like slow start, and when recovery is over it returns to the last window
 * that was known to be good.
 */
#ifndef BBR_RECOVERY_H
#define BBR_RECOVERY_H

#include "bbr.h"

#include "common/window.h"

/*
 * With ignore_loss: the window before it grows. What the stack made of it at a timeout, or we did before
 * losses were ignored, is put back.
 */
static inline u32 bbr_cwnd_despite_loss(struct bbr *b, const struct bbr_sock *sk, u32 cwnd)
{
	bool was_cut = b->prev_ca_state >= TCP_CA_Recovery;

	b->packet_conservation = 0;
	b->prev_ca_state = IN(sk, ca_state);
	return was_cut ? max_u32(cwnd, b->prior_cwnd) : cwnd;
}

/*
 * The window before it grows, in *cwnd. True while packets are conserved: then it must not grow.
 */
static inline bool bbr_set_cwnd_to_recover_or_restore(struct bbr *b, const struct bbr_sock *sk,
						      const struct bbr_rs *rs, u32 *cwnd)
{
	u32 prev_state, state, window = *cwnd;

	if (bbr_is_lossless(sk))
		return false;

	if (OPTION(sk, ignore_loss)) {
		*cwnd = bbr_cwnd_despite_loss(b, sk, window);
		return false;
	}

	prev_state = b->prev_ca_state;
	state = IN(sk, ca_state);
	/* An ACK of P packets may release 2 P: take away what is lost here, what was ACKed is added
	 * when the window grows.
	 */
	if (rs->losses > 0) {
		s32 left = window - (u32)rs->losses;

		window = left > 1 ? left : 1;
	}

	if (state == TCP_CA_Recovery && prev_state != TCP_CA_Recovery) {
		b->packet_conservation = 1;
		b->next_round_delivered = IN(sk, delivered); /* conserve for one round from here */
		/* What the application left unused of the window is not to be sent now. */
		window = IN(sk, inflight) + rs->acked_sacked;
	} else if (prev_state >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
		window = max_u32(window, b->prior_cwnd);
		b->packet_conservation = 0;
	}
	if (state != prev_state)
		b->prev_ca_state = state;

	if (unlikely(b->packet_conservation)) {
		*cwnd = max_u32(window, IN(sk, inflight) + rs->acked_sacked);
		return true;
	}
	*cwnd = window;
	return false;
}

#endif
