/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many of the packets in flight are in the network. Include this after struct bbr,
 * bbr_tso_segs_goal(), bbr_bw_of() (the bandwidth in use) and bbr_is_raising() (is inflight to
 * grow?).
 */
#ifndef COMMON_EDT_H
#define COMMON_EDT_H

/*
 * Of `inflight` packets, how many will be in the network at the earliest departure time (EDT) of
 * the next one? Packets that wait in fq for their departure time are in flight, but fill no queue.
 * Until the EDT the network will have delivered bw * (EDT - now). When inflight is to grow, the
 * burst that leaves at the EDT may be the one that reaches the target, so it counts. When it is to
 * shrink, what matters is how low it gets just before.
 */
static inline u32 bbr_packets_in_net_at_edt(const struct bbr *b, const struct bbr_sock *sk,
					    u32 inflight)
{
	u64 now_ns = IN(sk, tcp_clock_cache), edt_ns = IN(sk, tcp_wstamp_ns);
	u32 delivered;
	s64 left;

	if (bbr_is_raising(b))
		inflight += bbr_tso_segs_goal(b, sk);
	if (edt_ns <= now_ns)
		return inflight;
	delivered = bbr_bw_of(b, sk) * ((edt_ns - now_ns) / NSEC_PER_USEC) >> BW_SCALE;
	left = (s64)inflight - delivered; /* unsigned it would take clang 7 more instructions */
	return left > 0 ? left : 0;
}

#endif
