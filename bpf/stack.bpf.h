/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the kernel's socket that only version 3 reads and changes: ECN, and what only
 * Google's stack knows, which some distributions build into their kernels. What does not apply is
 * dead code to the verifier, like all differences between kernels (kernel.bpf.h).
 */
#ifndef BBR_STACK_BPF_H
#define BBR_STACK_BPF_H

#include "kernel.bpf.h"

/* A constant once the object is loaded; the loader may set it before. */
static const volatile u32 ops_flags SEC(BBR_MAP_FLAGS) = SHELL_OPS_FLAGS;

/* To compare: an object that estimates even on a kernel that knows. */
#ifndef BBR_ESTIMATES_ALWAYS
#define BBR_ESTIMATES_ALWAYS false
#endif

/* ---- the flight of each packet */

struct rate_sample___v3 {
	u32 tx_in_flight;
	s32 lost;
	bool is_acking_tlp_retrans_seq;
	bool is_ece;
} __attribute__((preserve_access_index));

#define RS(rs, name) (((const struct rate_sample___v3 *)(rs))->name)
#define RS_EXISTS(name) bpf_core_field_exists(((struct rate_sample___v3 *)0)->name)

INPUT(bool, has_flight,
      RS_EXISTS(tx_in_flight) && RS_EXISTS(lost) && RS_EXISTS(is_acking_tlp_retrans_seq) &&
	      RS_EXISTS(is_ece) && !BBR_ESTIMATES_ALWAYS)

/*
 * ---- ECN
 *
 * TCP_CONG_NEEDS_ECN makes the stack negotiate ECN, send every packet as capable of it, and report
 * the marks that it receives (CA_EVENT_ECN_*). It is not
 * detectable whether the network marks at a short queue, so the operator opts in.
 */
#define TCP_ECN_OK 1
#define TCP_ECN_MODE_ACCECN 16 /* from 6.18 on: more accurate ECN (AccECN) */
#define TCP_ECN_DEMAND_CWR 4

struct tcp_sock___accecn {
	u32 received_ce;
} __attribute__((preserve_access_index));

static inline bool uses_ecn(const struct tcp_sock *tp)
{
	u8 negotiated = TCP_ECN_OK;

	if (!(ops_flags & TCP_CONG_NEEDS_ECN))
		return false;
	if (bpf_core_field_exists(((struct tcp_sock___accecn *)0)->received_ce))
		negotiated |= TCP_ECN_MODE_ACCECN;
	return tp->ecn_flags & negotiated;
}

static inline struct inet_connection_sock *inet_csk(struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

INPUT(bool, uses_ecn, uses_ecn(tcp_sk(s->sk)))
INPUT(u8, ack_pending, inet_csk(s->sk)->icsk_ack.pending)

static inline void set_ack_pending(struct shell_sock *s, u8 pending)
{
	inet_csk(s->sk)->icsk_ack.pending = pending;
}

static inline void set_demand_cwr(struct shell_sock *s, bool demand)
{
	struct tcp_sock *tp = tcp_sk(s->sk);

	if (demand)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

static inline void shell_send_ack(struct shell_sock *s, u32 rcv_nxt)
{
	bpf_tcp_send_ack(tcp_sk(s->sk), rcv_nxt);
}

#endif
