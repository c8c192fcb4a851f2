/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the snapshot iterator (bpf/snapshot.bpf.c) writes for each socket that uses an algorithm, in
 * any of our instances or as the kernel's own bbr.
 *
 * There is one object for each algorithm, with the same maps and programs. User space puts the ids
 * of the struct_ops maps of that algorithm's instances (bbr_abi.algorithm, and the reader's own
 * major) into `instances`, runs find_ops, puts each program snapshot into `next` of the one before,
 * and then runs the first one in each network namespace, with one thread. An algorithm whose state has a second part needs nothing more: the iterator finds it by
 * itself, and what it cannot read has its value for "not known".
 */
#ifndef BPF_BBR_SNAPSHOT_H
#define BPF_BBR_SNAPSHOT_H

#include "bpf_bbr/events.h"

/* An instance that is read, by the address of its tcp_congestion_ops in the kernel. */
struct bbr_snapshot_of {
	__u32 map_id;
	__u32 seen; /* sockets that used it, whether they are shown or not: listeners are not */
};

/* What is unusual of a socket. */
#define BBR_PLACE_MPTCP (1u << 0) /* a subflow of an MPTCP connection */
#define BBR_PLACE_SOCKMAP (1u << 1) /* in a sockmap, by whose program its data may pass TCP by */

struct bbr_snapshot {
	__u64 cookie; /* SO_COOKIE: unique while the machine runs */
	__u64 cgroup; /* id of the socket's cgroup (version 2) */
	__u64 inode; /* of the socket in /proc/PID/fd; 0: no process has it any more */
	__u32 uid; /* of its owner, in the initial user namespace */
	__u32 mark; /* SO_MARK */
	__u32 recv_q, send_q; /* bytes, as ss(8) shows them */
	__u32 bound_ifindex; /* SO_BINDTODEVICE, 0: none */
	__u32 busy_ticks, rwnd_ticks,
		sndbuf_ticks; /* as TCP_INFO counts them: busy has the others */
	__u32 retrans_out,
		total_retrans; /* packets: resent and not ACKed, resent since the start */
	__u32 mptcp_token; /* of its MPTCP connection at this end, as ss -M shows it */
	__u8 state; /* TCP_ESTABLISHED, ... */
	__u8 places; /* BBR_PLACE_... */
	__u8 mptcp_local_id, mptcp_remote_id; /* of the subflow's addresses, as ss -ti shows them */
	/*
	 * BBR_EV_STATE, without conn, seq and params_gen. tag is the id of the struct_ops map that
	 * registers the socket's congestion control, 0 with BBR_F_KERNEL. Last, because a record
	 * ends where the event does (event.size).
	 */
	struct bbr_event event;
};

/* What a snapshot program finds of the kernel's own bbr, built in or as a loaded module. */
enum kernel_bbr {
	KERNEL_BBR_IS_NONE, /* there is none, or this algorithm cannot be one */
	KERNEL_BBR_IS_KNOWN, /* it is this algorithm */
	KERNEL_BBR_IS_OTHER,
};

/*
 * Where the running kernel keeps what the tools read of the value of a struct_ops map for TCP:
 * offsets in bytes.
 */
struct bbr_ops_layout {
	__u32 value_type; /* BTF id of struct bpf_struct_ops_tcp_congestion_ops; 0: there is none */
	__u32 refcnt, state;
	__u32 name, cong_control, init;
	__u32 kernel_bbr; /* enum kernel_bbr */
};

_Static_assert(__builtin_offsetof(struct bbr_snapshot, event) == 72, "bbr_snapshot has no gaps");

#endif
