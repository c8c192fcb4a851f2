/* SPDX-License-Identifier: GPL-2.0-only */
/* How many of the packets in flight are in the network. */
#ifndef COMMON_EDT_H
#define COMMON_EDT_H

#include "bbr.h"

/*
 * Of `inflight` packets, how many will be in the network at the earliest departure time (EDT) of
 * the next one? Packets that wait in fq for their departure time are in flight, but fill no queue.
 * Until the EDT the network will have delivered bw * (EDT - now).
 */
static inline u32 bbr_left_at_edt(const struct bbr_sock *sk, u32 bw, u32 inflight)
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

#endif
