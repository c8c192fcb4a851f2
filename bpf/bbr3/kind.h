/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of ACKs of version 3, and how bbr_kind() tells them apart. Most of version 3 deals with
 * rare things: losses, marks, pauses, PROBE_RTT.
 *
 *	step				FAST_1		FAST_2		REGULAR
 *	invalid samples, pauses		skipped		skipped		skipped
 *	PROBE_RTT			skipped		skipped		skipped
 *	ECN				skipped		skipped		skipped
 *	losses, cuts of lower bounds	skipped		skipped		done
 *	probes, the plateau		skipped		skipped		done
 *	phase				CRUISE, stays	DOWN, stays	any
 *	flight of the packet		in order,	in order	in order,
 *					or not read			or not read
 *
 * The fast paths are for a flow in PROBE_BW which waits for its next probe, while nothing is lost.
 * An ACK is REGULAR or FAST_1 if its packets arrive in order, and in a recovery if no rule reads
 * the flight of its packet. In none of the three is ECN in use.
 */
#ifndef BBR_KIND_H
#define BBR_KIND_H

#include "bbr.h"
#include "common/kind.h"
#include "common/rate.h"

#define BBR_REGULAR_FLAGS .idle_restart = 1, .has_seen_rtt = 1
#define BBR_LOSS_FLAGS .prev_ca_state = 7, .loss_in_round = 1, .in_order = 1
#define BBR_CYCLE_FLAGS .mode = 3, .full_bw_reached = 1

/* True if the connection is in this mode. */
static inline bool bbr_is_mode(const struct bbr *b, const struct shell_sock *sk, enum bbr_mode mode)
{
	if (bbr_is_fast(sk))
		return mode == BBR_PROBE_BW;
	return (bbr_is_general(sk) || mode != BBR_PROBE_RTT) && b->mode == mode;
}

/* The phase, if the mode is PROBE_BW. */
static inline u8 bbr_phase_of(const struct bbr *b, const struct shell_sock *sk)
{
	if (bbr_is_fast(sk))
		return sk->kind == SHELL_FAST_1 ? BBR_CRUISE : BBR_DOWN;
	return b->cycle_idx;
}

/* True if the connection is in this phase of PROBE_BW. */
static inline bool bbr_is_phase(const struct bbr *b, const struct shell_sock *sk,
				enum bbr_phase phase)
{
	return bbr_is_mode(b, sk, BBR_PROBE_BW) && bbr_phase_of(b, sk) == phase;
}

/* True once the bandwidth has stopped growing. */
static inline bool bbr_is_pipe_full(const struct bbr *b, const struct shell_sock *sk)
{
	return bbr_is_fast(sk) || b->full_bw_reached;
}

/* True if the BDP has room for bursts: bbr_is_roomy(). */
static inline bool bbr_is_bdp_roomy(const struct shell_sock *sk)
{
	return sk->kind == SHELL_FAST_2;
}

/* True if the ACK is a bandwidth sample. An ACK that delivers nothing new is none. */
static inline bool bbr_is_valid_sample(const struct shell_sock *sk, const struct shell_rs *rs)
{
	return !bbr_is_general(sk) || (rs->interval_us > 0 && rs->acked_sacked);
}

/* Number of packets marked lost since the last callback. */
static inline u32 bbr_newly_lost(const struct bbr *b, const struct shell_sock *sk)
{
	return (IN(sk, lost) - b->last_lost) & ((1u << BBR_MARK_BITS) - 1);
}

/*
 * 24 bits. That is 17 seconds for an interval or RTT, which few exceed, and more than the hour that
 * probe_rtt_win may have. Up to here bandwidth * RTT * BBR_UNIT fits 64 bits.
 */
#define BBR_REGULAR_MAX 0xffffffu

/*
 * True if packets were ACKed, the sample is valid, an RTT is known, and PROBE_RTT does not begin.
 * One comparison checks all: if so each of these numbers has 24 bits, and if not more, because
 * values below 0 wrap around.
 */
static inline bool bbr_is_sample_regular(const struct bbr *b, const struct shell_sock *sk,
					 const struct shell_rs *rs)
{
	u64 interval = rs->interval_us - 1;
	u32 acked = rs->acked_sacked - 1, delivered = rs->delivered;
	u32 left_ms = b->probe_rtt_min_stamp + PARAM(sk, probe_rtt_win) - IN(sk, now_ms);

	return (interval | acked | delivered | left_ms | b->min_rtt_us) <= BBR_REGULAR_MAX;
}

/*
 * True if packets continue to arrive in order with none lost; b->in_order is the same for the ACKs
 * before. Then the whole flight of the packet was delivered since it was sent, and none of it was
 * lost. (No recovery can be under way: its losses belong to the flight until it ends.) Reordering
 * may come again, and needs a history from before it. in_order is never set without the second part
 * of the state, nor with ECN, which needs that part as well. If the kernel knows the flight, its
 * value counts.
 */
static inline bool bbr_stays_in_order(const struct bbr *b, const struct shell_sock *sk,
				      const struct shell_rs *rs)
{
	if (IN(sk, has_flight) && (RS(rs, lost) || RS(rs, is_acking_tlp_retrans_seq)))
		return false;
	return !(IN(sk, reord_seen) | IN(sk, sacked_out) | IN(sk, tlp_high_seq) |
		 bbr_newly_lost(b, sk));
}

/*
 * True in this phase (DOWN or CRUISE) with no probe left to ACK, and no search for the full
 * bandwidth.
 */
static inline bool bbr_is_quiet_in(const struct bbr *b, enum bbr_phase phase)
{
	return b->cycle_idx == phase && b->acks == BBR_ACKS_INIT && b->full_bw_now && !b->new_gains;
}

/*
 * True if the next probe is not due whatever this ACK reports. The ACK may begin a round, so that
 * one counts. bdp: a lower limit of the BDP when the phase is updated. Until then cwnd stays, so
 * the target is at least the value that is compared here.
 */
static inline bool bbr_is_probe_far(const struct bbr *b, const struct shell_sock *sk, u64 bdp)
{
	u32 rounds = b->rounds_since_probe + 1;

	return rounds < PARAM(sk, probe_max_rounds) && rounds < IN(sk, cwnd) && rounds < bdp &&
	       IN(sk, tcp_mstamp) <= b->cycle_mstamp + b->probe_wait_us;
}

/*
 * True if CRUISE goes on. Until the phase is updated, min_rtt_us stays, and bw can only rise, with
 * its maximum. So the BDP does not fall. (With the RTT of a regular sample the product does not
 * overflow.)
 */
static inline bool bbr_stays_in_cruise(const struct bbr *b, const struct shell_sock *sk)
{
	u64 bw = min_u32(b->bw_hi[1], b->bw_lo); /* at most bbr_bw(b) */

	return bbr_is_quiet_in(b, BBR_CRUISE) &&
	       bbr_is_probe_far(b, sk, bw * b->min_rtt_us >> BW_SCALE);
}

/*
 * True if a target of `bdp` packets has room for all that bbr_quantization_budget() would raise it
 * to. Then the target is the BDP.
 */
static inline bool bbr_is_roomy(const struct bbr *b, const struct shell_sock *sk, u64 bdp)
{
	u32 bursts = PARAM(sk, tso_budget);

	return bdp >= PARAM(sk, cwnd_min_target) && bdp >= bursts * IN(sk, min_tso_segs) &&
	       bdp * IN(sk, mss) >= bursts * bbr_burst_at_most(b, sk);
}

/* True if this ACK may raise the rate of DOWN, and so the burst that bbr_is_roomy() measures. */
static inline bool bbr_may_raise_rate(const struct shell_sock *sk, u64 bw)
{
	u64 rate = bbr_rate_bytes_per_sec(sk, bw, PARAM_AT(sk, probe_bw_gains, BBR_DOWN));

	return bbr_limit_rate(sk, rate) > IN(sk, pacing_rate);
}

/*
 * True if DOWN goes on: on a path of a few bursts it lasts until the next probe. First, neither the
 * minimum of RTT nor the maximum of bandwidth changes, and nothing bounds the bandwidth. Then the
 * BDP is known before the ACK's first step. If it is roomy, it is the target. While more than that
 * will be in the network at the EDT, bbr_is_time_to_cruise() is false, whatever the headroom is.
 * (That function may add a burst. A count of 24 bits does not wrap around by that.)
 *
 * READ_AGAIN() keeps clang from holding values in registers, which an ACK in CRUISE would pay for:
 * it is compiled into the same function.
 */
static inline bool bbr_stays_in_down(const struct bbr *b, const struct shell_sock *sk,
				     const struct shell_rs *rs)
{
	u64 bw, bdp, edt_ns, gone = 0;

	READ_AGAIN();
	if (!bbr_is_quiet_in(b, BBR_DOWN) || (u64)rs->rtt_us < b->probe_rtt_min_us ||
	    b->probe_rtt_min_us < b->min_rtt_us ||
	    (u32)rs->delivered * BW_UNIT > (u64)b->bw_hi[1] * rs->interval_us)
		return false;
	READ_AGAIN();
	bw = bbr_max_bw(b);
	if (bw > b->bw_lo)
		return false;
	edt_ns = IN(sk, tcp_wstamp_ns);
	if (edt_ns > IN(sk, tcp_clock_cache))
		gone = bw * quotient(edt_ns - IN(sk, tcp_clock_cache), NSEC_PER_USEC) >> BW_SCALE;
	bdp = (bw * b->min_rtt_us + BW_UNIT - 1) / BW_UNIT;
	if (rs->prior_in_flight > BBR_COUNT_NONE || rs->prior_in_flight <= gone + bdp)
		return false;
	READ_AGAIN();
	return !bbr_may_raise_rate(sk, bw) && bbr_is_probe_far(b, sk, bdp) &&
	       bbr_is_roomy(b, sk, bdp);
}

/*
 * True if a rule may read the flight of an ACK. In TCP_CA_Open in_order depends on it, and with ECN
 * the next probe does. Elsewhere STARTUP judges it at the end of a loss round. Otherwise it could
 * only raise inflight_hi, unless a probe sent it. Without a known inflight_hi it cannot. In DOWN
 * and CRUISE, once the probe's ACKs are in, the flight of a packet ACKed in a recovery is not above
 * it: the packet was sent within a window that inflight_hi bounds. (Google's recordings have 42,562
 * such ACKs. None raises it.)
 */
static inline bool bbr_needs_flight(const struct bbr *b, const struct shell_sock *sk,
				    const struct shell_rs *rs)
{
	if (IN(sk, has_flight) || IN(sk, uses_ecn) || shell_is_open(sk) || b->probe_samples)
		return true;
	switch (b->mode) {
	case BBR_STARTUP:
		return b->full_bw_reached || !before(rs->prior_delivered, b->loss_round_delivered);
	case BBR_DRAIN:
		return b->inflight_hi != BBR_COUNT_NONE || !b->full_bw_reached;
	case BBR_PROBE_BW:
		if (b->cycle_idx == BBR_REFILL || b->cycle_idx == BBR_UP || !b->full_bw_reached)
			return true;
		return b->inflight_hi != BBR_COUNT_NONE &&
		       (b->acks != BBR_ACKS_INIT || IN(sk, ca_state) < TCP_CA_Recovery);
	default:
		return true;
	}
}

/* The kind of an ACK with a regular sample in TCP_CA_Open. */
static inline u8 bbr_kind_if_open(struct bbr *b, const struct shell_sock *sk,
				  const struct shell_rs *rs)
{
	const u64 cycle = BBR_FLAGS(BBR_CYCLE_FLAGS);
	u64 flags = b->flags & BBR_FLAGS(BBR_REGULAR_FLAGS, BBR_LOSS_FLAGS, BBR_CYCLE_FLAGS);

	if (!bbr_stays_in_order(b, sk, rs))
		return SHELL_GENERAL;
	if (likely(flags == BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1, .has_seen_rtt = 1,
				      .in_order = 1))) {
		if (likely(bbr_stays_in_cruise(b, sk) && !shell_is_app_limited(b, sk, rs)))
			return SHELL_FAST_1;
		return !shell_is_app_limited(b, sk, rs) && bbr_stays_in_down(b, sk, rs) ?
			       SHELL_FAST_2 :
			       SHELL_REGULAR;
	}
	return (flags & ~cycle) == BBR_FLAGS(.has_seen_rtt = 1, .in_order = 1) &&
			       b->mode != BBR_PROBE_RTT ?
		       SHELL_REGULAR :
		       SHELL_GENERAL;
}

/*
 * True if a recovery goes on, and CRUISE with it: nothing was lost since the last callback, and no
 * loss round with losses ends.
 */
static inline bool bbr_stays_in_recovery(struct bbr *b, const struct shell_sock *sk,
					 const struct shell_rs *rs)
{
	u64 flags = b->flags & BBR_FLAGS(BBR_CYCLE_FLAGS, .in_order = 1);

	return flags == BBR_FLAGS(.mode = BBR_PROBE_BW, .full_bw_reached = 1) &&
	       b->prev_ca_state == IN(sk, ca_state) && !(bbr_newly_lost(b, sk) | rs->losses) &&
	       (!b->loss_in_round || before(rs->prior_delivered, b->loss_round_delivered)) &&
	       bbr_stays_in_cruise(b, sk) && !shell_is_app_limited(b, sk, rs);
}

/* The same outside of TCP_CA_Open. An ACK that stays in order has the flight of one in order. */
static inline u8 bbr_kind_if_not_open(struct bbr *b, const struct shell_sock *sk,
				      const struct shell_rs *rs)
{
	if ((b->flags & BBR_FLAGS(BBR_REGULAR_FLAGS)) != BBR_FLAGS(.has_seen_rtt = 1) ||
	    IN(sk, tlp_high_seq) || (b->in_order && bbr_stays_in_order(b, sk, rs)) ||
	    bbr_needs_flight(b, sk, rs))
		return SHELL_GENERAL;
	return bbr_stays_in_recovery(b, sk, rs) ? SHELL_FAST_1 : SHELL_REGULAR;
}

/* Returns the kind of an ACK (enum shell_kind). */
static inline u8 bbr_kind(struct bbr *b, const struct shell_sock *sk, const struct shell_rs *rs)
{
	if (!bbr_is_sample_regular(b, sk, rs))
		return SHELL_GENERAL;
	return shell_is_open(sk) ? bbr_kind_if_open(b, sk, rs) : bbr_kind_if_not_open(b, sk, rs);
}

#define bbr_kind bbr_kind

#endif
