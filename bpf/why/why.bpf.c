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
#include "base/chrono.bpf.h"

#define SOCK_NOSPACE 2 /* a bit of socket.flags */
#define RTT_NONE (~0u)

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

struct inode {
	unsigned long i_ino;
};

struct socket {
	short type;
	unsigned long flags;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sock_common___why {
	int skc_bound_dev_if;
	int skc_incoming_cpu;
};

typedef struct {
	u32 val;
} kuid_t;

struct sock___why {
	struct sock_common___why __sk_common;
	struct socket *sk_socket;
	int sk_sndbuf;
	kuid_t sk_uid;
};

struct tcp_sock___why {
	u32 snd_wnd;
};

#pragma clang attribute pop

static inline void fill_identity(struct why_socket *s, struct sock *sk)
{
	struct socket_alloc *alloc = (void *)((struct sock___why *)sk)->sk_socket;
	struct sock_common___why *skc = &((struct sock___why *)sk)->__sk_common;
	struct inet_connection_sock___why *icsk = (void *)sk;

	s->cgroup = sk->sk_cgrp_data.cgroup->kn->id;
	s->inode = alloc ? BPF_CORE_READ(alloc, vfs_inode.i_ino) : 0;
	s->netns = sk->__sk_common.skc_net.net->ns.inum;
	s->family = sk->__sk_common.skc_family;
	s->state = sk->__sk_common.skc_state;
	s->lport = ((struct inet_sock *)sk)->inet_sport;
	s->rport = sk->__sk_common.skc_dport;
	local_address(s->laddr, sk);
	remote_address(s->raddr, sk);
	bpf_core_read_str(s->name, sizeof(s->name), &icsk->icsk_ca_ops->name);
	s->mark = sk->sk_mark;
	s->uid = ((struct sock___why *)sk)->sk_uid.val;
	s->bound_ifindex = skc->skc_bound_dev_if;
	s->cpu = skc->skc_incoming_cpu;
}

static inline void fill_counts(struct why_socket *s, struct tcp_sock *tp)
{
	struct chrono chrono = chrono_of(tp);

	s->time_ns = bpf_ktime_get_ns();
	s->busy_ticks = chrono.busy;
	s->rwnd_ticks = chrono.rwnd;
	s->sndbuf_ticks = chrono.sndbuf;
	s->bytes_acked = tp->bytes_acked;
	s->bytes_sent = tp->bytes_sent;
	s->bytes_retrans = tp->bytes_retrans;
	s->delivered = tp->delivered;
	s->lost = tp->lost;
}

static inline void fill_state(struct why_socket *s, struct tcp_sock *tp)
{
	s32 inflight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;
	struct sock *sk = (struct sock *)tp;
	struct socket *socket = ((struct sock___why *)sk)->sk_socket;
	u32 min_rtt_us = tp->rtt_min.s[0].v;

	s->ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	s->pacing_rate = sk->sk_pacing_rate;
	s->max_pacing_rate = sk->sk_max_pacing_rate;
	s->cwnd = tp->snd_cwnd;
	s->is_cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	s->cwnd_clamp = tp->snd_cwnd_clamp;
	s->ssthresh = tp->snd_ssthresh;
	s->inflight = inflight < 0 ? 0 : inflight; /* as in bpf/event.bpf.h */
	s->mss = tp->mss_cache;
	s->srtt_us = tp->srtt_us >> 3;
	s->min_rtt_us = min_rtt_us == RTT_NONE ? 0 : min_rtt_us;
	s->snd_wnd = ((struct tcp_sock___why *)tp)->snd_wnd;
	s->unacked = tp->snd_nxt - tp->snd_una;
	s->unsent = tp->write_seq - tp->snd_nxt;
	s->sndbuf = ((struct sock___why *)sk)->sk_sndbuf;
	s->no_space = socket && socket->flags & 1 << SOCK_NOSPACE;
	s->is_in_sockmap = is_in_sockmap(sk);
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
	/* Listeners and what is not established yet have not initialized their congestion control. */
	if (!tp || !BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized))
		return 0;
	s.cookie = bpf_get_socket_cookie(tp);
	fill_identity(&s, (struct sock *)tp);
	fill_counts(&s, tp);
	fill_state(&s, tp);
	bpf_seq_write(seq, &s, sizeof(s));
	return 0;
}
