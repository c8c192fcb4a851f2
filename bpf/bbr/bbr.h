/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BBR version 1, as in mainline Linux: the state of a connection, and the few helpers that all
 * parts use.
 *
 * BBR ("BBR: Congestion-Based Congestion Control", Cardwell et al., ACM Queue 14(5), 2016) keeps a
 * model of the path, made of two estimates:
 *
 *	bw      = max(delivery rate)  over the last 10 rounds
 *	min_rtt = min(RTT)            over the last 10 seconds
 *
 * and sends so that the path's pipe is full but its queue is empty:
 *
 *	pacing_rate = pacing_gain * bw
 *	cwnd        = cwnd_gain * bw * min_rtt
 *
 * The two cannot be measured at the same time, so the gains follow a state machine:
 *
 *	STARTUP --> DRAIN --> PROBE_BW <--> PROBE_RTT --> STARTUP (if the pipe was never full)
 *
 * Nothing here calls the kernel or depends on BPF: a callback reads and changes only struct bbr and
 * what bpf/socket.h offers.
 */
#ifndef BBR_BBR_H
#define BBR_BBR_H

#include "event.h"
#include "params.h"
#include "socket.h"
#include "minmax.h"

#define BBR_CYCLE_LEN 8 /* phases of PROBE_BW's gain cycle */
enum bbr_phase {
	BBR_PHASE_PROBE, /* index of the gain that probes for more bandwidth */
	BBR_PHASE_DRAIN, /* index of the gain that drains the queue built by probing */
	BBR_PHASE_CRUISE, /* index of the first gain that cruises */
};

/*
 * The state of a connection. It fills icsk_ca_priv, which has 104 bytes on every kernel. The
 * kernel's own struct bbr has the same fields. This one keeps time in milliseconds instead of
 * jiffies (a BPF program does not know HZ), has wider gains and counters to make room for
 * parameters, and keeps the shell's marks in the spare bits.
 *
 * bbrmon reads it from the sockets of every instance of its ABI major, of any minor
 * (bpf/snapshot.bpf.c). So to move a field, or to change its meaning, takes a new major.
 */
struct bbr {
	u32 min_rtt_us; /* minimum RTT of the last min_rtt_win; BBR_RTT_NONE: no sample yet */
	u32 min_rtt_stamp; /* ms: when min_rtt_us was taken */
	u32 probe_rtt_done_stamp; /* ms: end of PROBE_RTT; 0: inflight is not low enough yet */
	struct minmax bw; /* maximum delivery rate of the last bw_win rounds */
	u32 round_count; /* packet-timed round trips since init */
	u32 next_round_delivered; /* the round ends when a packet sent at this count is ACKed */
	u32 app_limited_until; /* shell: its own app_limited where the kernel's is read-only */
	/* In this order one shift extracts the stamp, which every ACK reads. */
	u64 profile : 8, /* shell: the connection's profile */
		cycle_len : 4, /* drain_to_target: min_rtts that this cycle lasts */
		cycle_mstamp : 52; /* us: start of this phase of the gain cycle; 142 years */
	union {
		struct {
			u32 mode : 3, /* enum bbr_mode */
				prev_ca_state : 3, /* enum tcp_ca_state on the previous ACK */
				packet_conservation : 1, /* first round of recovery */
				round_start : 1, /* this ACK started a round */
				idle_restart : 1, /* restarting after idle */
				probe_rtt_round_done : 1, /* a round at probe_rtt_cwnd is over */
				lt_is_sampling : 1, /* taking long-term (lt) samples */
				lt_rtt_cnt : 7, /* rounds of this interval, or of using lt_bw */
				lt_use_bw : 1, /* lt_bw is the estimate of bandwidth */
				full_bw_reached : 1, /* the pipe was full once */
				steps : 5, /* transitions of this callback: bit per reason */
				cycle_idx : 3, /* phase of PROBE_BW's gain cycle */
				has_seen_rtt : 1, /* the pacing rate follows from a measured RTT */
				watched : 1, /* shell: a monitor made it allocate storage */
				behind : 1; /* cpu_gain: short of CPU, and inflight too low */
		};
		u32 flags; /* all of these at once: see kind.h */
	};
	u32 lt_bw; /* long-term ("lt") rate of a policer, or of the last interval */
	u32 lt_last_delivered; /* tp->delivered at the start of the interval */
	u32 lt_last_stamp; /* ms: delivered_mstamp at the start of the interval */
	u32 lt_last_lost; /* tp->lost at the start of the interval */
	u16 pacing_gain, cwnd_gain; /* gains in force, from the last ACK */
	u32 prior_cwnd; /* the window to restore after recovery or PROBE_RTT */
	u32 full_bw; /* bandwidth that further growth is compared with */
	u64 ack_epoch_mstamp; /* us: start of this epoch of ACK aggregation */
	u16 extra_acked[2]; /* most ACKed beyond what bw explains: in this window, in the last */
	u32 ack_epoch_acked : 20, /* packets ACKed in this epoch */
		extra_acked_win_rtts : 5, /* age of this window in rounds */
		unused_b : 1, full_bw_cnt : 5, /* rounds without large growth of bandwidth */
		unused_c : 1;
};

_Static_assert(sizeof(struct bbr) == 104, "struct bbr must fit icsk_ca_priv");
_Static_assert(__builtin_offsetof(struct bbr, bw) == 12, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, round_count) == 36, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, flags) == 56, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, lt_bw) == 60, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, pacing_gain) == 76, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, full_bw) == 84, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, extra_acked) == 96, "struct bbr is ABI");
_Static_assert(BBR_REASONS <= 5, "struct bbr.steps has a bit for each");

/* Bytes: where the word with `profile` begins, for callbacks that read no more of the state. */
#define BBR_PROFILE_AT (__builtin_offsetof(struct bbr, flags) - 8)

/* The maximum of the recent delivery rates. */
static inline u32 bbr_max_bw(const struct bbr *b)
{
	return minmax_get(&b->bw);
}

static inline void bbr_set_ack_epoch(struct bbr *b, u64 mstamp)
{
	b->ack_epoch_mstamp = mstamp;
}

/* The bandwidth to use: the long-term rate (lt_bw) once a policer was detected. */
static inline u32 bbr_bw(const struct bbr *b)
{
	return b->lt_use_bw ? b->lt_bw : bbr_max_bw(b);
}

/* Each reason leads from known modes to a known one, so the bits tell monitors every transition. */
static inline void bbr_enter_mode(struct bbr *b, u8 mode, enum bbr_reason reason)
{
	b->mode = mode;
	b->steps |= 1 << reason;
}

#endif
