/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of ACKs of version 1, and how bbr_kind() tells them apart. Most steps of BBR deal with
 * rare things: losses, pauses, a policer, PROBE_RTT.
 *
 *	step				FAST_1		FAST_2		REGULAR
 *	invalid samples, pauses		skipped		skipped		skipped
 *	PROBE_RTT			skipped		skipped		skipped
 *	losses, recovery, policer	skipped		skipped		done
 *	mode				PROBE_BW	any other	any other
 */
#ifndef BBR_KIND_H
#define BBR_KIND_H

#include "bbr.h"
#include "common/kind.h"

#define BBR_REGULAR_FLAGS .idle_restart = 1, .has_seen_rtt = 1
#define BBR_LOSS_FLAGS \
	.prev_ca_state = 7, .packet_conservation = 1, .lt_is_sampling = 1, .lt_use_bw = 1
#define BBR_CYCLE_FLAGS .mode = 7, .full_bw_reached = 1

/* True if the connection is in this mode. */
static inline bool bbr_is_mode(const struct bbr *b, const struct shell_sock *sk, enum bbr_mode mode)
{
	if (sk->kind == SHELL_FAST_1)
		return mode == BBR_PROBE_BW;
	return (bbr_is_general(sk) || mode != BBR_PROBE_RTT) && b->mode == mode;
}

/* True once the bandwidth has stopped growing. */
static inline bool bbr_is_pipe_full(const struct bbr *b, const struct shell_sock *sk)
{
	return sk->kind == SHELL_FAST_1 || b->full_bw_reached;
}

/* True if a policer was detected: the long-term rate (lt_bw) is in use. */
static inline bool bbr_is_policed(const struct bbr *b, const struct shell_sock *sk)
{
	return !bbr_is_fast(sk) && b->lt_use_bw;
}

static inline bool bbr_is_valid_sample(const struct shell_rs *rs)
{
	return rs->delivered >= 0 && rs->interval_us > 0;
}

static inline bool bbr_is_min_rtt_expired(const struct bbr *b, const struct shell_sock *sk)
{
	return after(IN(sk, now_ms), b->min_rtt_stamp + PARAM(sk, min_rtt_win));
}

/*
 * True if has_seen_rtt is the only one of these flags that is set, and the mode is not PROBE_RTT.
 * One comparison checks both: PROBE_RTT is the last mode, 3, so adding 1 to the mode sets a bit that
 * no other mode reaches.
 */
static inline bool bbr_has_only_seen_rtt(const struct bbr *b, u32 flags)
{
	const u32 one_more = BBR_FLAGS(.mode = 1),
		  after_last = BBR_FLAGS(.mode = BBR_PROBE_RTT + 1);

	return ((b->flags + one_more) & (flags | after_last)) == BBR_FLAGS(.has_seen_rtt = 1);
}

/* Returns the kind of an ACK (enum shell_kind). */
static inline u8 bbr_kind(struct bbr *b, const struct shell_sock *sk, const struct shell_rs *rs)
{
	const u32 regular = BBR_FLAGS(BBR_REGULAR_FLAGS), loss = BBR_FLAGS(BBR_LOSS_FLAGS),
		  cycle = BBR_FLAGS(BBR_CYCLE_FLAGS);

	if (!rs->acked_sacked || !bbr_is_valid_sample(rs) || bbr_is_min_rtt_expired(b, sk))
		return SHELL_GENERAL;
	if (shell_is_open(sk) && !rs->losses) {
		if ((b->flags & (regular | loss | cycle)) ==
		    BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1, .has_seen_rtt = 1))
			return SHELL_FAST_1;
		if (bbr_has_only_seen_rtt(b, regular | loss))
			return SHELL_FAST_2;
	}
	return bbr_has_only_seen_rtt(b, regular) ? SHELL_REGULAR : SHELL_GENERAL;
}

#define bbr_kind bbr_kind

#endif
