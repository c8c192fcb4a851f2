/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kind of ACK is it? Most steps of BBR are about what hardly ever happens: losses, pauses, a policer,
 * PROBE_RTT. What can be said of an ACK before its first step is said here, once, and bbr_main() is compiled for it
 * (bbr.h has the kinds and their names). A step may leave out only what would change nothing for any such ACK; then
 * whatever it is compiled for, the result is the same, bit for bit.
 */
#ifndef BBR_KIND_H
#define BBR_KIND_H

#include "model.h"
#include "probe_rtt.h"

/* So many of struct bbr's flags as one word, to be compared at once. */
#define BBR_FLAGS(...) (((struct bbr){ __VA_ARGS__ }).flags)

#define BBR_CALM_FLAGS .idle_restart = 1, .has_seen_rtt = 1
#define BBR_LOSS_FLAGS \
	.prev_ca_state = 7, .packet_conservation = 1, .lt_is_sampling = 1, .lt_use_bw = 1
#define BBR_CYCLE_FLAGS .mode = 7, .full_bw_reached = 1

/* A valid sample of delivered packets, and PROBE_RTT does not begin? */
static inline bool bbr_is_sample_calm(const struct bbr *b, const struct bbr_sock *sk,
				      const struct bbr_rs *rs)
{
	return rs->acked_sacked && bbr_is_valid_sample(rs) && !bbr_is_min_rtt_expired(b, sk);
}

/* Nor is there one already, nor a pause that ends, and the pacing rate stems from a measured RTT? */
static inline bool bbr_is_ack_calm(const struct bbr *b, const struct bbr_sock *sk,
				   const struct bbr_rs *rs)
{
	return (b->flags & BBR_FLAGS(BBR_CALM_FLAGS)) == BBR_FLAGS(.has_seen_rtt = 1) &&
	       b->mode != BBR_PROBE_RTT && bbr_is_sample_calm(b, sk, rs);
}

/* Is nothing lost, by this ACK or before it, that anybody remembers? */
static inline bool bbr_is_ack_lossless(const struct bbr *b, const struct bbr_sock *sk,
				       const struct bbr_rs *rs)
{
	return !(b->flags & BBR_FLAGS(BBR_LOSS_FLAGS)) && IN(sk, ca_state) == TCP_CA_Open &&
	       !rs->losses;
}

/* Both, in PROBE_BW: all flags in one comparison, the shell's mark `watched` as well. */
static inline bool bbr_is_ack_ordinary(const struct bbr *b, const struct bbr_sock *sk,
				       const struct bbr_rs *rs)
{
	u32 mask = BBR_FLAGS(BBR_CALM_FLAGS, BBR_LOSS_FLAGS, BBR_CYCLE_FLAGS, .watched = 1);

	return (b->flags & mask) ==
		       BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1, .has_seen_rtt = 1) &&
	       IN(sk, ca_state) == TCP_CA_Open && !rs->losses && bbr_is_sample_calm(b, sk, rs);
}

#endif
