/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bpf/why/why.bpf.c writes of each established TCP socket, with any congestion control:
 * what the kernel counts of it, and what may keep it from sending.
 */
#ifndef BPF_BBR_WHY_H
#define BPF_BBR_WHY_H

#include <linux/types.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/snapshot.h"

struct why_socket {
	__u64 max_pacing_rate; /* bytes per second; all ones: unlimited */
	char name[BBR_NAME_LEN]; /* of the congestion control */
	__u32 cwnd_clamp; /* packets */
	__u32 snd_wnd; /* bytes, as the next three */
	__u32 unacked, unsent;
	__u32 sndbuf;
	__u32 cpu; /* that processed its last packet */
	__u8 no_space; /* its owner waits for space in the send buffer */
	__u8 is_cwnd_limited; /* as the stack last saw it */
	__u8 pad[6];
	struct bbr_snapshot snap; /* without what only a BBR knows; its event has no tail */
};

#define WHY_SOCKET_SIZE __builtin_offsetof(struct why_socket, snap.event.tail) /* of a record */

_Static_assert(__builtin_offsetof(struct why_socket, snap) == 56, "why_socket has no gaps");

#endif
