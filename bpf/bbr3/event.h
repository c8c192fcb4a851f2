/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of an event that are specific to BBR version 3: its modes, the reasons for entering
 * them, and the tail of struct bbr_event. bpf/bbr3/descriptor.c defines how the tools show them.
 */
#ifndef BBR_EVENT_H
#define BBR_EVENT_H

#include "bpf_bbr/events.h"

#define BBR_ALGORITHM "bbr3" /* its name in struct bbr_abi and in the tools */

enum bbr_mode {
	BBR_STARTUP, /* ramp up quickly to fill the pipe */
	BBR_DRAIN, /* drain the queue that STARTUP made */
	BBR_PROBE_BW, /* cycle through the phases below */
	BBR_PROBE_RTT, /* cut inflight to measure min_rtt */
	BBR_MODES,
};

enum bbr_phase {
	BBR_UP, /* raise inflight until losses, marks or no more bandwidth */
	BBR_DOWN, /* drain what probing queued, and leave headroom */
	BBR_CRUISE, /* keep pace with what is delivered */
	BBR_REFILL, /* fill the pipe, but no queue, before probing */
	BBR_PHASES,
	BBR_PHASE_NONE = BBR_PHASES, /* in an event of any other mode */
};

/* Why a mode or phase was entered, in the order in which it can happen within one callback. */
enum bbr_reason {
	BBR_R_FULL_BW, /* STARTUP to DRAIN: bandwidth stopped growing */
	BBR_R_STARTUP_LOSS, /* the same: too much was lost */
	BBR_R_STARTUP_ECN, /* the same: too much was marked */
	BBR_R_DRAINED, /* DRAIN to DOWN: inflight is down to the BDP */
	BBR_R_PROBE_AGAIN, /* to REFILL: nothing was lost where the probe stopped as a precaution */
	BBR_R_PROBE_LOSS, /* UP to DOWN: too much was lost */
	BBR_R_PROBE_ECN, /* the same: too much was marked */
	BBR_R_PROBE_INFLIGHT, /* the same: inflight reached what was too high last time */
	BBR_R_PROBE_FULL_BW, /* the same: bandwidth stopped growing */
	BBR_R_WAITED, /* to REFILL: the wait is over */
	BBR_R_WAITED_ROUNDS, /* to REFILL: Reno would have probed by now */
	BBR_R_MARKS_CEASED, /* to REFILL: marks have ceased, and there were no losses */
	BBR_R_REFILLED, /* REFILL to UP: after a round */
	BBR_R_HEADROOM, /* DOWN to CRUISE: inflight leaves headroom */
	BBR_R_MIN_RTT_EXPIRED, /* to PROBE_RTT: no lower RTT for probe_rtt_win */
	BBR_R_PROBE_RTT_DONE, /* PROBE_RTT to CRUISE, or to STARTUP if the pipe was never full */
	BBR_REASONS,
};

/*
 * The part of a probe that the current ACKs belong to: they arrive a round after their packets.
 */
enum bbr_acks {
	BBR_ACKS_INIT, /* no probe is under way */
	BBR_ACKS_REFILLING, /* REFILL has begun */
	BBR_ACKS_PROBE_STARTING, /* UP has begun; they are of packets sent before it */
	BBR_ACKS_PROBE_FEEDBACK, /* they are of packets that UP sent */
	BBR_ACKS_PROBE_STOPPING, /* UP is over; they are still of packets that it sent */
	BBR_ACKS,
};

/* Flags of bbr_tail. */
enum bbr_tail_flag {
	BBR_T_LOSS_IN_ROUND = 1 << 0, /* something was lost in this loss round */
	BBR_T_ECN_IN_ROUND = 1 << 1, /* something was marked in this loss round */
	BBR_T_TOO_HIGH = 1 << 2, /* the last probe ended by losses or marks */
	BBR_T_SAMPLES = 1 << 3, /* rate samples reflect what a probe sent */
	BBR_T_ECN = 1 << 4, /* BBR reacts to marks */
	BBR_T_SECOND_PART = 1 << 5, /* the connection has the second part of its state */
};

#define BBR_TAIL_NONE 0xffffffffu /* in a bound: there is none */

/* bbr_event.tail. New members are only added at the end. */
struct bbr_tail {
	__u32 bw_hi; /* maximum of the last two probing cycles */
	__u32 bw_lo; /* bound by losses since; BBR_TAIL_NONE: none */
	__u32 bw_latest; /* maximum of the loss round */
	__u32 full_bw; /* bandwidth that further growth is compared with */
	__u32 inflight_hi; /* inflight that was safe; BBR_TAIL_NONE: nothing was too high yet */
	__u32 inflight_lo; /* bound by losses and marks since the last probe; BBR_TAIL_NONE: none */
	__u32 inflight_latest; /* most packets delivered in one sample of the loss round */
	__u32 prior_cwnd; /* window to restore after recovery or PROBE_RTT */
	__u32 extra_acked; /* maximum of the ACK aggregation filter */
	__u32 probe_wait_us; /* from one probe to the next */
	__u32 probe_up_cnt; /* packets to ACK per +1 of inflight_hi; BBR_TAIL_NONE: it stays */
	__u16 ecn_alpha; /* average share of marked packets, /256 */
	__u8 full_bw_cnt; /* rounds without growth */
	__u8 rounds_since_probe;
	__u8 acks; /* enum bbr_acks */
	__u8 flags; /* enum bbr_tail_flag */
	__u8 behind; /* cpu_gain: 1 while the sender is short of CPU and catches up */
	__u8 pad;
};

_Static_assert(__builtin_offsetof(struct bbr_tail, flags) == 49, "bbr_tail is ABI");

#endif
