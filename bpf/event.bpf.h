/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An event as far as it can be read from a socket.
 */
#ifndef EVENT_BPF_H
#define EVENT_BPF_H

#include "address.bpf.h"
#include "defaults.bpf.h"

static inline void fill_endpoints(struct bbr_event *e, struct sock *sk)
{
	struct sock_common *skc = &sk->__sk_common;

	e->netns = skc->skc_net.net->ns.inum;
	e->family = skc->skc_family;
	/* Not skc_num: the stack clears it before release. */
	e->lport = ((struct inet_sock *)sk)->inet_sport;
	e->rport = skc->skc_dport;
	local_address(e->laddr, sk);
	remote_address(e->raddr, sk);
}

/* Bytes of an event in a ring. */
#define EVENT_SIZE (BBR_EVENT_BASE + sizeof(struct bbr_tail))

#define EVENT_CONNECTION_SIZE \
	__builtin_offsetof(struct bbr_event, pacing_rate) /* of these, up to the socket's state */

/* Copies the members of an event from one offset up to another, in words of 8 bytes. */
static inline void copy_members(struct bbr_event *to, const struct bbr_event *from, u32 begin,
				u32 end)
{
	__builtin_memcpy(__builtin_assume_aligned((char *)to + begin, 8),
			 __builtin_assume_aligned((const char *)from + begin, 8), end - begin);
}

/* Sets what all events of a connection have, and the rest to zero. */
static inline void fill_connection(struct bbr_event *e, struct sock *sk,
				   const volatile struct bbr_abi *abi)
{
	__builtin_memset(e, 0, EVENT_SIZE);
	e->size = EVENT_SIZE;
	e->major = abi->major;
	e->minor = BBR_ABI_MINOR;
	fill_endpoints(e, sk);
}

/* There is no rate sample. */
static inline void fill_no_sample(struct bbr_event *e)
{
	e->rtt_us = BBR_RTT_NONE;
	e->rs_delivered = -1;
	e->rs_interval_us = 0;
	e->rs_losses = 0;
	e->rs_acked = 0;
	e->rs_prior_inflight = 0;
}

/* Sets the socket's present values that tcp_disconnect() clears before it calls release. */
static inline void fill_tcp_passing(struct bbr_event *e, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	e->srtt_us = tp->srtt_us >> 3;
	e->cwnd = tp->snd_cwnd;
	e->ssthresh = tp->snd_ssthresh;
	e->delivered = tp->delivered;
}

/*
 * Copies the same values from an event that noted them. inflight and mss lie between them: the
 * caller must set these two afterwards.
 */
static inline void fill_noted(struct bbr_event *e, const struct bbr_event *noted)
{
	copy_members(e, noted, __builtin_offsetof(struct bbr_event, srtt_us),
		     __builtin_offsetof(struct bbr_event, lost));
}

/* Sets the present values that tcp_disconnect() leaves as they are until release. */
static inline void fill_tcp_lasting(struct bbr_event *e, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	e->pacing_rate = sk->sk_pacing_rate;
	e->bytes_sent = tp->bytes_sent;
	e->bytes_acked = tp->bytes_acked;
	e->bytes_retrans = tp->bytes_retrans;
	e->mss = tp->mss_cache;
	e->lost = tp->lost;
}

/* Sets all of the socket's present values. */
static inline void fill_tcp(struct bbr_event *e, struct sock *sk)
{
	s32 inflight = packets_in_flight(tcp_sk(sk));

	fill_tcp_lasting(e, sk);
	fill_tcp_passing(e, sk);
	/* A closing socket has forgotten what it sent, but not what was SACKed. */
	e->inflight = inflight < 0 ? 0 : inflight;
}

/* The part of a generation that an event has: the low 8 bits. */
static inline u32 event_gen(u32 gen)
{
	return gen & 0xff;
}

/*
 * Sets what the algorithm knows now. gen: event_gen() of the parameters in use. flags: those that
 * do not come from the algorithm.
 */
static inline void fill_model(struct bbr_event *e, const struct bbr *b, const struct bbr_more *more,
			      u8 ca_state, u32 gen, u16 flags)
{
	__builtin_memset(__builtin_assume_aligned(&e->min_rtt_us, 8), 0,
			 EVENT_SIZE - __builtin_offsetof(struct bbr_event, min_rtt_us));
	e->bw = 0;
	e->params_gen = gen;
	e->ca_state = ca_state;
	e->profile = profile_of(b);
	e->flags = flags | bbr_fill_event(e, (struct bbr_tail *)e->tail, b, more);
}

/* Sets all of an event but its kind. */
static inline void fill_event(struct bbr_event *e, struct sock *sk, const struct bbr *b,
			      const struct bbr_more *more, const volatile struct bbr_abi *abi)
{
	fill_connection(e, sk, abi);
	e->time_ns = bpf_ktime_get_ns();
	fill_no_sample(e);
	fill_tcp(e, sk);
	fill_model(e, b, more, ca_state_of(sk), 0, 0);
}

#endif
