/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the kernel's own bbr from outside where that is version 3, as some distributions build it:
 * converts its struct bbr to ours. The type is in the BTF of the kernel or of the module tcp_bbr.
 */
#ifndef KERNEL_BBR_BPF_H
#define KERNEL_BBR_BPF_H

#include "bbr.h"
#include "outside.bpf.h"

/* The members that are read. Version 2 has no full_bw_now, version 1 hardly any of these. */
struct bbr___kernel {
	u32 min_rtt_us;
	u32 next_rtt_delivered;
	u32 mode : 2, round_start : 1, idle_restart : 1;
	u32 pacing_gain : 10, cwnd_gain : 10, full_bw_reached : 1, full_bw_cnt : 2, cycle_idx : 2;
	u32 prior_cwnd;
	u32 full_bw;
	u16 extra_acked[2];
	u32 full_bw_now : 1;
	u32 bw_latest;
	u32 bw_lo;
	u32 bw_hi[2];
	u32 inflight_latest;
	u32 inflight_lo;
	u32 inflight_hi;
	u32 bw_probe_up_cnt;
	u32 probe_wait_us;
	u32 ecn_eligible : 1, ecn_alpha : 9, bw_probe_samples : 1, prev_probe_too_high : 1,
		rounds_since_probe : 8, loss_in_round : 1, ecn_in_round : 1, ack_phase : 3;
} __attribute__((preserve_access_index));

static inline bool kernel_bbr_is_known(void)
{
#define HAS(member) bpf_core_field_exists(((struct bbr___kernel *)0)->member)
	return HAS(min_rtt_us) && HAS(next_rtt_delivered) && HAS(mode) && HAS(round_start) &&
	       HAS(idle_restart) && HAS(pacing_gain) && HAS(cwnd_gain) && HAS(full_bw_reached) &&
	       HAS(full_bw_cnt) && HAS(cycle_idx) && HAS(prior_cwnd) && HAS(full_bw) &&
	       HAS(extra_acked) && HAS(full_bw_now) && HAS(bw_latest) && HAS(bw_lo) && HAS(bw_hi) &&
	       HAS(inflight_latest) && HAS(inflight_lo) && HAS(inflight_hi) &&
	       HAS(bw_probe_up_cnt) && HAS(probe_wait_us) && HAS(ecn_eligible) && HAS(ecn_alpha) &&
	       HAS(bw_probe_samples) && HAS(prev_probe_too_high) && HAS(rounds_since_probe) &&
	       HAS(loss_in_round) && HAS(ecn_in_round) && HAS(ack_phase);
#undef HAS
}

static inline void kernel_bbr_read(struct bbr *to, struct sock *sk)
{
	struct bbr___kernel *b = (void *)state_of(sk);

	__builtin_memset(to, 0, sizeof(*to));
	to->min_rtt_us = b->min_rtt_us;
	to->next_round_delivered = b->next_rtt_delivered;
	to->mode = BPF_CORE_READ_BITFIELD(b, mode);
	to->round_start = BPF_CORE_READ_BITFIELD(b, round_start);
	to->idle_restart = BPF_CORE_READ_BITFIELD(b, idle_restart);
	to->full_bw_reached = BPF_CORE_READ_BITFIELD(b, full_bw_reached);
	to->full_bw_cnt = BPF_CORE_READ_BITFIELD(b, full_bw_cnt);
	to->cycle_idx = BPF_CORE_READ_BITFIELD(b, cycle_idx);
	to->prior_cwnd = bbr_count(b->prior_cwnd);
	to->full_bw = b->full_bw;
	to->extra_acked[0] = b->extra_acked[0];
	to->extra_acked[1] = b->extra_acked[1];
	to->full_bw_now = BPF_CORE_READ_BITFIELD(b, full_bw_now);
	to->bw_latest = b->bw_latest;
	to->bw_lo = b->bw_lo;
	to->bw_hi[0] = b->bw_hi[0];
	to->bw_hi[1] = b->bw_hi[1];
	to->inflight_latest = bbr_count(b->inflight_latest);
	to->inflight_lo = bbr_count(b->inflight_lo);
	to->inflight_hi = bbr_count(b->inflight_hi);
	to->probe_up_cnt = bbr_count(b->bw_probe_up_cnt);
	to->probe_wait_us = b->probe_wait_us;
	to->probe_samples = BPF_CORE_READ_BITFIELD(b, bw_probe_samples);
	to->prev_probe_too_high = BPF_CORE_READ_BITFIELD(b, prev_probe_too_high);
	to->rounds_since_probe = BPF_CORE_READ_BITFIELD(b, rounds_since_probe);
	to->loss_in_round = BPF_CORE_READ_BITFIELD(b, loss_in_round);
	to->acks = BPF_CORE_READ_BITFIELD(b, ack_phase);
}

/*
 * Adds what ours keeps in the second part of its state, which is too large to build here. The
 * kernel's bbr does not count rounds.
 */
static inline void kernel_bbr_add(struct bbr_event *e, struct sock *sk)
{
	struct bbr_tail *tail = (struct bbr_tail *)e->tail;
	struct bbr___kernel *b = (void *)state_of(sk);

	e->rounds = BBR_TAIL_NONE;
	e->pacing_gain = BPF_CORE_READ_BITFIELD(b, pacing_gain);
	e->cwnd_gain = BPF_CORE_READ_BITFIELD(b, cwnd_gain);
	tail->ecn_alpha = BPF_CORE_READ_BITFIELD(b, ecn_alpha);
	tail->flags |= BBR_T_SECOND_PART;
	if (BPF_CORE_READ_BITFIELD(b, ecn_in_round))
		tail->flags |= BBR_T_ECN_IN_ROUND;
	if (BPF_CORE_READ_BITFIELD(b, ecn_eligible))
		tail->flags |= BBR_T_ECN;
}

/* A value that changes with each round. */
static inline u32 kernel_bbr_round(const struct bbr *b)
{
	return b->next_round_delivered;
}

/* A mode event reports a change of this value, so of a phase of PROBE_BW as well. */
static inline u8 kernel_bbr_place(const struct bbr *b)
{
	return b->mode == BBR_PROBE_BW ? BBR_MODES + b->cycle_idx : b->mode;
}

#endif
