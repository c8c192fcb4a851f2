/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A record in a recording of BBR version 3: one callback of Google's, in a kernel that has it.
 * Little-endian, without padding. The names are the kernel's: members of struct tcp_sock, of struct
 * sock, of struct rate_sample (rs_), and of the lost packet (skb_). The header of a recording lists
 * them as they are here.
 */
#ifndef ORACLE_BBR3_RECORD_H
#define ORACLE_BBR3_RECORD_H

#include <linux/types.h>

enum kind {
	KIND_INIT,
	KIND_MAIN,
	KIND_LOST, /* skb_marked_lost */
	KIND_EVENT, /* cwnd_event; arg: the event */
	KIND_SSTHRESH,
	KIND_UNDO_CWND,
	KIND_SET_STATE, /* arg: the new state */
	KIND_TSO_SEGS, /* arg: mss_now */
	KIND_SNDBUF_EXPAND,
	KINDS,
};

#define KIND_NAMES                                                                 \
	{ "init",      "main",	    "skb_marked_lost", "cwnd_event",   "ssthresh", \
	  "undo_cwnd", "set_state", "tso_segs",	       "sndbuf_expand" }

/*
 * The functions of the kernel that are callbacks: X(name, kind, argument, return value). The last
 * two are expressions for programs that the kernel runs there, which have ctx.
 */
#define CALLBACKS(X)                                    \
	X(bbr_init, KIND_INIT, 0, 0)                    \
	X(bbr_main, KIND_MAIN, 0, 0)                    \
	X(bbr_skb_marked_lost, KIND_LOST, 0, 0)         \
	X(bbr_cwnd_event, KIND_EVENT, ctx[1], 0)        \
	X(bbr_ssthresh, KIND_SSTHRESH, 0, ctx[1])       \
	X(bbr_undo_cwnd, KIND_UNDO_CWND, 0, ctx[1])     \
	X(bbr_set_state, KIND_SET_STATE, (u8)ctx[1], 0) \
	X(bbr_tso_segs, KIND_TSO_SEGS, ctx[1], ctx[2])  \
	X(bbr_sndbuf_expand, KIND_SNDBUF_EXPAND, 0, ctx[1])

enum event {
	EVENT_TX_START,
	EVENT_ECN_NO_CE = 4,
	EVENT_ECN_IS_CE,
	EVENT_TLP_RECOVERY, /* only in Google's stack */
};

#define STATE_SIZE 144 /* struct bbr of Google's tcp_bbr.c */

struct record {
	__u64 cookie;
	__u32 begin_seq, end_seq;
	__u8 kind, ca_state, ack_pending, ecn_flags;
	__u32 arg, returned, jiffies_before, jiffies_after, sk_sndbuf;

	__u64 tcp_mstamp, delivered_mstamp, tcp_clock_cache, tcp_wstamp_ns;
	__u64 sk_pacing_rate, sk_max_pacing_rate;
	__u32 srtt_us, rtt_min_us, mss_cache, snd_cwnd, snd_cwnd_clamp, snd_ssthresh;
	__u32 packets_out, sacked_out, lost_out, retrans_out, delivered, delivered_ce, lost;
	__u32 app_limited, tp_prior_cwnd, snd_una, snd_nxt, write_seq, rcv_nxt, tlp_high_seq,
		high_seq;
	__u32 undo_marker;
	__s32 undo_retrans;
	__u32 reord_seen, sk_wmem_alloc, snd_wnd, segs_out, sk_gso_max_size;
	__u32 sk_pacing_status;
	__u8 sk_pacing_shift, tlp_retrans, tlp_orig_data_app_limited, is_cwnd_limited,
		is_sack_reneg;
	__u8 fast_ack_mode, sack_ok, tstamp_ok, retransmits, ca_setsockopt;
	__u8 sysctl_tcp_min_tso_segs, sysctl_tcp_plb_enabled;

	__u64 rs_prior_mstamp;
	__s64 rs_interval_us, rs_rtt_us;
	__u32 rs_prior_lost, rs_prior_delivered, rs_prior_delivered_ce, rs_tx_in_flight;
	__s32 rs_lost, rs_delivered, rs_delivered_ce;
	__u32 rs_snd_interval_us, rs_rcv_interval_us;
	__s32 rs_losses;
	__u32 rs_acked_sacked, rs_prior_in_flight, rs_last_end_seq;
	__u8 rs_is_app_limited, rs_is_retrans, rs_is_acking_tlp_retrans_seq, rs_is_ack_delayed;
	__u8 rs_is_ece, skb_sacked;
	__u16 skb_gso_segs;
	__u32 ack, flag;

	__u32 skb_seq, skb_end_seq, skb_tx_in_flight, skb_tx_lost, skb_tx_delivered;
	__u32 skb_tx_delivered_ce, skb_tx_delivered_mstamp, skb_tx_first_tx_mstamp;
	__u32 skb_tx_is_app_limited;

	__u64 after_sk_pacing_rate;
	__u32 after_snd_cwnd, after_snd_ssthresh, after_app_limited, after_tp_prior_cwnd;
	__u32 after_sk_pacing_status, after_segs_out, after_srtt_us;
	__u8 after_ecn_flags, after_ack_pending, after_fast_ack_mode, after_tlp_high_seq_set;

	__u8 state_before[STATE_SIZE], state_after[STATE_SIZE];
};

_Static_assert(sizeof(struct record) == 672, "a record has 672 bytes");
_Static_assert(__builtin_offsetof(struct record, rs_prior_mstamp) == 216, "as recorded");
_Static_assert(__builtin_offsetof(struct record, skb_seq) == 308, "as recorded");
_Static_assert(__builtin_offsetof(struct record, after_sk_pacing_rate) == 344, "as recorded");
_Static_assert(__builtin_offsetof(struct record, state_before) == 384, "as recorded");

#endif
