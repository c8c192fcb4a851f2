/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What record.bpf.c records of BBR version 1. It reads the inputs with the functions of
 * bpf/kernel.bpf.h, as the BPF program does.
 */
#ifndef ORACLE_BBR_RECORD_BPF_H
#define ORACLE_BBR_RECORD_BPF_H

#include "bbr/bbr.h"
#include "kernel.bpf.h"

#include "record.h"

#define RECORD struct callback
#define RECORD_DEPTH 2

/*
 * bbr_main() itself calls bbr_min_tso_segs(). That is recorded like any other callback, and is the
 * only one within another.
 */
static inline bool nests(u8 kind)
{
	return kind == CB_MIN_TSO_SEGS;
}

static inline u64 most_of(u8 kind)
{
	return ~0ull;
}

static inline void read_outputs(struct outputs *out, const struct shell_sock *s)
{
	out->pacing_rate = IN(s, pacing_rate);
	out->cwnd = IN(s, cwnd);
	out->ssthresh = IN(s, ssthresh);
	out->app_limited = tcp_sk(s->sk)->app_limited; /* IN() may return that of bpf_bbr's state */
	out->returned = 0;
	for (int i = 0; i < CA_PRIV_SIZE / 8; i++)
		((u64 *)out->ca_priv)[i] = ((struct inet_connection_sock *)s->sk)->icsk_ca_priv[i];
}

static inline void read_inputs(struct callback *cb, const struct shell_sock *s)
{
	cb->ca_state = IN(s, ca_state);
	cb->pacing_shift = IN(s, pacing_shift);
	cb->delivered = IN(s, delivered);
	cb->lost = IN(s, lost);
	cb->inflight = IN(s, inflight);
	cb->mss = IN(s, mss);
	cb->srtt_us = IN(s, srtt_us);
	cb->min_rtt_us = IN(s, min_rtt_us);
	cb->snd_cwnd_clamp = IN(s, snd_cwnd_clamp);
	cb->tcp_mstamp = IN(s, tcp_mstamp);
	cb->delivered_mstamp = IN(s, delivered_mstamp);
	cb->tcp_clock_cache = IN(s, tcp_clock_cache);
	cb->tcp_wstamp_ns = IN(s, tcp_wstamp_ns);
	cb->max_pacing_rate = IN(s, max_pacing_rate);
}

static inline void read_rate_sample(struct callback *cb, const struct rate_sample *rs)
{
	cb->rs_interval_us = rs->interval_us;
	cb->rs_rtt_us = rs->rtt_us;
	cb->rs_delivered = rs->delivered;
	cb->rs_losses = rs->losses;
	cb->rs_prior_delivered = rs->prior_delivered;
	cb->rs_prior_in_flight = rs->prior_in_flight;
	cb->rs_acked_sacked = rs->acked_sacked;
	cb->rs_is_app_limited = rs->is_app_limited;
	cb->rs_is_ack_delayed = rs->is_ack_delayed;
}

static inline void read_before(struct callback *cb, const struct shell_sock *s,
			       unsigned long long *ctx, u8 kind, u32 arg)
{
	cb->arg = arg;
	read_inputs(cb, s);
	if (kind == CB_CONG_CONTROL)
		read_rate_sample(cb, ctx_rate_sample(ctx));
	read_outputs(&cb->before, s);
	cb->jiffies[0] = bpf_jiffies64(); /* last: as close to the callback as possible */
}

static inline void read_after(struct callback *cb, const struct shell_sock *s, u32 returned,
			      u32 jiffies)
{
	cb->jiffies[1] = jiffies;
	read_outputs(&cb->after, s);
	cb->after.returned = returned;
}

#endif
