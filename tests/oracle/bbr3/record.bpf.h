/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What record.bpf.c records of BBR version 3, on a kernel that has Google's: record.h. No stock
 * kernel has many of these members, so their types are here. A kernel that lacks one rejects the
 * programs at load.
 */
#ifndef ORACLE_BBR3_RECORD_BPF_H
#define ORACLE_BBR3_RECORD_BPF_H

#include "bbr3/bbr.h"
#include "kernel.bpf.h"

#include "record.h"

#define RECORD struct record
#define RECORD_DEPTH 1

/* Callbacks that change no state are most of all: this many are enough. */
#define MOST_TSO_SEGS 20000
#define MOST_SNDBUF_EXPAND 1000

static inline bool nests(u8 kind)
{
	return false;
}

static inline u64 most_of(u8 kind)
{
	if (kind == KIND_TSO_SEGS)
		return MOST_TSO_SEGS;
	return kind == KIND_SNDBUF_EXPAND ? MOST_SNDBUF_EXPAND : ~0ull;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_options_received___v3 {
	u16 tstamp_ok : 1, sack_ok : 3;
};

struct tcp_sock___v3 {
	u32 high_seq;
	u32 undo_marker;
	int undo_retrans;
	u32 snd_wnd;
	u32 segs_out;
	u8 is_sack_reneg : 1, fast_ack_mode : 2, tlp_orig_data_app_limited : 1;
	struct tcp_options_received___v3 rx_opt;
};

struct sock___v3 {
	int sk_sndbuf;
};

struct inet_connection_sock___v3 {
	u8 icsk_retransmits;
	u8 icsk_ca_setsockopt : 1;
	u64 icsk_ca_priv[STATE_SIZE / 8];
};

struct netns_ipv4___v3 {
	u8 sysctl_tcp_min_tso_segs;
	u8 sysctl_tcp_plb_enabled;
};

struct net___v3 {
	struct netns_ipv4___v3 ipv4;
};

struct rate_sample___all {
	u64 prior_mstamp;
	u32 prior_lost;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	u32 tx_in_flight;
	s32 lost;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_acking_tlp_retrans_seq;
	bool is_ack_delayed;
	bool is_ece;
};

struct sk_buff___v3 {
	char cb[48];
};

struct tcp_skb_tx___v3 {
	u32 is_app_limited : 1, delivered_ce : 20;
	u32 delivered;
	u32 first_tx_mstamp;
	u32 delivered_mstamp;
	u32 in_flight : 20;
	u32 lost;
};

struct tcp_skb_cb___v3 {
	u32 seq;
	u32 end_seq;
	u16 tcp_gso_segs;
	u8 sacked;
	struct tcp_skb_tx___v3 tx;
};

#pragma clang attribute pop

u32 positions SEC(".bss.positions"); /* halves of callbacks so far */

static inline u32 next_position(void)
{
	return __sync_fetch_and_add(&positions, 1);
}

static inline void read_state(u8 *to, const struct shell_sock *s)
{
	for (int i = 0; i < STATE_SIZE / 8; i++)
		((u64 *)to)[i] = ((struct inet_connection_sock___v3 *)s->sk)->icsk_ca_priv[i];
}

/* Reads from struct sock, and from the network namespace. */
static inline void read_sock(struct record *r, const struct shell_sock *s)
{
	struct net___v3 *net = (void *)s->sk->__sk_common.skc_net.net;

	r->sk_sndbuf = ((struct sock___v3 *)s->sk)->sk_sndbuf;
	r->sk_pacing_rate = IN(s, pacing_rate);
	r->sk_max_pacing_rate = IN(s, max_pacing_rate);
	r->sk_wmem_alloc = s->sk->sk_wmem_alloc.refs.counter;
	r->sk_gso_max_size = IN(s, gso_max_size);
	r->sk_pacing_status = s->sk->sk_pacing_status;
	r->sk_pacing_shift = IN(s, pacing_shift);
	r->sysctl_tcp_min_tso_segs = net->ipv4.sysctl_tcp_min_tso_segs;
	r->sysctl_tcp_plb_enabled = net->ipv4.sysctl_tcp_plb_enabled;
}

static inline void read_icsk(struct record *r, const struct shell_sock *s)
{
	struct inet_connection_sock___v3 *icsk = (void *)s->sk;

	r->ca_state = IN(s, ca_state);
	r->ack_pending = IN(s, ack_pending);
	r->retransmits = icsk->icsk_retransmits;
	r->ca_setsockopt = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_setsockopt);
}

/* Reads from struct tcp_sock what stock kernels have and version 3 uses. */
static inline void read_inputs(struct record *r, const struct shell_sock *s)
{
	r->tcp_mstamp = IN(s, tcp_mstamp);
	r->delivered_mstamp = IN(s, delivered_mstamp);
	r->tcp_clock_cache = IN(s, tcp_clock_cache);
	r->tcp_wstamp_ns = IN(s, tcp_wstamp_ns);
	r->srtt_us = IN(s, srtt_us);
	r->rtt_min_us = IN(s, min_rtt_us);
	r->mss_cache = IN(s, mss);
	r->snd_cwnd = IN(s, cwnd);
	r->snd_cwnd_clamp = IN(s, snd_cwnd_clamp);
	r->snd_ssthresh = IN(s, ssthresh);
	r->packets_out = tcp_sk(s->sk)->packets_out;
	r->sacked_out = IN(s, sacked_out);
	r->lost_out = IN(s, lost_out);
	r->retrans_out = IN(s, retrans_out);
	r->delivered = IN(s, delivered);
	r->delivered_ce = IN(s, delivered_ce);
	r->lost = IN(s, lost);
	r->app_limited = tcp_sk(s->sk)->app_limited;
	r->tp_prior_cwnd = IN(s, stack_prior_cwnd);
	r->snd_una = IN(s, snd_una);
	r->snd_nxt = IN(s, snd_nxt);
	r->write_seq = IN(s, write_seq);
	r->rcv_nxt = IN(s, rcv_nxt);
	r->tlp_high_seq = IN(s, tlp_high_seq);
	r->reord_seen = IN(s, reord_seen);
	r->ecn_flags = tcp_sk(s->sk)->ecn_flags;
	r->tlp_retrans = IN(s, tlp_retrans);
	r->is_cwnd_limited = IN(s, is_cwnd_limited);
}

/* Reads the rest of struct tcp_sock. */
static inline void read_tcp_sock(struct record *r, const struct shell_sock *s)
{
	struct tcp_sock___v3 *tp = (void *)s->sk;

	r->high_seq = tp->high_seq;
	r->undo_marker = tp->undo_marker;
	r->undo_retrans = tp->undo_retrans;
	r->snd_wnd = tp->snd_wnd;
	r->segs_out = tp->segs_out;
	r->tlp_orig_data_app_limited = BPF_CORE_READ_BITFIELD(tp, tlp_orig_data_app_limited);
	r->is_sack_reneg = BPF_CORE_READ_BITFIELD(tp, is_sack_reneg);
	r->fast_ack_mode = BPF_CORE_READ_BITFIELD(tp, fast_ack_mode);
	r->sack_ok = BPF_CORE_READ_BITFIELD(tp, rx_opt.sack_ok);
	r->tstamp_ok = BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok);
}

static inline void read_rate_sample(struct record *r, unsigned long long *ctx)
{
	const struct rate_sample___all *rs = (void *)ctx_rate_sample(ctx);

	r->rs_prior_mstamp = rs->prior_mstamp;
	r->rs_interval_us = rs->interval_us;
	r->rs_rtt_us = rs->rtt_us;
	r->rs_prior_lost = rs->prior_lost;
	r->rs_prior_delivered = rs->prior_delivered;
	r->rs_prior_delivered_ce = rs->prior_delivered_ce;
	r->rs_tx_in_flight = rs->tx_in_flight;
	r->rs_lost = rs->lost;
	r->rs_delivered = rs->delivered;
	r->rs_delivered_ce = rs->delivered_ce;
	r->rs_snd_interval_us = rs->snd_interval_us;
	r->rs_rcv_interval_us = rs->rcv_interval_us;
	r->rs_losses = rs->losses;
	r->rs_acked_sacked = rs->acked_sacked;
	r->rs_prior_in_flight = rs->prior_in_flight;
	r->rs_last_end_seq = rs->last_end_seq;
	r->rs_is_app_limited = rs->is_app_limited;
	r->rs_is_retrans = rs->is_retrans;
	r->rs_is_acking_tlp_retrans_seq = rs->is_acking_tlp_retrans_seq;
	r->rs_is_ack_delayed = rs->is_ack_delayed;
	r->rs_is_ece = rs->is_ece;
	r->ack = ctx[1];
	r->flag = ctx[2];
}

/*
 * Reads what the stack has recorded about a packet. These bytes have no type, so a helper has to
 * read them.
 */
static inline void read_skb(struct record *r, struct sk_buff___v3 *skb)
{
	struct tcp_skb_cb___v3 *cb = (void *)skb + bpf_core_field_offset(struct sk_buff___v3, cb);

	r->skb_sacked = BPF_CORE_READ(cb, sacked);
	r->skb_gso_segs = BPF_CORE_READ(cb, tcp_gso_segs);
	r->skb_seq = BPF_CORE_READ(cb, seq);
	r->skb_end_seq = BPF_CORE_READ(cb, end_seq);
	r->skb_tx_in_flight = BPF_CORE_READ_BITFIELD_PROBED(cb, tx.in_flight);
	r->skb_tx_lost = BPF_CORE_READ(cb, tx.lost);
	r->skb_tx_delivered = BPF_CORE_READ(cb, tx.delivered);
	r->skb_tx_delivered_ce = BPF_CORE_READ_BITFIELD_PROBED(cb, tx.delivered_ce);
	r->skb_tx_delivered_mstamp = BPF_CORE_READ(cb, tx.delivered_mstamp);
	r->skb_tx_first_tx_mstamp = BPF_CORE_READ(cb, tx.first_tx_mstamp);
	r->skb_tx_is_app_limited = BPF_CORE_READ_BITFIELD_PROBED(cb, tx.is_app_limited);
}

static inline void read_before(struct record *r, const struct shell_sock *s,
			       unsigned long long *ctx, u8 kind, u32 arg)
{
	r->cookie = bpf_get_socket_cookie((struct sock *)ctx[0]);
	r->begin_seq = next_position();
	r->arg = arg;
	read_sock(r, s);
	read_icsk(r, s);
	read_inputs(r, s);
	read_tcp_sock(r, s);
	if (kind == KIND_MAIN)
		read_rate_sample(r, ctx);
	if (kind == KIND_LOST)
		read_skb(r, (void *)ctx[1]);
	read_state(r->state_before, s);
	r->jiffies_before = bpf_jiffies64(); /* last: as close to the callback as possible */
}

static inline void read_after(struct record *r, const struct shell_sock *s, u32 returned,
			      u32 jiffies)
{
	struct tcp_sock___v3 *tp = (void *)s->sk;

	r->jiffies_after = jiffies;
	r->returned = returned;
	r->after_sk_pacing_rate = IN(s, pacing_rate);
	r->after_snd_cwnd = IN(s, cwnd);
	r->after_snd_ssthresh = IN(s, ssthresh);
	r->after_app_limited = tcp_sk(s->sk)->app_limited;
	r->after_tp_prior_cwnd = IN(s, stack_prior_cwnd);
	r->after_sk_pacing_status = s->sk->sk_pacing_status;
	r->after_segs_out = tp->segs_out;
	r->after_srtt_us = IN(s, srtt_us);
	r->after_ecn_flags = tcp_sk(s->sk)->ecn_flags;
	r->after_ack_pending = IN(s, ack_pending);
	r->after_fast_ack_mode = BPF_CORE_READ_BITFIELD(tp, fast_ack_mode);
	r->after_tlp_high_seq_set = IN(s, tlp_high_seq) != 0;
	read_state(r->state_after, s);
	r->end_seq = next_position();
}

#endif
