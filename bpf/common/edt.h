/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the earliest departure time (EDT) of the next packet says: how many of the packets in flight
 * are in the network; and whether the sender got too little CPU.
 */
#ifndef COMMON_EDT_H
#define COMMON_EDT_H

#include "common/extra_acked.h"

#define BBR_GAIN_MAX 4095 /* 12 bits */

/*
 * Returns how many of `inflight` packets will be in the network at the EDT. Packets that wait in fq
 * for their departure time are in flight, but fill no queue. Until the EDT the network will have
 * delivered bw * (EDT - now).
 */
static inline u32 bbr_left_at_edt(const struct shell_sock *sk, u32 bw, u32 inflight)
{
	u64 now_ns = IN(sk, tcp_clock_cache), edt_ns = IN(sk, tcp_wstamp_ns);
	u32 delivered;
	s64 left;

	if (edt_ns <= now_ns)
		return inflight;
	delivered = bw * ((edt_ns - now_ns) / NSEC_PER_USEC) >> BW_SCALE;
	left = (s64)inflight - delivered; /* unsigned it would take clang 7 more instructions */
	return left > 0 ? left : 0;
}

/*
 * True if the stack, about to send, should have sent a burst ago (sk_pacing_shift, 1 ms), and
 * neither the application nor a window held it back. So its CPU was elsewhere. (When the ACK comes
 * that follows, the stack has often sent already: fq, whose packets left late, asked it to.) ACKs
 * open a full window all the time: if none did for half an RTT, nobody was there to read them.
 */
static inline bool bbr_is_late(const struct shell_sock *sk)
{
	u64 wait_ns = NSEC_PER_SEC >> IN(sk, pacing_shift);

	if (IN(sk, is_cwnd_limited))
		wait_ns = max_u64(wait_ns, (u64)IN(sk, min_rtt_us) * (NSEC_PER_USEC / 2));
	return IN(sk, tcp_clock_cache) > IN(sk, tcp_wstamp_ns) + wait_ns &&
	       IN(sk, write_seq) - IN(sk, snd_nxt) >= IN(sk, mss) && !IN(sk, is_rwnd_limited);
}

/*
 * cpu_gain. Pacing spreads the target over an RTT, so a sender that has the CPU for a part of it
 * sends only that part, measures a lower bw, and paces at that: bw collapses. So a sender that was
 * late is behind until inflight reaches the target: the BDP at the pacing gain (bdp), plus the
 * packets that arrived meanwhile without being ACKed. Their ACKs come all at once later, so ACK
 * aggregation measures them.
 */
static inline bool bbr_stays_behind(const struct bbr *b, const struct shell_sock *sk, u32 bdp)
{
	u32 target = max_u32(bdp, PARAM(sk, cwnd_min_target)) + bbr_extra_acked(b);

	return IN(sk, inflight) < min_u32(target, IN(sk, cwnd));
}

/* The pacing gain of a sender that is behind: at least the gain, and within a gain's 12 bits. */
static inline u32 bbr_catch_up_gain(const struct shell_sock *sk, u32 gain)
{
	return max_u32(gain, min_u32(gain * OPTION(sk, cpu_gain) >> BBR_SCALE, BBR_GAIN_MAX));
}

#endif
