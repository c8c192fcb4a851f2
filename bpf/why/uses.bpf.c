// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts which TCP sockets use which congestion control, and how they got it (bpf_bbr/uses.h). The
 * kernel runs count_sockets() once for each socket of a network namespace, with the socket locked.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "address.bpf.h"
#include "base/struct_ops_ids.bpf.h"
#include "bpf_bbr/uses.h"
#include "terms.bpf.h"

#define SK_PACING_FQ 2 /* of sk_pacing_status; vmlinux.h has the others */
#define METRICS_FLAGS 3ul /* in the pointer to a route's metrics */
#define METRIC_CC 15 /* RTAX_CC_ALGO - 1 */
#define RTT_NONE (~0u)

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_congestion_ops___uses {
	u32 key;
	char name[BBR_NAME_LEN];
};

struct inet_connection_sock___uses {
	const struct tcp_congestion_ops___uses *icsk_ca_ops;
	u8 icsk_ca_initialized : 1;
	u8 icsk_ca_setsockopt : 1;
	u8 icsk_ca_dst_locked : 1;
};

struct net_device___uses {
	int ifindex;
};

struct dst_entry___uses {
	struct net_device___uses *dev;
	unsigned long _metrics;
};

struct inode___uses {
	unsigned long i_ino;
};

struct socket___uses {
	short type;
};

struct socket_alloc___uses {
	struct socket___uses socket;
	struct inode___uses vfs_inode;
};

struct sock___uses {
	struct dst_entry___uses *sk_dst_cache;
	struct socket_alloc___uses *sk_socket;
};

struct tcp_sock___uses {
	u64 bytes_received;
	u32 rate_interval_us;
	struct {
		u32 space;
	} rcvq_space;
};

#pragma clang attribute pop

/* From user space, by the socket's inode: which attachment covers the process that has it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, USES_INODES);
	__type(key, u64);
	__type(value, u32);
} uses_inodes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, USES_GROUPS);
	__type(key, struct uses_key);
	__type(value, struct uses_group);
} uses_groups SEC(".maps");

/* Which route of the file leads to an address; 0: none, because a narrower one does. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, USES_ROUTES);
	__type(key, struct uses_route);
	__type(value, u32);
} uses_routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, USES_CONDITIONS);
	__type(key, u32);
	__type(value, struct uses_condition);
} uses_conditions SEC(".maps");

__u64 uses_lost; /* sockets without a place in uses_groups */

/* Runs once for each map of the machine. */
SEC("iter/bpf_map")
int find_all_ops(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;

	if (map)
		note_struct_ops(map);
	return 0;
}

/* Adds what the socket's route says. */
static inline void fill_route(struct uses_key *key, struct sock *sk)
{
	struct inet_connection_sock___uses *icsk = (void *)sk;
	struct dst_entry___uses *dst = ((struct sock___uses *)sk)->sk_dst_cache;
	u32 cc = 0;
	u64 metrics;

	if (dst) {
		key->ifindex = BPF_CORE_READ(dst, dev, ifindex);
		metrics = BPF_CORE_READ(dst, _metrics) & ~METRICS_FLAGS;
		bpf_probe_read_kernel(&cc, sizeof(cc), (u32 *)metrics + METRIC_CC);
	} else {
		key->flags |= USES_NO_ROUTE;
	}
	if ((cc && cc == BPF_CORE_READ(icsk, icsk_ca_ops, key)) ||
	    BPF_CORE_READ_BITFIELD(icsk, icsk_ca_dst_locked))
		key->flags |= USES_ROUTE;
}

static inline u32 route_to(struct sock *sk)
{
	struct uses_route key = { .prefixlen = 32 + 128,
				  .netns = sk->__sk_common.skc_net.net->ns.inum };
	u32 *route;

	remote_address(key.addr, sk);
	route = bpf_map_lookup_elem(&uses_routes, &key);
	return route ? *route : 0;
}

struct trying {
	struct term_socket socket;
	u64 held;
	u32 condition;
	bool fails;
};

/* Called by bpf_loop(): with a plain loop the verifier of 6.19 gives up. */
static long try_term(u32 k, struct trying *t)
{
	const struct uses_condition *c = bpf_map_lookup_elem(&uses_conditions, &t->condition);

	if (!c || k >= BBR_ATTACH_TERMS || k >= c->n)
		return true;
	t->fails = !term_holds(&c->term[k], &t->socket);
	return t->fails;
}

static long try_conditions(u32 i, struct trying *t)
{
	const struct uses_condition *c = bpf_map_lookup_elem(&uses_conditions, &i);

	if (!c || !c->n)
		return true;
	t->condition = i;
	t->fails = false;
	bpf_loop(BBR_ATTACH_TERMS, try_term, t, 0);
	if (!t->fails)
		t->held |= 1ull << (i & 63);
	return false;
}

static inline u64 conditions_held(struct sock *sk)
{
	struct trying t = {};

	fill_term_socket(&t.socket, sk);
	fill_term_socket_up(&t.socket, sk);
	bpf_loop(USES_CONDITIONS, try_conditions, &t, 0);
	return t.held;
}

static inline void fill_key(struct uses_key *key, struct sock *sk)
{
	struct inet_connection_sock___uses *icsk = (void *)sk;
	struct socket_alloc___uses *alloc = ((struct sock___uses *)sk)->sk_socket;
	u64 inode = alloc ? BPF_CORE_READ(alloc, vfs_inode.i_ino) : 0;
	u32 *attachment = bpf_map_lookup_elem(&uses_inodes, &inode);

	key->ops = (u64)icsk->icsk_ca_ops;
	key->cgroup = sk->sk_cgrp_data.cgroup->kn->id;
	key->netns = sk->__sk_common.skc_net.net->ns.inum;
	key->attachment = attachment ? *attachment : 0;
	if (BPF_CORE_READ_BITFIELD(icsk, icsk_ca_setsockopt))
		key->flags |= USES_CHOSEN;
	if (sk->__sk_common.skc_state == TCP_LISTEN) {
		key->flags |= USES_LISTENER;
		return;
	}
	fill_route(key, sk);
	key->route = route_to(sk);
	key->held = conditions_held(sk);
}

/* Returns the group, which may be new; NULL: there is no room for it. */
static inline struct uses_group *group_of(struct sock *sk)
{
	struct inet_connection_sock___uses *icsk = (void *)sk;
	struct uses_group new = {}, *group;
	struct uses_key key = {};

	fill_key(&key, sk);
	group = bpf_map_lookup_elem(&uses_groups, &key);
	if (group)
		return group;
	new.map_id = struct_ops_id(key.ops);
	bpf_core_read_str(new.name, sizeof(new.name), &icsk->icsk_ca_ops->name);
	remote_address(new.raddr, sk);
	bpf_map_update_elem(&uses_groups, &key, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&uses_groups, &key);
}

static inline void add_traffic(struct uses_group *group, struct tcp_sock *tp)
{
	struct tcp_sock___uses *more = (void *)tp;
	u32 interval = more->rate_interval_us, min_rtt_us = tp->rtt_min.s[0].v;
	u64 received = more->rcvq_space.space, rate = 0, bdp = 0;

	if (interval) {
		rate = (u64)tp->rate_delivered * tp->mss_cache * 1000000 / interval;
		if (min_rtt_us != RTT_NONE)
			bdp = (u64)tp->rate_delivered * tp->mss_cache * min_rtt_us / interval;
	}
	group->bytes_acked += tp->bytes_acked;
	group->bytes_received += more->bytes_received;
	/* Before anything was received it is what the socket hopes for. */
	if (more->bytes_received > received && received > group->bdp_received)
		group->bdp_received = received;
	if (bdp > group->bdp_sent)
		group->bdp_sent = bdp;
	if (rate > group->rate)
		group->rate = rate;
}

SEC("iter/tcp")
int count_sockets(struct bpf_iter__tcp *ctx)
{
	struct inet_connection_sock___uses *icsk;
	struct sock_common *skc = ctx->sk_common;
	struct uses_group *group;
	struct tcp_sock *tp;
	struct sock *sk;
	bool listens;

	tp = skc ? bpf_skc_to_tcp_sock(skc) : NULL;
	if (!tp) /* requests and TIME_WAIT have no congestion control */
		return 0;
	icsk = (void *)tp;
	sk = (struct sock *)tp;
	/* A listener passes on only what somebody chose for it. */
	listens = skc->skc_state == TCP_LISTEN && BPF_CORE_READ_BITFIELD(icsk, icsk_ca_setsockopt);
	if (!listens && !BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized))
		return 0;
	group = group_of(sk);
	if (!group) {
		uses_lost++;
		return 0;
	}
	group->n++;
	group->by_fq += sk->sk_pacing_status == SK_PACING_FQ;
	group->by_tcp += sk->sk_pacing_status == SK_PACING_NEEDED;
	if (!listens)
		add_traffic(group, tp);
	return 0;
}
