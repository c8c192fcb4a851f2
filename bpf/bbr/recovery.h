/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loss recovery. A loss does not change BBR's model, but a sender that has just lost packets does
 * not know whether its model still holds. So for one round BBR conserves packets (sends one for
 * each one that leaves the network), then grows the window at most like slow start, and after
 * recovery restores the last window known to be good (prior_cwnd).
 */
#ifndef BBR_RECOVERY_H
#define BBR_RECOVERY_H

#include "kind.h"

#include "common/window.h"

/*
 * With ignore_loss: returns the window before it grows. Restores prior_cwnd if the stack cut the
 * window at a timeout, or BBR did before ignore_loss was set.
 */
static inline u32 bbr_cwnd_despite_loss(struct bbr *b, const struct shell_sock *sk, u32 cwnd)
{
	bool was_cut = b->prev_ca_state >= TCP_CA_Recovery;

	b->packet_conservation = 0;
	b->prev_ca_state = IN(sk, ca_state);
	return was_cut ? max_u32(cwnd, b->prior_cwnd) : cwnd;
}

/*
 * Sets *cwnd to the window before it grows. Returns true during packet conservation: then it must
 * not grow.
 */
static inline bool bbr_set_cwnd_to_recover_or_restore(struct bbr *b, const struct shell_sock *sk,
						      const struct shell_rs *rs, u32 *cwnd)
{
	u32 prev_state, state, window = *cwnd;

	if (bbr_is_fast(sk))
		return false;

	if (OPTION(sk, ignore_loss)) {
		*cwnd = bbr_cwnd_despite_loss(b, sk, window);
		return false;
	}

	prev_state = b->prev_ca_state;
	state = IN(sk, ca_state);
	/*
	 * An ACK of P packets may release up to 2 P packets. Subtract the losses here; what was
	 * ACKed is added when the window grows.
	 */
	if (rs->losses > 0) {
		s32 left = window - (u32)rs->losses;

		window = left > 1 ? left : 1;
	}

	if (state == TCP_CA_Recovery && prev_state != TCP_CA_Recovery) {
		b->packet_conservation = 1;
		b->next_round_delivered = IN(sk, delivered); /* conserve for one round from here */
		/* Do not send now what the application had left unused of the window. */
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
