/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's socket, and every difference between kernel versions: decided when the program is
 * loaded, by what the running kernel's BTF has, never by a version number. The branch that does
 * not apply is dead code to the verifier.
 */
#ifndef KERNEL_BPF_H
#define KERNEL_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bbr/bbr.h"
#include "bpf_bbr/abi.h"

/* Before 6.10 cong_control(sk, rs), from then on cong_control(sk, ack, flag, rs). */
struct tcp_congestion_ops___6_10 {
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
} __attribute__((preserve_access_index));

/* From 7.1 on cwnd_event() no longer gets CA_EVENT_TX_START, this callback does. */
struct tcp_congestion_ops___7_1 {
	void (*cwnd_event_tx_start)(struct sock *sk);
} __attribute__((preserve_access_index));

/* Came with 6.4, as did the right of a congestion control to write tp->app_limited. */
struct bpf_struct_ops___6_4 {
	int (*validate)(void *kdata);
} __attribute__((preserve_access_index));

/*
 * The rate sample of cong_control's raw context. Each place has a load of its own, with a constant
 * offset: the verifier of kernels before 7.0 rejects a computed one.
 */
static inline const struct rate_sample *ctx_rate_sample(unsigned long long *ctx)
{
	const struct rate_sample *rs;

	if (bpf_core_type_matches(struct tcp_congestion_ops___6_10))
		asm volatile("%[rs] = *(u64 *)(%[ctx] + 24)" : [rs] "=r"(rs) : [ctx] "r"(ctx));
	else
		asm volatile("%[rs] = *(u64 *)(%[ctx] + 8)" : [rs] "=r"(rs) : [ctx] "r"(ctx));
	return rs;
}

/*
 * Must the program find out by itself that the first packet after a pause goes out? An object that
 * named cwnd_event_tx_start could not be loaded on older kernels, nor by older libbpf. Instead look where
 * the stack comes by just before it sends: min_tso_segs(), and set_state() of an RTO.
 */
static inline bool tx_start_is_hidden(void)
{
	return bpf_core_field_exists(((struct tcp_congestion_ops___7_1 *)0)->cwnd_event_tx_start);
}

static inline bool app_limited_is_writable(void)
{
	return bpf_core_field_exists(((struct bpf_struct_ops___6_4 *)0)->validate);
}

static inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct bbr *bbr_of(struct sock *sk)
{
	return (struct bbr *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static inline u8 ca_state_of(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
}

/* tcp_packets_in_flight() */
static inline u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/*
 * Where tp->app_limited cannot be written, PROBE_RTT's mark is kept in our own state: the kernel would
 * mark the packets that are sent until `delivered` passes it, so a sample of a packet sent at or below
 * it is app-limited. (That takes in the packets already in flight when PROBE_RTT began, too.)
 */
static inline u32 app_limited_of(const struct tcp_sock *tp, const struct bbr *b)
{
	if (!app_limited_is_writable() && b->app_limited_until &&
	    !after(tp->delivered, b->app_limited_until))
		return b->app_limited_until;
	return tp->app_limited;
}

static inline bool sample_is_app_limited(const struct rate_sample *rs, struct bbr *b)
{
	if (!app_limited_is_writable() && b->app_limited_until) {
		if (!after(rs->prior_delivered, b->app_limited_until))
			return true;
		b->app_limited_until = 0;
	}
	return rs->is_app_limited;
}

static inline void set_app_limited(struct tcp_sock *tp, struct bbr *b, u32 app_limited)
{
	if (app_limited_is_writable())
		tp->app_limited = app_limited;
	else
		b->app_limited_until = app_limited;
}

/*
 * The clock of the long stamps. In all callbacks of the data path tcp_mstamp was refreshed just
 * before; init can come at any time (setsockopt), when it may be as old as the last packet.
 */
static inline u32 now_ms(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / USEC_PER_MSEC;
}

/* Reads all inputs of the algorithm but `random`, which costs a call. */
static inline void read_sock(struct sock *sk, const struct bbr *b, const struct bbr_params *param,
			     struct bbr_sock *s)
{
	struct tcp_sock *tp = tcp_sk(sk);

	s->param = param;
	s->tcp_mstamp = tp->tcp_mstamp;
	s->delivered_mstamp = tp->delivered_mstamp;
	s->tcp_clock_cache = tp->tcp_clock_cache;
	s->tcp_wstamp_ns = tp->tcp_wstamp_ns;
	s->max_pacing_rate = sk->sk_max_pacing_rate;
	s->now_ms = now_ms(tp);
	s->random = 0;
	s->delivered = tp->delivered;
	s->lost = tp->lost;
	s->inflight = packets_in_flight(tp);
	s->mss = tp->mss_cache;
	s->srtt_us = tp->srtt_us;
	s->min_rtt_us = tp->rtt_min.s[0].v;
	s->snd_cwnd_clamp = tp->snd_cwnd_clamp;
	s->pacing_shift = sk->sk_pacing_shift;
	s->ca_state = ca_state_of(sk);

	s->pacing_rate = sk->sk_pacing_rate;
	s->cwnd = tp->snd_cwnd;
	s->ssthresh = tp->snd_ssthresh;
	s->app_limited = app_limited_of(tp, b);
}

static inline void read_rate_sample(const struct rate_sample *rs, struct bbr *b, struct bbr_rs *r)
{
	r->delivered = rs->delivered;
	r->losses = rs->losses;
	r->interval_us = rs->interval_us;
	r->rtt_us = rs->rtt_us;
	r->prior_delivered = rs->prior_delivered;
	r->prior_in_flight = rs->prior_in_flight;
	r->acked_sacked = rs->acked_sacked;
	r->is_app_limited = sample_is_app_limited(rs, b);
	r->is_ack_delayed = rs->is_ack_delayed;
}

/* Writes back what the algorithm decided. */
static inline void write_sock(struct sock *sk, struct bbr *b, const struct bbr_sock *s)
{
	struct tcp_sock *tp = tcp_sk(sk);

	sk->sk_pacing_rate = s->pacing_rate;
	tp->snd_cwnd = s->cwnd;
	if (s->ssthresh != tp->snd_ssthresh)
		tp->snd_ssthresh = s->ssthresh;
	if (s->app_limited != app_limited_of(tp, b))
		set_app_limited(tp, b, s->app_limited);
}

/*
 * Pace by TCP's own timer, unless fq does it already. The kernel's bbr uses cmpxchg here, which a BPF
 * program cannot; fq sets its mark again with the next packet, should it come in between.
 */
static inline void request_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

#endif
