// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the state of each socket that uses BBR: ours, of every instance whose layout the reader knows, and the
 * kernel's own. The kernel runs this once for each socket of a network namespace, with the socket locked.
 */
#include "event.bpf.h"
#include "kernel_bbr.bpf.h"

#include "bpf_bbr/snapshot.h"

#define MAX_INSTANCES 4096

char LICENSE[] SEC("license") = "GPL";

const volatile struct bbr_abi abi = {
	.major = BBR_ABI_MAJOR,
};

/* From user space: ids of struct_ops maps, instances of our ABI. The values mean nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_INSTANCES);
	__type(key, u32);
	__type(value, char);
} instances SEC(".maps");

/*
 * The same instances: where the kernel has their tcp_congestion_ops, to which their sockets point, and the id.
 * Names would not do: after an upgrade two have the same. No address is reused while this is, as the reader holds
 * the maps open.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_INSTANCES);
	__type(key, u64);
	__type(value, u32);
} instance_ops SEC(".maps");

/* To user space, which then need not read it from the kernel's BTF: megabytes, and most of the time of a snapshot. */
struct bbr_ops_layout layout;

#define OFFSET(type, member) \
	bpf_core_field_offset(struct bpf_struct_ops_tcp_congestion_ops___##type, member)

static inline void tell_layout(void)
{
	if (bpf_core_field_exists(struct bpf_struct_ops_tcp_congestion_ops___common, common)) {
		layout.refcnt = OFFSET(common, common.refcnt);
		layout.state = OFFSET(common, common.state);
	} else {
		layout.refcnt = OFFSET(flat, refcnt);
		layout.state = OFFSET(flat, state);
	}
	layout.name = OFFSET(common, data.name);
	layout.cong_control = OFFSET(common, data.cong_control);
	layout.init = OFFSET(common, data.init);
	layout.value_type =
		bpf_core_type_id_kernel(struct bpf_struct_ops_tcp_congestion_ops___common);
}

/* Runs once for each map of the machine. */
SEC("iter/bpf_map")
int find_ops(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;
	u32 id = map ? map->id : 0;
	u64 ops;

	tell_layout();
	if (!map || !bpf_map_lookup_elem(&instances, &id))
		return 0;
	ops = (u64)map + bpf_core_field_offset(struct bpf_struct_ops_map, kvalue) -
	      bpf_core_field_offset(struct bpf_struct_ops_map, map) +
	      bpf_core_field_offset(struct bpf_struct_ops_value, data);
	bpf_map_update_elem(&instance_ops, &ops, &id, BPF_ANY);
	return 0;
}

static inline u64 inode_of(struct sock *sk)
{
	struct socket_alloc *s = (void *)((struct sock___outside *)sk)->sk_socket;

	return s ? BPF_CORE_READ(s, vfs_inode.i_ino) : 0; /* beyond struct socket: not by a load */
}

/* As tcp_diag_get_info() has it. */
static inline u32 recv_q_of(struct sock *sk)
{
	struct tcp_sock___outside *tp = (void *)sk;
	s32 queued = tp->rcv_nxt - tp->copied_seq;

	return queued > 0 ? queued : 0;
}

static inline u32 send_q_of(struct sock *sk)
{
	struct tcp_sock___outside *tp = (void *)sk;

	return tp->write_seq - tp->snd_una;
}

static inline void fill_snapshot(struct bbr_snapshot *snap, struct sock *sk, const struct bbr *b)
{
	fill_event(&snap->event, sk, b, &abi);
	snap->event.kind = BBR_EV_STATE;
	snap->event.rtt_us = latest_rtt_us(sk);
	snap->cookie = bpf_get_socket_cookie(sk);
	snap->cgroup = sk->sk_cgrp_data.cgroup->kn->id;
	snap->inode = inode_of(sk);
	snap->uid = ((struct sock___outside *)sk)->sk_uid.val;
	snap->mark = sk->sk_mark;
	snap->recv_q = recv_q_of(sk);
	snap->send_q = send_q_of(sk);
	snap->bound_ifindex = ((struct sock___outside *)sk)->__sk_common.skc_bound_dev_if;
	snap->state = sk->__sk_common.skc_state;
}

SEC("iter/tcp")
int snapshot(struct bpf_iter__tcp *ctx)
{
	const struct tcp_congestion_ops___outside *ops;
	struct sock_common *skc = ctx->sk_common;
	struct bbr_snapshot snap = {};
	struct tcp_sock *tp;
	struct sock *sk;
	u64 address;
	u32 *id;

	tp = skc ? bpf_skc_to_tcp_sock(skc) : NULL;
	if (!tp) /* requests and TIME_WAIT have no congestion control */
		return 0;
	sk = (struct sock *)tp;
	if (!has_state(sk))
		return 0;
	ops = ca_ops_of(sk);
	address = (u64)ops;
	id = bpf_map_lookup_elem(&instance_ops, &address);
	if (id) {
		fill_snapshot(&snap, sk, bbr_of(sk));
		snap.event.tag = *id;
	} else if (kernel_bbr_is_known() && is_kernel_bbr(ops)) {
		struct bbr b;

		read_kernel_bbr(&b, sk);
		fill_snapshot(&snap, sk, &b);
		snap.event.flags |= BBR_F_KERNEL;
	} else {
		return 0;
	}
	bpf_seq_write(ctx->meta->seq, &snap, sizeof(snap));
	return 0;
}
