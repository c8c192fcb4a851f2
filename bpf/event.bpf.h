/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An event as far as it can be read from a socket.
 */
#ifndef EVENT_BPF_H
#define EVENT_BPF_H

#include "kernel.bpf.h"

static inline void set_addr(u32 *addr, u32 v4)
{
	addr[0] = 0;
	addr[1] = 0;
	addr[2] = bpf_htonl(0xffff);
	addr[3] = v4;
}

static inline void fill_endpoints(struct bbr_event *e, struct sock *sk)
{
	struct sock_common *skc = &sk->__sk_common;

	e->netns = skc->skc_net.net->ns.inum;
	e->family = skc->skc_family;
	/* Not skc_num: that is taken away before release. */
	e->lport = ((struct inet_sock *)sk)->inet_sport;
	e->rport = skc->skc_dport;
	if (e->family == AF_INET6) {
		for (int i = 0; i < 4; i++) {
			e->laddr[i] = skc->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			e->raddr[i] = skc->skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		set_addr(e->laddr, skc->skc_rcv_saddr);
		set_addr(e->raddr, skc->skc_daddr);
	}
}

static inline u16 event_flags(const struct bbr *b)
{
	return (b->round_start ? BBR_F_ROUND_START : 0) | (b->full_bw_reached ? BBR_F_FULL_BW : 0) |
	       (b->idle_restart ? BBR_F_IDLE_RESTART : 0) |
	       (b->packet_conservation ? BBR_F_CONSERVATION : 0) |
	       (b->lt_is_sampling ? BBR_F_LT_SAMPLING : 0) | (b->lt_use_bw ? BBR_F_LT_USE_BW : 0);
}

/* The state of a connection, in an event whose kind is still open. */
static inline void fill_event(struct bbr_event *e, struct sock *sk, const struct bbr *b,
			      const volatile struct bbr_abi *abi)
{
	struct tcp_sock *tp = tcp_sk(sk);

	__builtin_memset(e, 0, sizeof(*e));
	e->size = sizeof(*e);
	e->major = abi->major;
	e->minor = BBR_ABI_MINOR;
	e->time_ns = bpf_ktime_get_ns();
	fill_endpoints(e, sk);
	e->flags = event_flags(b);
	e->pacing_rate = sk->sk_pacing_rate;
	e->bytes_sent = tp->bytes_sent;
	e->bytes_acked = tp->bytes_acked;
	e->bytes_retrans = tp->bytes_retrans;
	e->bw = bbr_bw(b);
	e->max_bw = bbr_max_bw(b);
	e->full_bw = b->full_bw;
	e->lt_bw = b->lt_bw;
	e->min_rtt_us = b->min_rtt_us;
	e->srtt_us = tp->srtt_us >> 3;
	e->cwnd = tp->snd_cwnd;
	e->ssthresh = tp->snd_ssthresh;
	e->prior_cwnd = b->prior_cwnd;
	e->inflight = packets_in_flight(tp);
	if ((s32)e->inflight <
	    0) /* a socket that closes has forgotten what it sent, but not what was SACKed */
		e->inflight = 0;
	e->mss = tp->mss_cache;
	e->rounds = b->round_count;
	e->delivered = tp->delivered;
	e->lost = tp->lost;
	e->extra_acked = bbr_extra_acked(b);
	e->rtt_us = BBR_RTT_NONE;
	e->rs_delivered = -1;
	e->pacing_gain = b->pacing_gain;
	e->cwnd_gain = b->cwnd_gain;
	e->mode = b->mode;
	e->cycle_idx = b->cycle_idx;
	e->ca_state = ca_state_of(sk);
	e->full_bw_cnt = b->full_bw_cnt;
	e->lt_rtt_cnt = b->lt_rtt_cnt;
	e->profile = profile_of(b);
}

#endif
