/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kind of ACK is it? Most of version 3 is about what hardly ever happens: losses, marks, pauses, PROBE_RTT. This
 * decides the kind of an ACK once, before its first step (common/kind.h names them). A step may leave out only what would
 * change nothing for any such ACK; then whatever it is compiled for, the result is the same, bit for bit.
 */
#ifndef BBR_KIND_H
#define BBR_KIND_H

#include "startup.h"

#define BBR_CALM_FLAGS .idle_restart = 1, .has_seen_rtt = 1, .watched = 1
#define BBR_LOSS_FLAGS .prev_ca_state = 7, .loss_in_round = 1, .in_order = 1
#define BBR_CYCLE_FLAGS .mode = 3, .full_bw_reached = 1

/*
 * 24 bits. An interval or RTT has 17 seconds then, which few have, and probe_rtt_win at most an hour. Up to here a bandwidth times
 * RTT times BBR_UNIT has 64 bits.
 */
#define BBR_CALM_MAX 0xffffffu

/*
 * Did packets arrive, is the sample valid, is an RTT known, and does PROBE_RTT not begin? One comparison: each of these numbers
 * has 24 bits if so, and more if not, for what is below 0 wraps around.
 */
static inline bool bbr_is_sample_calm(const struct bbr *b, const struct bbr_sock *sk,
				      const struct bbr_rs *rs)
{
	u64 interval = rs->interval_us - 1;
	u32 acked = rs->acked_sacked - 1, delivered = rs->delivered;
	u32 left_ms = b->probe_rtt_min_stamp + PARAM(sk, probe_rtt_win) - IN(sk, now_ms);

	return (interval | acked | delivered | left_ms | b->min_rtt_us) <= BBR_CALM_MAX;
}

/*
 * The kind of an ACK that tells of no losses and marks: where in_order is set, as bbr_is_in_order() or bbr_is_clean() have found.
 * 0: nothing is known, as of any that a monitor has left a mark on (the shell is to clear it). Where ECN is not used, nothing was
 * marked before either.
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
		return likely(bbr_waits_in(b, sk, BBR_CRUISE) && !bbr_is_app_limited(b, rs)) ?
			       BBR_ORDINARY | BBR_CRUISING :
			       BBR_ORDINARY;
	if (flags == BBR_FLAGS(.mode = BBR_STARTUP, .has_seen_rtt = 1, .in_order = 1) &&
	    bbr_stays_in_startup(b, sk, rs) && !bbr_is_app_limited(b, rs))
		return BBR_CALM | BBR_LOSSLESS | BBR_STARTING;
	if ((flags & ~cycle) == BBR_FLAGS(.has_seen_rtt = 1, .in_order = 1) &&
	    b->mode != BBR_PROBE_RTT)
		return BBR_CALM | BBR_LOSSLESS;
	return 0;
}

/* Of an ordinary ACK that is not of CRUISE: is the next probe not due, and does the application not limit the flow? */
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
