/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of an event that are specific to BBR version 1: its modes, the reasons for entering
 * them, and the tail of struct bbr_event. bpf/bbr/descriptor.c defines how the tools show them.
 */
#ifndef BBR_EVENT_H
#define BBR_EVENT_H

#include "bpf_bbr/events.h"

#define BBR_ALGORITHM "bbr" /* its name in struct bbr_abi and in the tools */

enum bbr_mode {
	BBR_STARTUP, /* ramp up quickly to fill the pipe */
	BBR_DRAIN, /* drain the queue that STARTUP made */
	BBR_PROBE_BW, /* cycle around the estimated bandwidth */
	BBR_PROBE_RTT, /* cut inflight to measure min_rtt */
	BBR_MODES,
};

/* Why a mode was entered, in the order in which it can happen on one ACK. */
enum bbr_reason {
	BBR_R_LT_BW_EXPIRED, /* PROBE_BW again: the policed rate was used for long enough */
	BBR_R_FULL_BW, /* STARTUP to DRAIN: bandwidth stopped growing */
	BBR_R_DRAINED, /* DRAIN to PROBE_BW: inflight is down to the BDP */
	BBR_R_MIN_RTT_EXPIRED, /* to PROBE_RTT: no lower RTT for min_rtt_win */
	BBR_R_PROBE_RTT_DONE, /* PROBE_RTT to PROBE_BW, or to STARTUP if the pipe was never full */
	BBR_REASONS,
};

/* What BBR knows about a policer. */
enum bbr_policer {
	BBR_POLICER_OFF,
	BBR_POLICER_SAMPLING, /* looking for one */
	BBR_POLICER_DETECTED, /* found: lt_bw is used as bw */
	BBR_POLICERS,
};

/* bbr_event.tail. New members are only added at the end. */
struct bbr_tail {
	__u32 max_bw; /* maximum of the last bw_win rounds */
	__u32 full_bw; /* bandwidth that further growth is compared with */
	__u32 lt_bw; /* long-term rate of a policer, or of the last interval */
	__u32 prior_cwnd; /* window to restore after recovery or PROBE_RTT */
	__u32 extra_acked; /* maximum of the ACK aggregation filter */
	__u8 full_bw_cnt; /* rounds without growth */
	__u8 lt_rtt_cnt; /* rounds of the sampling interval, or of using lt_bw */
	__u8 policer; /* enum bbr_policer */
	__u8 behind; /* cpu_gain: 1 while the sender is short of CPU and catches up */
};

_Static_assert(__builtin_offsetof(struct bbr_tail, policer) == 22, "bbr_tail is ABI");

#endif
