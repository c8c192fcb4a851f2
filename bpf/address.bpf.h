/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A socket's cookie, ports, and addresses in network byte order, IPv4 as ::ffff:a.b.c.d; of a
 * subflow its MPTCP connection; whether it is in a sockmap; and what a snapshot has of any socket.
 */
#ifndef ADDRESS_BPF_H
#define ADDRESS_BPF_H

#include "base/chrono.bpf.h"
#include "base/types.h"
#include "bpf_bbr/snapshot.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct atomic64___cookie {
	s64 counter;
} __attribute__((preserve_access_index));

struct sock_common___cookie {
	struct atomic64___cookie skc_cookie;
} __attribute__((preserve_access_index));

struct sock_common___ports {
	__u32 skc_portpair; /* skc_dport and skc_num */
} __attribute__((preserve_access_index));

/* Returns 0 if the socket has no cookie yet. */
static inline u64 cookie_of(struct sock *sk)
{
	return ((struct sock_common___cookie *)sk)->skc_cookie.counter;
}

static inline u32 ports_of(struct sock *sk)
{
	return ((struct sock_common___ports *)sk)->skc_portpair;
}

static inline void mapped_address(u32 addr[4], __be32 v4)
{
	addr[0] = addr[1] = 0;
	addr[2] = bpf_htonl(0xffff);
	addr[3] = v4;
}

static inline void remote_address(u32 addr[4], struct sock *sk)
{
	struct sock_common *skc = &sk->__sk_common;

	if (skc->skc_family == AF_INET6)
		for (int i = 0; i < 4; i++)
			addr[i] = skc->skc_v6_daddr.in6_u.u6_addr32[i];
	else
		mapped_address(addr, skc->skc_daddr);
}

static inline void local_address(u32 addr[4], struct sock *sk)
{
	struct sock_common *skc = &sk->__sk_common;

	if (skc->skc_family == AF_INET6)
		for (int i = 0; i < 4; i++)
			addr[i] = skc->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
	else
		mapped_address(addr, skc->skc_rcv_saddr);
}

/* Some kernels have a wider local_id, below 0 if it is not known yet; others have no MPTCP. */
struct mptcp_subflow_context {
	u32 token;
	u8 local_id;
	u8 remote_id;
} __attribute__((preserve_access_index));

struct inet_connection_sock___mptcp {
	void *icsk_ulp_data;
} __attribute__((preserve_access_index));

struct tcp_sock___mptcp {
	bool is_mptcp;
} __attribute__((preserve_access_index));

struct sock___sockmap {
	void *sk_user_data;
} __attribute__((preserve_access_index));

struct subflow {
	bool is_one; /* else all is 0 */
	u32 token; /* of the MPTCP connection, at this end */
	u8 local_id, remote_id; /* of the addresses */
};

/* A load of a `void *` would yield a pointer, on which newer kernels refuse arithmetic. */
static inline bool is_in_sockmap(struct sock *sk)
{
	u64 data = (u64)BPF_CORE_READ((struct sock___sockmap *)sk, sk_user_data);

	return data & SK_USER_DATA_PSOCK;
}

static inline struct subflow subflow_of(struct sock *sk)
{
	struct tcp_sock___mptcp *tp = (void *)sk;
	struct mptcp_subflow_context *context;
	struct subflow subflow = {};
	s32 local_id;

	if (!bpf_core_field_exists(tp->is_mptcp) || !BPF_CORE_READ_BITFIELD_PROBED(tp, is_mptcp))
		return subflow;
	context = BPF_CORE_READ((struct inet_connection_sock___mptcp *)sk, icsk_ulp_data);
	local_id = BPF_CORE_READ_BITFIELD_PROBED(context, local_id);
	subflow.is_one = true;
	subflow.token = BPF_CORE_READ(context, token);
	subflow.local_id = local_id < 0 ? 0 : local_id;
	subflow.remote_id = BPF_CORE_READ(context, remote_id);
	return subflow;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

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

struct sock_common___snapshot {
	int skc_bound_dev_if;
};

typedef struct {
	u32 val;
} kuid_t;

struct sock___snapshot {
	struct sock_common___snapshot __sk_common;
	struct socket *sk_socket;
	kuid_t sk_uid;
};

struct tcp_sock___snapshot {
	u32 write_seq;
	u32 snd_una;
};

#pragma clang attribute pop

static inline u64 inode_of(struct sock *sk)
{
	struct socket_alloc *s = (void *)((struct sock___snapshot *)sk)->sk_socket;

	return s ? BPF_CORE_READ(s, vfs_inode.i_ino) : 0; /* beyond struct socket: not by a load */
}

/* What a snapshot has besides the event, whichever congestion control the socket uses. */
static inline void fill_socket(struct bbr_snapshot *snap, struct sock *sk)
{
	struct sock___snapshot *s = (void *)sk;
	struct tcp_sock___snapshot *tp = (void *)sk;
	struct chrono chrono = chrono_of((struct tcp_sock *)sk);

	snap->cookie = bpf_get_socket_cookie(sk);
	snap->cgroup = sk->sk_cgrp_data.cgroup->kn->id;
	snap->inode = inode_of(sk);
	snap->uid = s->sk_uid.val;
	snap->mark = sk->sk_mark;
	snap->send_q = tp->write_seq - tp->snd_una;
	snap->bound_ifindex = s->__sk_common.skc_bound_dev_if;
	snap->busy_ticks = chrono.busy;
	snap->rwnd_ticks = chrono.rwnd;
	snap->sndbuf_ticks = chrono.sndbuf;
	snap->state = sk->__sk_common.skc_state;
	snap->places = is_in_sockmap(sk) ? BBR_PLACE_SOCKMAP : 0;
}

#endif
