/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a socket was busy, and how long of that the receiver's window or the send buffer limited
 * it, as TCP_INFO has it. In ticks.
 */
#ifndef CHRONO_BPF_H
#define CHRONO_BPF_H

#include "types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct tcp_sock___chrono {
	u32 chrono_start;
	u32 chrono_stat[3];
	u8 chrono_type : 2;
} __attribute__((preserve_access_index));

enum {
	CHRONO_BUSY = 1,
	CHRONO_RWND,
	CHRONO_SNDBUF
};

struct chrono {
	u32 busy, rwnd, sndbuf; /* busy includes the others */
};

/* Up to now, the present state included. */
static inline struct chrono chrono_of(struct tcp_sock *tp)
{
	struct tcp_sock___chrono *c = (struct tcp_sock___chrono *)tp;
	struct chrono now = {
		.rwnd = c->chrono_stat[CHRONO_RWND - 1],
		.sndbuf = c->chrono_stat[CHRONO_SNDBUF - 1],
	};
	u32 state = BPF_CORE_READ_BITFIELD(c, chrono_type), ticks = 0;

	if (state) {
		ticks = (u32)bpf_jiffies64() - c->chrono_start;
		if (state == CHRONO_RWND)
			now.rwnd += ticks;
		else if (state == CHRONO_SNDBUF)
			now.sndbuf += ticks;
	}
	now.busy = c->chrono_stat[CHRONO_BUSY - 1] + now.rwnd + now.sndbuf;
	if (state == CHRONO_BUSY)
		now.busy += ticks;
	return now;
}

#endif
