// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records every ACK at the senders of the lab, whatever their congestion control. At the end of
 * tcp_rcv_established() the ACK is worked in and the socket is still locked.
 */
#include <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "recorder.h"

#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_RB_NO_WAKEUP 1
#define NAME8(name) (*(const u64 *)(name)) /* eight characters of a name, to compare */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	__be16 skc_dport;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
};

struct tcp_congestion_ops {
	char name[16];
};

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_rack rack;
	struct minmax rtt_min;
	u64 bytes_acked;
	u32 srtt_us;
	u32 snd_cwnd;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 total_retrans;
	u32 delivered;
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 mss_cache;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} acks SEC(".maps");

__u64 acks_dropped SEC(".bss.drops"); /* that found the ring full */
static u32 delivered[FLOWS];

/*
 * Where each BBR has its mode: offset in icsk_ca_priv of the word that begins with it (bbr.h of bpf/bbr and of bpf/bbr3;
 * version 3 in the kernel is known by its larger state), and its bits.
 */
static u8 mode_of(const struct inet_connection_sock *icsk)
{
	bool is_large = bpf_core_field_size(icsk->icsk_ca_priv) > 104;
	const u64 *priv = icsk->icsk_ca_priv;
	u64 name = NAME8(icsk->icsk_ca_ops->name);

	if (name == NAME8("bpf_bbr3") || (u32)name == (u32)NAME8("bbr3    "))
		return priv[88 / 8] & 3;
	if (is_large && (u32)name == (u32)NAME8("bbr\0    "))
		return priv[32 / 8] & 7;
	return priv[56 / 8] & 7;
}

SEC("fexit/tcp_rcv_established")
int BPF_PROG(on_segment, struct sock *sk)
{
	u32 flow = bpf_ntohs(sk->__sk_common.skc_dport) - FIRST_PORT;
	struct inet_connection_sock *icsk;
	struct tcp_sock *tp;
	struct ack *a;

	if (flow >= FLOWS)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || tp->delivered == delivered[flow])
		return 0;
	icsk = &tp->inet_conn;
	delivered[flow] = tp->delivered;
	a = bpf_ringbuf_reserve(&acks, sizeof(*a), 0);
	if (!a) {
		__sync_fetch_and_add(&acks_dropped, 1);
		return 0;
	}
	a->time_ns = bpf_ktime_get_ns();
	a->acked_bytes = tp->bytes_acked;
	a->pacing_rate = sk->sk_pacing_rate;
	a->rate = 0;
	if (tp->rate_interval_us)
		a->rate = (u64)tp->rate_delivered * tp->mss_cache * 1000000 / tp->rate_interval_us;
	a->rtt_us = tp->rack.rtt_us;
	a->srtt_us = tp->srtt_us >> 3;
	a->min_rtt_us = tp->rtt_min.s[0].v;
	a->cwnd = tp->snd_cwnd;
	a->inflight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	a->lost = tp->lost_out;
	a->retrans = tp->total_retrans;
	a->flow = flow;
	a->ca_state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	a->mode = mode_of(icsk);
	bpf_ringbuf_submit(a, BPF_RB_NO_WAKEUP); /* the recorder comes by with each sample */
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
