/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bpf/why/why.bpf.c writes of each established TCP socket, with any congestion control:
 * what the kernel counts of it, and what may keep it from sending.
 */
#ifndef BPF_BBR_WHY_H
#define BPF_BBR_WHY_H

#include <linux/types.h>

#include "bpf_bbr/abi.h"

#define WHY_PACING_UNLIMITED (~0ull)

/* Addresses and ports are in network byte order, IPv4 as ::ffff:a.b.c.d. */
struct why_socket {
	__u64 cookie; /* SO_COOKIE */
	__u64 cgroup; /* id */
	__u64 inode; /* in /proc/PID/fd; 0: no process has it any more */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 bytes_acked, bytes_sent, bytes_retrans; /* payload */
	__u64 pacing_rate, max_pacing_rate; /* bytes per second, or WHY_PACING_UNLIMITED */
	__u32 busy_ticks, rwnd_ticks, sndbuf_ticks; /* as TCP_INFO counts them */
	__u32 netns; /* inode number */
	__u32 laddr[4];
	__u32 raddr[4];
	__u16 lport;
	__u16 rport;
	__u16 family;
	__u8 state; /* TCP_ESTABLISHED, ... */
	__u8 ca_state; /* enum tcp_ca_state */
	char name[BBR_NAME_LEN]; /* of the congestion control */
	__u32 cwnd, cwnd_clamp, ssthresh, inflight; /* packets, as the next two */
	__u32 delivered, lost; /* since the start */
	__u32 mss; /* bytes */
	__u32 srtt_us, min_rtt_us; /* 0: none yet */
	__u32 snd_wnd; /* bytes, as the next three */
	__u32 unacked, unsent;
	__u32 sndbuf;
	__u32 mark; /* SO_MARK */
	__u32 uid; /* in the initial user namespace */
	__u32 bound_ifindex; /* SO_BINDTODEVICE, 0: none */
	__u32 cpu; /* that processed its last packet */
	__u8 no_space; /* its owner waits for space in the send buffer */
	__u8 is_cwnd_limited; /* as the stack last saw it */
	__u8 is_in_sockmap; /* data that its BPF program redirects does not go through TCP */
	__u8 pad;
};

_Static_assert(sizeof(struct why_socket) == 216, "why_socket has no gaps");

#endif
