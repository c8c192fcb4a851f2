/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the kernel's own bbr from outside: converts the struct bbr of its sockets to ours. The type
 * is in the BTF of the kernel or of the module tcp_bbr. While that module is not loaded there is
 * neither the type nor such a socket.
 */
#ifndef KERNEL_BBR_BPF_H
#define KERNEL_BBR_BPF_H

#include "bbr.h"
#include "outside.bpf.h"

/*
 * The members that are read. They are the same in every mainline kernel, but not in kernels that
 * have BBR version 3 under this name.
 */
struct bbr___kernel {
	u32 min_rtt_us;
	struct minmax___kernel bw;
	u32 rtt_cnt;
	u32 mode : 3, packet_conservation : 1, round_start : 1, idle_restart : 1,
		lt_is_sampling : 1, lt_rtt_cnt : 7, lt_use_bw : 1;
	u32 lt_bw;
	u32 pacing_gain : 10, cwnd_gain : 10, full_bw_reached : 1, full_bw_cnt : 2, cycle_idx : 3;
	u32 prior_cwnd;
	u32 full_bw;
	u16 extra_acked[2];
} __attribute__((preserve_access_index));

static inline bool kernel_bbr_is_known(void)
{
#define HAS(member) bpf_core_field_exists(((struct bbr___kernel *)0)->member)
	return HAS(min_rtt_us) && HAS(bw) && HAS(rtt_cnt) && HAS(mode) &&
	       HAS(packet_conservation) && HAS(round_start) && HAS(idle_restart) &&
	       HAS(lt_is_sampling) && HAS(lt_rtt_cnt) && HAS(lt_use_bw) && HAS(lt_bw) &&
	       HAS(pacing_gain) && HAS(cwnd_gain) && HAS(full_bw_reached) && HAS(full_bw_cnt) &&
	       HAS(cycle_idx) && HAS(prior_cwnd) && HAS(full_bw) && HAS(extra_acked);
#undef HAS
}

static inline void kernel_bbr_read(struct bbr *to, struct sock *sk)
{
	struct bbr___kernel *b = (void *)state_of(sk);

	__builtin_memset(to, 0, sizeof(*to));
	to->min_rtt_us = b->min_rtt_us;
	to->bw.s[0].v = b->bw.s[0].v;
	to->round_count = b->rtt_cnt;
	to->mode = BPF_CORE_READ_BITFIELD(b, mode);
	to->packet_conservation = BPF_CORE_READ_BITFIELD(b, packet_conservation);
	to->round_start = BPF_CORE_READ_BITFIELD(b, round_start);
	to->idle_restart = BPF_CORE_READ_BITFIELD(b, idle_restart);
	to->lt_is_sampling = BPF_CORE_READ_BITFIELD(b, lt_is_sampling);
	to->lt_rtt_cnt = BPF_CORE_READ_BITFIELD(b, lt_rtt_cnt);
	to->lt_use_bw = BPF_CORE_READ_BITFIELD(b, lt_use_bw);
	to->lt_bw = b->lt_bw;
	to->pacing_gain = BPF_CORE_READ_BITFIELD(b, pacing_gain);
	to->cwnd_gain = BPF_CORE_READ_BITFIELD(b, cwnd_gain);
	to->full_bw_reached = BPF_CORE_READ_BITFIELD(b, full_bw_reached);
	to->full_bw_cnt = BPF_CORE_READ_BITFIELD(b, full_bw_cnt);
	to->cycle_idx = BPF_CORE_READ_BITFIELD(b, cycle_idx);
	to->prior_cwnd = b->prior_cwnd;
	to->full_bw = b->full_bw;
	to->extra_acked[0] = b->extra_acked[0];
	to->extra_acked[1] = b->extra_acked[1];
}

/* Nothing to add: struct bbr has all that monitors see. */
static inline void kernel_bbr_add(struct bbr_event *e, struct sock *sk)
{
}

/* A value that changes with each round. */
static inline u32 kernel_bbr_round(const struct bbr *b)
{
	return b->round_count;
}

/* A mode event reports a change of this value. */
static inline u8 kernel_bbr_place(const struct bbr *b)
{
	return b->mode;
}

#endif
