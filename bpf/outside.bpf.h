/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fields of a socket that only programs outside of an instance read. These are flavours of the
 * kernel's types, separate from vmlinux.h: the compiler's choices depend on how large and how full
 * its structs are, and the cost of an ACK must stay as it was measured.
 */
#ifndef OUTSIDE_BPF_H
#define OUTSIDE_BPF_H

#include "base/struct_ops.bpf.h"
#include "kernel.bpf.h"
#include "bpf_bbr/events.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct module;

struct tcp_congestion_ops___outside {
	char name[BBR_NAME_LEN];
	struct module *owner;
	void *init;
	void *cong_control;
};

struct refcount_struct {
	int refs;
};

enum bpf_struct_ops_state {
	BPF_STRUCT_OPS_STATE_INIT,
};

struct bpf_struct_ops_common_value {
	struct refcount_struct refcnt;
	enum bpf_struct_ops_state state;
};

/* From 6.9 on, and before. */
struct bpf_struct_ops_tcp_congestion_ops___common {
	struct bpf_struct_ops_common_value common;
	struct tcp_congestion_ops___outside data;
};

struct bpf_struct_ops_tcp_congestion_ops___flat {
	struct refcount_struct refcnt;
	enum bpf_struct_ops_state state;
	struct tcp_congestion_ops___outside data;
};

struct inet_connection_sock___outside {
	const struct tcp_congestion_ops___outside *icsk_ca_ops;
	__u8 icsk_ca_initialized : 1;
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock___outside {
	struct tcp_rack rack;
	u32 rcv_nxt;
	u32 copied_seq;
	u32 retrans_out;
	u32 total_retrans;
};

#pragma clang attribute pop

static inline const struct tcp_congestion_ops___outside *ca_ops_of(struct sock *sk)
{
	return ((struct inet_connection_sock___outside *)sk)->icsk_ca_ops;
}

/*
 * The low half of BPF_MODULE_OWNER. No struct module has such an address, because they are aligned.
 */
#define BPF_OWNER_LOW (0xeB9Fu << 2)

/* True if these belong to the kernel's bbr, not to a BPF program of that name. */
static inline bool is_kernel_bbr(const struct tcp_congestion_ops___outside *ops)
{
	return ops->name[0] == 'b' && ops->name[1] == 'b' && ops->name[2] == 'r' && !ops->name[3] &&
	       (u32)(u64)ops->owner != BPF_OWNER_LOW;
}

/*
 * Before init there is no state: a listener, or a connection that is not established yet, has none.
 */
static inline bool has_state(struct sock *sk)
{
	struct inet_connection_sock___outside *icsk = (void *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized);
}

/* The latest RTT that the stack measured. */
static inline u32 latest_rtt_us(struct sock *sk)
{
	u32 rtt_us = ((struct tcp_sock___outside *)sk)->rack.rtt_us;

	return rtt_us ? rtt_us : BBR_RTT_NONE;
}

#endif
