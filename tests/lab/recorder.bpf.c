// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records every ACK at the senders of the lab, whatever their congestion control. At the end of
 * tcp_rcv_established() the ACK is worked in and the socket is still locked.
 */
#include <linux/types.h>

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
#define MODE_OFFSET 56 /* of the word in struct bbr whose low three bits are the mode */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	__be16 skc_dport;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
};

struct inet_connection_sock {
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
	a->mode = icsk->icsk_ca_priv[MODE_OFFSET / 8] & 7;
	bpf_ringbuf_submit(a, BPF_RB_NO_WAKEUP); /* the recorder comes by with each sample */
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
