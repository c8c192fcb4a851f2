// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of the kernel's own bbr, seen from outside: at each tracepoint that a connection passes,
 * this reports what has changed since its last look. Monitors subscribe as they do to an instance.
 * Attached only while bbrmon runs. One object for each algorithm that a kernel may have as its bbr
 * (kernel_bbr.bpf.h in its folder).
 */
#include "event.bpf.h"
#include "kernel_bbr.bpf.h"
#include "more_outside.bpf.h"
#include "subscribers.bpf.h"

#define TCP_ESTABLISHED 1
#define TCP_CLOSE 7

char LICENSE[] SEC("license") = "GPL";

struct seen_conn {
	struct watched_conn conn;
	u32 round; /* as of the last ACK: kernel_bbr_round() */
	u32 round_now; /* as of the last look */
	u8 mode, place; /* as of the last look */
	bool known; /* there was a last look */
	bool starts; /* it was established, but no event has reported it yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct seen_conn);
} seen_conns SEC(".maps");

/* Returns the socket if it uses the kernel's bbr and somebody watches, else NULL. */
static inline struct sock *sock_of_bbr(struct sock *sk)
{
	struct tcp_sock *tp;

	if (!kernel_bbr_is_known() || !active_subscribers())
		return NULL;
	tp = bpf_skc_to_tcp_sock(sk);
	return tp && is_kernel_bbr(ca_ops_of((struct sock *)tp)) ? (struct sock *)tp : NULL;
}

/*
 * Returns NULL if there was no memory; then subscribers learn that they lost an event of this kind.
 */
static inline struct seen_conn *seen_conn(struct sock *sk, u8 kind)
{
	struct seen_conn *seen =
		bpf_sk_storage_get(&seen_conns, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (!seen)
		lose_event(kind);
	else if (!seen->conn.id)
		seen->conn.id = __sync_fetch_and_add(&watch.next_conn, 1) + 1;
	return seen;
}

/*
 * Looks at a connection because of an event of this kind, and first reports what has changed since
 * the last look.
 */
static __attribute__((noinline)) struct seen_conn *look(struct sock *sk, u8 kind)
{
	struct seen_conn *seen = seen_conn(sk, kind);
	struct bbr_event *e;
	struct bbr b;

	if (!seen)
		return NULL;
	e = &seen->conn.event;
	kernel_bbr_read(&b, sk);
	fill_event(e, sk, &b, NULL, &abi);
	kernel_bbr_add(e, sk);
	e->conn = seen->conn.id;
	e->flags |= BBR_F_KERNEL;
	e->rtt_us = latest_rtt_us(sk);
	if (seen->starts)
		publish_step(&seen->conn, BBR_EV_START, 0, 0, 0);
	else if (seen->known && seen->place != kernel_bbr_place(&b))
		publish_step(&seen->conn, BBR_EV_MODE, seen->mode, e->mode, 0);
	seen->round_now = kernel_bbr_round(&b);
	if (!seen->known)
		seen->round = seen->round_now;
	seen->starts = false;
	seen->known = true;
	seen->mode = e->mode;
	seen->place = kernel_bbr_place(&b);
	return seen;
}

/*
 * A segment has arrived on an established connection, and is not processed yet. It counts as an ACK
 * if something is in flight: otherwise congestion control would not see it either.
 */
SEC("tp_btf/tcp_probe")
int segment(unsigned long long *ctx)
{
	struct sock *sk = sock_of_bbr((struct sock *)ctx[0]);
	struct seen_conn *seen;
	struct bbr_event *e;

	if (!sk || !has_state(sk) || !tcp_sk(sk)->packets_out)
		return 0;
	seen = look(sk, BBR_EV_ACK);
	if (!seen)
		return 0;
	e = &seen->conn.event;
	/* BBR's own mark is of its last ACK, which may not be the ACK of our last look. */
	e->flags &= ~BBR_F_ROUND_START;
	if (seen->round != seen->round_now)
		e->flags |= BBR_F_ROUND_START;
	seen->round = seen->round_now;
	publish_step(&seen->conn, BBR_EV_ACK, 0, 0, 0);
	return 0;
}

/* The stack is about to go from one congestion state to another. */
SEC("tp_btf/tcp_cong_state_set")
int ca_state(unsigned long long *ctx)
{
	struct sock *sk = sock_of_bbr((struct sock *)ctx[0]);
	u8 from, to = ctx[1];
	struct seen_conn *seen;

	if (!sk || !has_state(sk))
		return 0;
	from = ca_state_of(sk);
	if (from < TCP_CA_Recovery && to < TCP_CA_Recovery)
		return 0;
	seen = look(sk, to == TCP_CA_Loss ? BBR_EV_RTO : BBR_EV_RECOVERY);
	if (!seen)
		return 0;
	if (to == TCP_CA_Loss)
		publish_step(&seen->conn, BBR_EV_RTO, from, to, 0);
	if (from != to)
		publish_step(&seen->conn, BBR_EV_RECOVERY, from, to, 0);
	return 0;
}

/*
 * The side that accepts has its congestion control ready when it gets established. The side that
 * connects has it right after that, so its start is reported at the first look.
 */
static inline void established(struct sock *sk)
{
	struct seen_conn *seen = seen_conn(sk, BBR_EV_START);

	if (!seen)
		return;
	seen->starts = true;
	if (has_state(sk))
		look(sk, BBR_EV_START);
}

SEC("tp_btf/inet_sock_set_state")
int tcp_state(unsigned long long *ctx)
{
	struct sock *sk = sock_of_bbr((struct sock *)ctx[0]);
	u32 to = ctx[2];
	struct seen_conn *seen;

	if (!sk)
		return 0;
	if (to == TCP_ESTABLISHED)
		established(sk);
	if (to != TCP_CLOSE || !has_state(sk))
		return 0;
	seen = look(sk, BBR_EV_END);
	if (seen)
		publish_step(&seen->conn, BBR_EV_END, 0, 0, 0);
	bpf_sk_storage_delete(&seen_conns, sk); /* the socket may connect again */
	return 0;
}
