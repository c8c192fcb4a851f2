/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One callback of the kernel's own BBR: all that it could read before it ran, and all that it left
 * behind. The recorder fills it in the kernel; replay.c feeds it to the algorithm.
 */
#ifndef ORACLE_RECORD_H
#define ORACLE_RECORD_H

#include <linux/types.h>

enum callback_kind {
	CB_INIT,
	CB_CONG_CONTROL,
	CB_CWND_EVENT, /* arg: the event; from 7.1 on cwnd_event_tx_start is recorded as one, too */
	CB_SET_STATE, /* arg: the new state */
	CB_SSTHRESH,
	CB_UNDO_CWND,
	CB_MIN_TSO_SEGS,
	CB_SNDBUF_EXPAND,
	CALLBACK_KINDS,
};

#define CALLBACK_NAMES                                             \
	{ "init",     "cong_control", "cwnd_event",   "set_state", \
	  "ssthresh", "undo_cwnd",    "min_tso_segs", "sndbuf_expand" }

/*
 * The functions of the kernel that are callbacks: X(name, kind, argument, return value). The last
 * two are expressions for programs that the kernel runs there, which have ctx.
 */
#define CALLBACKS(X)                                                                   \
	X(bbr_init, CB_INIT, 0, 0)                                                     \
	X(bbr_main, CB_CONG_CONTROL, 0, 0)                                             \
	X(bbr_cwnd_event, CB_CWND_EVENT, ctx[1], 0)                                    \
	X(bbr_cwnd_event_tx_start, CB_CWND_EVENT, EVENT_TX_START, 0) /* from 7.1 on */ \
	X(bbr_set_state, CB_SET_STATE, ctx[1], 0)                                      \
	X(bbr_ssthresh, CB_SSTHRESH, 0, ctx[1])                                        \
	X(bbr_undo_cwnd, CB_UNDO_CWND, 0, ctx[1])                                      \
	X(bbr_min_tso_segs, CB_MIN_TSO_SEGS, 0, ctx[1])                                \
	X(bbr_sndbuf_expand, CB_SNDBUF_EXPAND, 0, ctx[1])

#define EVENT_TX_START 0 /* CA_EVENT_TX_START, on all kernels that have it */
#define CA_PRIV_SIZE 104 /* icsk_ca_priv: struct bbr of tcp_bbr.c */

/* What a callback may change. */
struct outputs {
	__u64 pacing_rate; /* bytes/s */
	__u32 cwnd;
	__u32 ssthresh;
	__u32 app_limited;
	__u32 returned; /* after: the return value; before: 0 */
	__u8 ca_priv[CA_PRIV_SIZE];
};

struct callback {
	__u8 kind; /* enum callback_kind */
	__u8 arg;
	__u8 ca_state;
	__u8 pacing_shift;
	__u32 jiffies[2]; /* just before and just after it */

	/* Inputs, named and with the units of struct shell_sock. */
	__u32 delivered;
	__u32 lost;
	__u32 inflight;
	__u32 mss;
	__u32 srtt_us;
	__u32 min_rtt_us;
	__u32 snd_cwnd_clamp;
	__u64 tcp_mstamp;
	__u64 delivered_mstamp;
	__u64 tcp_clock_cache;
	__u64 tcp_wstamp_ns;
	__u64 max_pacing_rate;

	/* The rate sample, as in struct shell_rs; only for cong_control. */
	__s64 rs_interval_us;
	__s64 rs_rtt_us;
	__s32 rs_delivered;
	__s32 rs_losses;
	__u32 rs_prior_delivered;
	__u32 rs_prior_in_flight;
	__u32 rs_acked_sacked;
	__u8 rs_is_app_limited;
	__u8 rs_is_ack_delayed;
	__u8 unused[2];

	struct outputs before, after;
};

#endif
