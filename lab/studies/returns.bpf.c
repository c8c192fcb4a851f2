// SPDX-License-Identifier: GPL-2.0-only
/*
 * A congestion control that notices when the kernel skips its programs: `returns`. What a skipped program returns is a word that
 * the stack happens to hold. This one's ssthresh and undo_cwnd return values that TCP gets from nowhere else, and each callback
 * looks whether the socket has anything but these.
 *
 * Some calls take longer, so that softirqs run the same program on top of it: the kernel must not skip that, either.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SSTHRESH 0x5a5a5a
#define SSTHRESH_INFINITE 0x7fffffff
#define CWND 40 /* what cong_control sets */
#define CWND_MOST 150 /* the window after a timeout is in flight + 1 */
#define CWND_UNDONE 300
#define MIN_TSO_SEGS 2
#define SNDBUF_EXPAND 2
#define SNDBUF_MOST 2500000 /* bytes: what CWND_UNDONE asks for, at an MTU of 1500, is less */
#define PACING_RATE 500000 /* bytes/s */
#define SANE_CWND (1 << 20) /* packets, of any congestion control */
#define NULL ((void *)0)
#define SPINS_RARE 50 /* of 2,000 instructions each */
#define SPINS_OFTEN 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	int sk_sndbuf;
	unsigned long sk_pacing_rate;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, const void *rs);
	char name[16];
};

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
};

#pragma clang attribute pop

/* What the stack had from a callback. stale: how often it was not what the program returns; word: the last such value. */
struct counts {
	__u64 calls, nested, stale, word;
};

enum {
	OF_SSTHRESH,
	OF_UNDO_CWND,
	OF_SNDBUF_EXPAND,
	OF_MIN_TSO_SEGS,
	OF_CONG_CONTROL,
	OF_STACK,
	OPS
};

struct counts counts[OPS] SEC(".data.counts");

/* How many calls of each program run on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OPS);
	__type(key, __u32);
	__type(value, __u64);
} depths SEC(".maps");

static long spin(__u32 i, void *unused)
{
	asm volatile(".rept 2000\n\tr0 = 0\n\t.endr" ::: "r0");
	return 0;
}

static void found(__u32 op, __u64 word)
{
	__sync_fetch_and_add(&counts[op].stale, 1);
	counts[op].word = word;
}

/* Looks at what the stack made of the calls before, and mends it, so that each counts once. */
static void check(struct tcp_sock *tp)
{
	int sndbuf = ((struct sock *)tp)->sk_sndbuf;

	if (tp->snd_ssthresh != SSTHRESH && tp->snd_ssthresh != SSTHRESH_INFINITE) {
		found(OF_SSTHRESH, tp->snd_ssthresh);
		tp->snd_ssthresh = SSTHRESH;
	}
	if (tp->snd_cwnd - 1 >= CWND_MOST && tp->snd_cwnd != CWND_UNDONE) {
		found(OF_UNDO_CWND, tp->snd_cwnd);
		tp->snd_cwnd = CWND;
	}
	if (sndbuf > SNDBUF_MOST && !tp->inet_conn.icsk_ca_priv[0]) {
		found(OF_SNDBUF_EXPAND, sndbuf);
		tp->inet_conn.icsk_ca_priv[0] = 1;
	}
}

static void call(__u32 op, __u32 spins)
{
	__u32 key = op;
	__u64 *depth = bpf_map_lookup_elem(&depths, &key);

	__sync_fetch_and_add(&counts[op].calls, 1);
	if (!depth)
		return;
	if (__sync_fetch_and_add(depth, 1))
		__sync_fetch_and_add(&counts[op].nested, 1);
	if (spins)
		bpf_loop(spins, spin, NULL, 0);
	__sync_fetch_and_add(depth, -1);
}

static __u32 rarely(void)
{
	return bpf_get_prandom_u32() % 64 ? 0 : SPINS_OFTEN;
}

SEC("struct_ops/ssthresh")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	call(OF_SSTHRESH, SPINS_RARE);
	check((struct tcp_sock *)sk);
	return SSTHRESH;
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	call(OF_UNDO_CWND, SPINS_RARE);
	return CWND_UNDONE;
}

SEC("struct_ops/sndbuf_expand")
__u32 BPF_PROG(sndbuf_expand, struct sock *sk)
{
	call(OF_SNDBUF_EXPAND, rarely());
	return SNDBUF_EXPAND;
}

SEC("struct_ops/min_tso_segs")
__u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	call(OF_MIN_TSO_SEGS, rarely());
	return MIN_TSO_SEGS;
}

SEC("struct_ops/cong_control")
void BPF_PROG(cong_control, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	call(OF_CONG_CONTROL, rarely());
	check(tp);
	tp->snd_cwnd = CWND;
	sk->sk_pacing_rate = PACING_RATE;
}

SEC(".struct_ops")
struct tcp_congestion_ops returns = {
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.sndbuf_expand = (void *)sndbuf_expand,
	.min_tso_segs = (void *)min_tso_segs,
	.cong_control = (void *)cong_control,
	.name = "returns",
};

/* True if the socket has this file's congestion control. */
static int is_ours(struct tcp_sock *tp)
{
	const char name[] = "returns";

	for (__u32 i = 0; i < sizeof(name); i++)
		if (tp->inet_conn.icsk_ca_ops->name[i] != name[i])
			return 0;
	return 1;
}

/*
 * Each packet that a socket sends. Of any congestion control: what undo_cwnd returned is its window. Of this file's: at its
 * pacing rate a burst has no more segments than min_tso_segs returned. Its instance has counts of its own; these are beside them.
 */
SEC("tc")
int on_packet(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;
	struct bpf_tcp_sock *tp = sk ? bpf_tcp_sock(sk) : NULL;

	if (!tp || sk->state == BPF_TCP_CLOSE) /* or the kernel's own, which sends resets */
		return 0;
	__sync_fetch_and_add(&counts[OF_STACK].calls, 1);
	if (tp->snd_cwnd - 1 >= SANE_CWND)
		found(OF_STACK, tp->snd_cwnd);
	if (skb->gso_segs > MIN_TSO_SEGS) {
		struct tcp_sock *sender = bpf_skc_to_tcp_sock(sk);

		if (sender && is_ours(sender))
			found(OF_MIN_TSO_SEGS, skb->gso_segs);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
