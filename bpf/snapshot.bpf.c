// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the state of each socket that uses an algorithm: all instances of it whose layout the
 * reader knows, and the kernel's own bbr, if that is this algorithm. There is one object for each
 * algorithm; the compiler looks for headers in the algorithm's folder. The kernel runs the first of
 * them once for each socket of a network namespace, with the socket locked. A socket that is not of
 * its algorithm goes on to the next.
 */
#include "event.bpf.h"
#include "more_outside.bpf.h"
#include "outside.bpf.h"
#if __has_include("kernel_bbr.bpf.h")
#include "kernel_bbr.bpf.h"
#endif

#define MAX_INSTANCES 4096

char LICENSE[] SEC("license") = "GPL";

const volatile struct bbr_abi abi = {
	.major = BBR_ABI_MAJOR,
};

/*
 * From user space: ids of the struct_ops maps that are instances of our ABI and of this algorithm.
 * The values mean nothing.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_INSTANCES);
	__type(key, u32);
	__type(value, char);
} instances SEC(".maps");

/*
 * The same instances: the address of their tcp_congestion_ops in the kernel, to which their sockets
 * point, and how many were seen. Names would not do: after an upgrade two instances have the same.
 * No address is reused during a snapshot, because the reader holds the maps open.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_INSTANCES);
	__type(key, u64);
	__type(value, struct bbr_snapshot_of);
} instance_ops SEC(".maps");

/*
 * The record, and buffers to fill it: too large for the stack. The reader uses one thread, so that
 * no two runs share them.
 */
struct scratch {
	struct bbr_snapshot snap;
	struct bbr b; /* the kernel's state, converted to ours */
#ifdef bbr_more
	struct bbr_more more;
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/*
 * From user space: the program snapshot of another algorithm, if it is loaded. The kernel (seen in
 * 6.18) never frees this map, of 320 bytes, if somebody opens it by its id between our close() and
 * the work that empties it: each last close() takes a reference for that work, and the work, queued
 * once, puts one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} next SEC(".maps");

#define SNAPSHOT_SIZE (__builtin_offsetof(struct bbr_snapshot, event) + EVENT_SIZE)

/*
 * For user space, which then need not read it from the kernel's BTF. That is megabytes, and would
 * take most of the time of a snapshot.
 */
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
#if __has_include("kernel_bbr.bpf.h")
	layout.kernel_bbr = bpf_core_type_exists(struct bbr___kernel) ? KERNEL_BBR_IS_OTHER :
									KERNEL_BBR_IS_NONE;
	if (kernel_bbr_is_known())
		layout.kernel_bbr = KERNEL_BBR_IS_KNOWN;
#endif
}

/* Runs once for each map of the machine. */
SEC("iter/bpf_map")
int find_ops(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;
	u32 id = map ? map->id : 0;
	struct bbr_snapshot_of of = { .map_id = id };
	u64 ops;

	tell_layout();
	if (!map || !bpf_map_lookup_elem(&instances, &id))
		return 0;
	ops = struct_ops_address(map);
	bpf_map_update_elem(&instance_ops, &ops, &of, BPF_ANY);
	return 0;
}

/* As in tcp_diag_get_info(). */
static inline u32 recv_q_of(struct sock *sk)
{
	struct tcp_sock___outside *tp = (void *)sk;
	s32 queued = tp->rcv_nxt - tp->copied_seq;

	return queued > 0 ? queued : 0;
}

/* Sets the state of a socket that uses an instance. */
static inline void fill_ours(struct scratch *to, struct sock *sk)
{
#ifdef bbr_more
	struct bbr_more *more = copy_more(&to->more, sk);
#else
	struct bbr_more *more = NULL;
#endif

	fill_event(&to->snap.event, sk, state_of(sk), more, &abi);
}

/* The same for the kernel's own bbr. Returns false if the socket does not use it. */
static inline bool fill_kernels(struct scratch *to, struct sock *sk)
{
#if __has_include("kernel_bbr.bpf.h")
	if (!kernel_bbr_is_known() || !is_kernel_bbr(ca_ops_of(sk)))
		return false;
	kernel_bbr_read(&to->b, sk);
	fill_event(&to->snap.event, sk, &to->b, NULL, &abi);
	kernel_bbr_add(&to->snap.event, sk);
	to->snap.event.flags |= BBR_F_KERNEL;
	return true;
#else
	return false;
#endif
}

/* Sets what only the socket of a BBR has, besides fill_socket(). */
static inline void fill_rest(struct bbr_snapshot *snap, struct sock *sk)
{
	struct tcp_sock___outside *tp = (void *)sk;
	struct subflow subflow = subflow_of(sk);

	snap->event.kind = BBR_EV_STATE;
	snap->event.rtt_us = latest_rtt_us(sk);
	snap->recv_q = recv_q_of(sk);
	snap->retrans_out = tp->retrans_out;
	snap->total_retrans = tp->total_retrans;
	if (subflow.is_one)
		snap->places |= BBR_PLACE_MPTCP;
	snap->mptcp_token = subflow.token;
	snap->mptcp_local_id = subflow.local_id;
	snap->mptcp_remote_id = subflow.remote_id;
}

/*
 * A record that does not fit into the rest of the reader's buffer is dropped, and the kernel shows
 * the same socket again at the next read().
 */
static inline void count_seen(struct bbr_snapshot_of *of, struct seq_file *seq, u32 size)
{
	if (of && seq->count + size < seq->size)
		of->seen++;
}

SEC("iter/tcp")
int snapshot(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct seq_file *seq = ctx->meta->seq;
	struct bbr_snapshot_of *of;
	struct scratch *to;
	struct tcp_sock *tp;
	struct sock *sk;
	u64 address;

	to = bpf_map_lookup_elem(&scratch, &(u32){ 0 });
	tp = skc ? bpf_skc_to_tcp_sock(skc) : NULL;
	if (!to || !tp) /* requests and TIME_WAIT have no congestion control */
		return 0;
	sk = (struct sock *)tp;
	address = (u64)ca_ops_of(sk);
	of = bpf_map_lookup_elem(&instance_ops, &address);
	if (!of && !(has_state(sk) && fill_kernels(to, sk))) {
		bpf_tail_call(ctx, &next, 0);
		return 0;
	}
	count_seen(of, seq, has_state(sk) ? SNAPSHOT_SIZE : 0);
	if (!has_state(sk))
		return 0;
	if (of)
		fill_ours(to, sk);
	to->snap.event.tag = of ? of->map_id : 0;
	fill_socket(&to->snap, sk);
	fill_rest(&to->snap, sk);
	bpf_seq_write(seq, &to->snap, SNAPSHOT_SIZE);
	return 0;
}
