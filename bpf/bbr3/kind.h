/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kind of an ACK. Most of version 3 deals with rare things: losses, marks, pauses, PROBE_RTT.
 * bbr_kind() decides the kind of an ACK once, before its first step (common/kind.h lists them). A
 * step may skip only what would change nothing for any ACK of the kind. So the result is the same,
 * bit for bit, whichever kind it is compiled for.
 */
#ifndef BBR_KIND_H
#define BBR_KIND_H

#include "startup.h"

#define BBR_CALM_FLAGS .idle_restart = 1, .has_seen_rtt = 1, .watched = 1
#define BBR_LOSS_FLAGS .prev_ca_state = 7, .loss_in_round = 1, .in_order = 1
#define BBR_CYCLE_FLAGS .mode = 3, .full_bw_reached = 1

/*
 * 24 bits. That is 17 seconds for an interval or RTT, which few exceed, and more than the hour that
 * probe_rtt_win may have. Up to here bandwidth * RTT * BBR_UNIT fits 64 bits.
 */
#define BBR_CALM_MAX 0xffffffu

/*
 * Were packets ACKed, is the sample valid, is an RTT known, and does PROBE_RTT not begin? One
 * comparison checks all: if so each of these numbers has 24 bits, and if not more, because values
 * below 0 wrap around.
 */
static inline bool bbr_is_sample_calm(const struct bbr *b, const struct bbr_sock *sk,
				      const struct bbr_rs *rs)
{
	u64 interval = rs->interval_us - 1;
	u32 acked = rs->acked_sacked - 1, delivered = rs->delivered;
	u32 left_ms = b->probe_rtt_min_stamp + PARAM(sk, probe_rtt_win) - IN(sk, now_ms);

	return (interval | acked | delivered | left_ms | b->min_rtt_us) <= BBR_CALM_MAX;
}

/* The kind of an ACK that stays in PROBE_BW's cycle. */
static inline u8 bbr_kind_in_cycle(struct bbr *b, const struct bbr_sock *sk,
				   const struct bbr_rs *rs)
{
	if (likely(bbr_waits_in(b, sk, BBR_CRUISE) && !bbr_is_app_limited(b, rs)))
		return BBR_ORDINARY | BBR_CRUISING;
	return !bbr_is_app_limited(b, rs) && bbr_stays_in_down(b, sk, rs) ?
		       BBR_ORDINARY | BBR_LOWERING :
		       BBR_ORDINARY;
}

/*
 * Returns the kind of an ACK that reports no losses and no marks: in_order is set, and
 * bbr_stays_in_order() or bbr_is_clean() was true. 0: nothing is known, for instance if a monitor
 * has marked the connection (the shell must clear the mark). Without ECN, nothing was marked before
 * either.
 */
static inline u8 bbr_kind(struct bbr *b, const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	const u64 calm = BBR_FLAGS(BBR_CALM_FLAGS), loss = BBR_FLAGS(BBR_LOSS_FLAGS),
		  cycle = BBR_FLAGS(BBR_CYCLE_FLAGS);
	u64 flags = b->flags & (calm | loss | cycle);

	if (!bbr_is_sample_calm(b, sk, rs) || !bbr_is_open(sk))
		return 0;
	if (likely(flags == BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1, .has_seen_rtt = 1,
				      .in_order = 1)))
		return bbr_kind_in_cycle(b, sk, rs);
	if (flags == BBR_FLAGS(.mode = BBR_STARTUP, .has_seen_rtt = 1, .in_order = 1) &&
	    bbr_stays_in_startup(b, sk, rs) && !bbr_is_app_limited(b, rs))
		return BBR_CALM | BBR_LOSSLESS | BBR_STARTING;
	if ((flags & ~cycle) == BBR_FLAGS(.has_seen_rtt = 1, .in_order = 1) &&
	    b->mode != BBR_PROBE_RTT)
		return BBR_CALM | BBR_LOSSLESS;
	return 0;
}

/*
 * For an ordinary ACK that is neither BBR_CRUISING nor BBR_LOWERING: is this DOWN, with the next
 * probe not due and the flow not app-limited?
 */
static inline bool bbr_waits_in_down(struct bbr *b, const struct bbr_sock *sk,
				     const struct bbr_rs *rs)
{
	return bbr_waits_in(b, sk, BBR_DOWN) && !bbr_is_app_limited(b, rs);
}

/* Is nothing lost, nothing marked, and no tail loss probe ACKed? */
static inline bool bbr_is_clean(const struct bbr_sock *sk, const struct bbr_rs *rs,
				const struct bbr_ack *ack)
{
	return !IN(sk, uses_ecn) && !rs->losses && ack->flight.lost <= 0 &&
	       ack->delivered_ce <= 0 && !ack->acks_tlp;
}

#endif
