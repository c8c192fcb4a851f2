/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Losses: what happens when a packet is marked lost, which the stack does before BBR sees the ACK
 * that reports it; and how the bounds and the window change over a recovery or a timeout.
 */
#ifndef BBR_RECOVERY_H
#define BBR_RECOVERY_H

#include "probe_bw.h"

/* The loss round begins with its first loss. */
static inline void bbr_note_loss(struct bbr *b, const struct shell_sock *sk)
{
	if (!b->loss_in_round)
		b->loss_round_delivered = IN(sk, delivered);
	b->loss_in_round = 1;
	b->loss_in_cycle = 1;
}

/*
 * The inflight at which losses crossed loss_thresh, of a flight whose last `packets` were lost.
 * Before these, it had P packets, L of them lost. Solves (L + x) / (P + x) = thresh for x, with
 * thresh * P rounded up to whole packets. Returns P + x.
 */
static inline u32 bbr_inflight_of_lost(const struct shell_sock *sk, const struct bbr_flight *flight,
				       u32 packets)
{
	u32 thresh = PARAM(sk, loss_thresh);
	s32 before = flight->tx_in_flight - packets, lost = flight->lost - packets;
	u32 allowed, within = 0;

	if (before < 0 || lost < 0)
		return BBR_COUNT_NONE; /* more lost than the flight had: nothing is known */
	allowed = ((u64)(u32)before * thresh + BBR_UNIT - 1) >> BBR_SCALE;
	if ((u32)lost < allowed)
		within = quotient((u64)(allowed - lost) << BBR_SCALE, BBR_UNIT - thresh);
	return before + within;
}

/*
 * A packet was marked lost, which counts as `packets`. If a probe sent it, there is no need to wait
 * for an ACK that reports the same: its own flight shows how much was too much.
 */
static inline void bbr_lose(struct bbr *b, struct shell_sock *sk, const struct bbr_flight *flight,
			    u32 packets)
{
	struct bbr_flight crossing = *flight;

	bbr_note_loss(b, sk);
	if (!b->probe_samples || !bbr_is_loss_too_high(sk, flight))
		return;
	crossing.tx_in_flight = bbr_inflight_of_lost(sk, flight, packets);
	bbr_handle_too_high(b, sk, &crossing, BBR_R_PROBE_LOSS);
}

/*
 * A tail loss probe has repaired a loss: the last packet of a flight, which was never marked lost.
 * Known of its flight: how much was delivered, that one packet was lost, and whether the
 * application limited it.
 */
static inline void bbr_lose_tail(struct bbr *b, struct shell_sock *sk, bool is_app_limited)
{
	struct bbr_flight flight = {
		.tx_in_flight = b->inflight_latest + 1,
		.lost = 1,
		.is_app_limited = is_app_limited,
	};

	if (!PARAM(sk, tail_loss))
		return;
	bbr_note_loss(b, sk);
	if (b->probe_samples && bbr_is_loss_too_high(sk, &flight))
		bbr_handle_too_high(b, sk, &flight, BBR_R_PROBE_LOSS);
}

static inline void bbr_restore_cwnd(struct bbr *b, struct shell_sock *sk)
{
	bbr_put_cwnd(sk, max_u32(IN(sk, cwnd), b->prior_cwnd));
}

/*
 * Recovery begins: saves the window and the bounds to restore. Returns ssthresh unchanged: BBR does
 * not use it.
 */
static inline u32 bbr_enter_recovery(struct bbr *b, const struct shell_sock *sk)
{
	struct bbr_more *more = sk->more;

	bbr_save_cwnd(b, sk);
	if (more) {
		more->undo_bw_lo = b->bw_lo;
		more->undo_inflight_lo = b->inflight_lo;
		more->undo_inflight_hi = b->inflight_hi;
	}
	return IN(sk, ssthresh);
}

/*
 * The recovery was spurious: nothing was lost. Undoes what followed from it. Returns the window to
 * restore.
 */
static inline u32 bbr_undo(struct bbr *b, const struct shell_sock *sk)
{
	const struct bbr_more *more = sk->more;

	bbr_reset_full_bw(b, 0);
	b->loss_in_round = 0;
	if (more) {
		b->bw_lo = max_u32(b->bw_lo, more->undo_bw_lo);
		b->inflight_lo = max_u32(b->inflight_lo, more->undo_inflight_lo);
		b->inflight_hi = max_u32(b->inflight_hi, more->undo_inflight_hi);
	}
	b->try_fast_path = 0;
	return b->prior_cwnd;
}

/*
 * The stack enters ca_state. A timeout (TCP_CA_Loss) may mean another path, because the stack then
 * chooses another hash: search for its bandwidth again. inflight_lo starts from the window before
 * the timeout; the stack's own cut, to 1 packet, ends with the recovery from it.
 */
static inline void bbr_change_state(struct bbr *b, struct shell_sock *sk, u8 ca_state)
{
	if (ca_state == TCP_CA_Loss) {
		b->prev_ca_state = TCP_CA_Loss;
		bbr_reset_full_bw(b, 0);
		if (!bbr_is_probing_bw(b, sk) && b->inflight_lo == BBR_COUNT_NONE)
			b->inflight_lo = bbr_count(max_u32(IN(sk, cwnd), b->prior_cwnd));
	} else if (b->prev_ca_state == TCP_CA_Loss) {
		bbr_restore_cwnd(b, sk);
		b->try_fast_path = 0;
	}
}

#endif
