/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kind of an ACK. Most steps of BBR deal with rare things: losses, pauses, a policer,
 * PROBE_RTT. bbr_kind() decides the kind of an ACK once, before its first step, and bbr_main() is
 * compiled for each kind (common/kind.h lists them). A step may skip only what would change nothing
 * for any ACK of the kind. So the result is the same, bit for bit, whichever kind it is compiled
 * for.
 */
#ifndef BBR_KIND_H
#define BBR_KIND_H

#include "model.h"
#include "probe_rtt.h"

#define BBR_CALM_FLAGS(sk) .idle_restart = 1, .has_seen_rtt = 1, .watched = !(sk)->is_reported
#define BBR_LOSS_FLAGS \
	.prev_ca_state = 7, .packet_conservation = 1, .lt_is_sampling = 1, .lt_use_bw = 1
#define BBR_CYCLE_FLAGS .mode = 7, .full_bw_reached = 1

/* Were packets ACKed, is the sample valid, and does PROBE_RTT not begin? */
static inline bool bbr_is_sample_calm(const struct bbr *b, const struct bbr_sock *sk,
				      const struct bbr_rs *rs)
{
	return rs->acked_sacked && bbr_is_valid_sample(rs) && !bbr_is_min_rtt_expired(b, sk);
}

/* Is the connection in PROBE_BW, with the pipe full? */
static inline bool bbr_is_cycling(const struct bbr *b)
{
	return (b->flags & BBR_FLAGS(BBR_CYCLE_FLAGS)) ==
	       BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1);
}

/*
 * Is has_seen_rtt the only one of these flags that is set, and the mode not PROBE_RTT? One
 * comparison checks both: PROBE_RTT is the last mode, 3, so adding 1 to the mode sets a bit that no
 * other mode reaches.
 */
static inline bool bbr_has_only_seen_rtt(const struct bbr *b, u32 flags)
{
	const u32 one_more = BBR_FLAGS(.mode = 1),
		  after_last = BBR_FLAGS(.mode = BBR_PROBE_RTT + 1);

	return ((b->flags + one_more) & (flags | after_last)) == BBR_FLAGS(.has_seen_rtt = 1);
}

/*
 * Returns the kind of the ACK. 0: nothing is known, for instance if a monitor has marked the
 * connection but this ACK is not reported (the shell must clear the mark).
 */
static inline u8 bbr_kind(const struct bbr *b, const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	const u32 calm = BBR_FLAGS(BBR_CALM_FLAGS(sk)), loss = BBR_FLAGS(BBR_LOSS_FLAGS),
		  cycle = BBR_FLAGS(BBR_CYCLE_FLAGS);

	if (!bbr_is_sample_calm(b, sk, rs))
		return 0;
	if (bbr_is_open(sk) && !rs->losses) {
		if ((b->flags & (calm | loss | cycle)) ==
		    BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1, .has_seen_rtt = 1))
			return BBR_ORDINARY;
		if (bbr_has_only_seen_rtt(b, calm | loss))
			return BBR_CALM | BBR_LOSSLESS;
	}
	if (bbr_has_only_seen_rtt(b, calm))
		return BBR_CALM;
	return 0;
}

#endif
