// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes what the kernel counts of each established TCP socket (bpf_bbr/why.h), for `bbrmon why`.
 * The kernel runs this once for each socket of a network namespace, with the socket locked.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "address.bpf.h"
#include "bpf_bbr/why.h"

#define SOCK_NOSPACE 2 /* a bit of socket.flags */

char LICENSE[] SEC("license") = "GPL";
NEED_BTF;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_congestion_ops___why {
	char name[BBR_NAME_LEN];
};

struct inet_connection_sock___why {
	const struct tcp_congestion_ops___why *icsk_ca_ops;
	u8 icsk_ca_initialized : 1;
};

struct sock_common___why {
	int skc_incoming_cpu;
};

struct sock___why {
	struct sock_common___why __sk_common;
	struct socket *sk_socket;
	int sk_sndbuf;
};

struct tcp_sock___why {
	u32 snd_wnd;
};

#pragma clang attribute pop

static inline void fill_endpoints(struct bbr_event *e, struct sock *sk)
{
	e->netns = sk->__sk_common.skc_net.net->ns.inum;
	e->family = sk->__sk_common.skc_family;
	e->lport = ((struct inet_sock *)sk)->inet_sport;
	e->rport = sk->__sk_common.skc_dport;
	local_address(e->laddr, sk);
	remote_address(e->raddr, sk);
}

/* As fill_tcp() of bpf/event.bpf.h does for a BBR. */
static inline void fill_event(struct bbr_event *e, struct tcp_sock *tp)
{
	s32 inflight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;

	e->size = BBR_EVENT_BASE;
	e->kind = BBR_EV_STATE;
	e->flags = BBR_F_KERNEL;
	e->time_ns = bpf_ktime_get_ns();
	e->pacing_rate = ((struct sock *)tp)->sk_pacing_rate;
	e->bytes_acked = tp->bytes_acked;
	e->bytes_sent = tp->bytes_sent;
	e->bytes_retrans = tp->bytes_retrans;
	e->srtt_us = tp->srtt_us >> 3;
	e->cwnd = tp->snd_cwnd;
	e->ssthresh = tp->snd_ssthresh;
	e->inflight = inflight < 0 ? 0 : inflight;
	e->mss = tp->mss_cache;
	e->delivered = tp->delivered;
	e->lost = tp->lost;
	e->rtt_us = BBR_RTT_NONE;
	e->rs_delivered = -1;
	e->min_rtt_us = tp->rtt_min.s[0].v;
	e->ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

static inline void fill_limits(struct why_socket *s, struct tcp_sock *tp)
{
	struct inet_connection_sock___why *icsk = (void *)tp;
	struct sock *sk = (struct sock *)tp;
	struct socket *socket = ((struct sock___why *)sk)->sk_socket;

	bpf_core_read_str(s->name, sizeof(s->name), &icsk->icsk_ca_ops->name);
	s->max_pacing_rate = sk->sk_max_pacing_rate;
	s->cwnd_clamp = tp->snd_cwnd_clamp;
	s->snd_wnd = ((struct tcp_sock___why *)tp)->snd_wnd;
	s->unacked = tp->snd_nxt - tp->snd_una;
	s->unsent = tp->write_seq - tp->snd_nxt;
	s->sndbuf = ((struct sock___why *)sk)->sk_sndbuf;
	s->cpu = ((struct sock___why *)sk)->__sk_common.skc_incoming_cpu;
	s->no_space = socket && socket->flags & 1 << SOCK_NOSPACE;
	s->is_cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

SEC("iter/tcp")
int read_sockets(struct bpf_iter__tcp *ctx)
{
	struct inet_connection_sock___why *icsk;
	struct sock_common *skc = ctx->sk_common;
	struct seq_file *seq = ctx->meta->seq;
	struct why_socket s = {};
	struct tcp_sock *tp;

	tp = skc ? bpf_skc_to_tcp_sock(skc) : NULL;
	icsk = (void *)tp;
	/*
	 * Listeners and what is not established yet have not initialized their congestion control.
	 */
	if (!tp || !BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized))
		return 0;
	fill_socket(&s.snap, (struct sock *)tp);
	fill_endpoints(&s.snap.event, (struct sock *)tp);
	fill_event(&s.snap.event, tp);
	fill_limits(&s, tp);
	bpf_seq_write(seq, &s, WHY_SOCKET_SIZE);
	return 0;
}
