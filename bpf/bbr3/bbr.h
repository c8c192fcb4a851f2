/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BBR version 3, as Google runs it: the state of a connection, and the few helpers that all of its parts use.
 *
 * Version 1 heeds no loss, and so fills shallow buffers and starves those who do. Version 3 (draft-ietf-ccwg-bbr)
 * keeps version 1's model of the path, bw * min_rtt, and puts bounds around it, which it learns from losses
 * and, where marks tell of short queues, from ECN:
 *
 *	bw_hi, inflight_hi	what the path was seen to carry: from probing, for as long as the path is the same
 *	bw_lo, inflight_lo	what it carries just now: cut upon losses and marks, forgotten before the next probe
 *
 *	pacing_rate = pacing_gain * min(bw_hi, bw_lo)
 *	cwnd        = cwnd_gain * min(bw_hi, bw_lo) * min_rtt, at most inflight_hi and inflight_lo
 *
 * A probe for more is the only time when it risks losses, so probes are rare: each 2 to 3 s, or as often as
 * a Reno flow of the same BDP would have lost a packet.
 *
 *	STARTUP --> DRAIN --> DOWN --> CRUISE --> REFILL --> UP --> DOWN ...
 *	                      (these four are PROBE_BW)
 *	and from each of them --> PROBE_RTT --> CRUISE (or STARTUP, if the pipe was never full)
 *
 * Nothing here calls the kernel or knows of BPF: what a callback reads and changes is struct bbr, struct bbr_more, and
 * what bpf/socket.h and struct bbr_ack have.
 */
#ifndef BBR_BBR_H
#define BBR_BBR_H

#define BBR_HAS_MORE /* what does not fit struct bbr: struct bbr_more */
#define BBR_HAS_COMMON /* bbr_main_if_common() */
#define BBR_HAS_RARE /* bbr_main_if_rare() */
#define BBR_HAS_STARTING /* bbr_main_if_starting() */
#define BBR_HAS_KERNEL /* some distributions' kernels have it as their bbr: kernel_bbr.bpf.h */
#define BBR_READS_MIN_TSO_SEGS /* version 1 has a parameter for it */

#include "event.h"
#include "params.h"
#include "socket.h"

#if defined(__bpf__) && !defined(BBR_SOCKET_IS_A_COPY)
#include "stack.bpf.h"
#endif

/* In a count of 24 bits: none, so more than any other. No window of TCP (2^30 bytes) has so many packets. */
#define BBR_COUNT_NONE 0xffffffu
#define BBR_BW_NONE 0xffffffffu /* the same of bw_lo */
#define BBR_MARK_BITS 20 /* of counters of which only differences matter */

/*
 * The state of a connection: all of icsk_ca_priv, which is 104 bytes on every kernel. Google's struct bbr has 144;
 * what a connection can do without is in struct bbr_more, and counts of packets have 24 bits. Time is in
 * milliseconds where that one uses jiffies (a BPF program cannot know HZ).
 *
 * bbrmon reads it from the sockets of every instance of its ABI major (bpf/snapshot.bpf.c), whatever their
 * minor is: what is moved, or given another meaning, is another major.
 */
struct bbr {
	u32 min_rtt_us; /* minimum RTT of the last min_rtt_win; BBR_RTT_NONE: no sample yet */
	u32 min_rtt_stamp; /* ms: when min_rtt_us was taken */
	u32 probe_rtt_done_stamp; /* ms: end of PROBE_RTT; 0: inflight is not low enough yet */
	u32 probe_rtt_min_us; /* minimum RTT of the last probe_rtt_win */
	u32 probe_rtt_min_stamp; /* ms: when that was taken */
	u32 next_round_delivered; /* the round ends when a packet sent at this count is ACKed */
	u32 loss_round_delivered; /* likewise the loss round, which begins with a loss */
	u32 full_bw; /* bandwidth that further growth is compared with */
	u32 bw_latest; /* maximum delivery rate of the loss round */
	u32 bw_lo; /* bound of bw by losses; BBR_BW_NONE: none */
	u32 bw_hi[2]; /* maximum delivery rate of the last probe, and since */
	u16 extra_acked
		[2]; /* most packets ACKed beyond what bw explains: in this window and in that before it */
	/* Each word ends with `: 0`, or clang takes two at once, for which its masks have no room in an instruction. */
	u32 inflight_latest : 24, /* most packets delivered over one sample of the loss round */
		rounds_since_probe : 8, /* since the wait for the next one began */
		: 0;
	u32 inflight_hi : 24, /* packets in flight that were safe; BBR_COUNT_NONE: no limit is known */
		init_cwnd : 7, /* packets */
		initialized : 1, /* was bbr_init() called? */
		: 0;
	u32 probe_up_cnt : 24, /* packets ACKed for one more of inflight_hi; BBR_COUNT_NONE: it stays */
		probe_up_rounds : 5, /* rounds of UP: each doubles the growth */
		probe_samples : 1, /* are samples of what probing sent? */
		raising : 1, /* was the last pacing gain above 1? */
		stopped_risky_probe : 1, /* did the last probe end where one before it went too far? */
		: 0;
	u32 probe_up_acks : 24, /* packets ACKed since inflight_hi last grew */
		extra_acked_win_rtts : 5, /* age of this window in rounds */
		round_done : 1, /* PROBE_RTT: did a whole round pass at the low window? */
		loss_in_cycle : 1, /* was something lost since DOWN began? */
		prev_probe_too_high : 1, /* did the last probe end by losses or marks? */
		: 0;
	/* Next to each other what tells that nothing but the clock can end CRUISE: one comparison. */
	u32 probe_wait_us : 25, /* from the start of DOWN to the next probe */
		cycle_idx : 2, /* enum bbr_phase */
		acks : 3, /* enum bbr_acks */
		full_bw_now : 1, /* does bandwidth not grow at present? */
		new_gains : 1, /* were mode or phase entered since the last ACK? */
		: 0;
	union {
		struct {
			u64 inflight_lo : 24, /* bound of inflight by losses and marks; BBR_COUNT_NONE: none */
				prior_cwnd : 24, /* the window to restore after recovery or PROBE_RTT */
				: 16;
		};
		struct {
			u16 pad[3];
			u16 steps; /* transitions of this callback: a bit for each enum bbr_reason */
		};
	};
	/* In this order the stamps, which each ACK reads, are one shift away. */
	u64 profile : 8, /* program: the connection's profile */
		full_bw_cnt : 2, /* rounds without large growth of bandwidth */
		drain_rounds : 2, /* rounds of DRAIN */
		cycle_mstamp : 52; /* us: start of UP or DOWN; 142 years of uptime */
	union {
		struct {
			u64 mode : 2, /* enum bbr_mode */
				prev_ca_state : 3, /* enum tcp_ca_state on the previous ACK */
				idle_restart : 1, /* restarting after idle? */
				full_bw_reached : 1, /* was the pipe filled? */
				has_seen_rtt : 1, /* was the pacing rate set from a measured RTT? */
				loss_in_round : 1, /* was something lost in this loss round? */
				in_order : 1, /* nothing was lost or came early, of what is ACKed now */
				watched : 1, /* program: a monitor made this connection allocate storage */
				try_fast_path : 1, /* did cwnd reach its target? */
				round_start : 1, /* did this ACK start a round? */
				loss_round_start : 1, /* did this ACK start a loss round? */
				ack_epoch_mstamp : 50; /* us: start of this epoch of ACK aggregation; 35 years */
		};
		u64 flags; /* all of these at once: see kind.h */
	};
	/* ack_epoch_acked, which each ACK sets, is one shift away. */
	u64 last_lost : BBR_MARK_BITS, /* `lost` at the last callback */
			app_limited_mark
		: BBR_MARK_BITS, /* program: its own app_limited; 0: none */
		  loss_events_in_round : 4, /* ACKs that told of losses, in STARTUP */
		  ack_epoch_acked : 20; /* packets ACKed in this epoch */
};

#define BBR_PROFILE_AT 10

_Static_assert(sizeof(struct bbr) == 104, "struct bbr must fit icsk_ca_priv");
_Static_assert(__builtin_offsetof(struct bbr, bw_hi) == 40, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, extra_acked) == 48, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, steps) == 78, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, flags) == 8 * (BBR_PROFILE_AT + 1),
	       "struct bbr is ABI");
_Static_assert(BBR_REASONS <= 16, "struct bbr.steps has a bit for each");

/*
 * The second part of a connection's state (bpf/more.bpf.h). Without memory for it a connection has no ECN, undoes of a
 * recovery only what it did to cwnd, and estimates more roughly what struct bbr_ack wants to know: it is still BBR
 * version 3, only more careful.
 */
#define BBR_LOSSES 128
#define BBR_SENDS 64

/* Packets were marked lost. What is sent after it knows of them. */
struct bbr_loss {
	u32 delivered, snd_nxt; /* then */
	u32 lost; /* packets so far */
};

/* An ACK was processed, or a timeout. */
struct bbr_send {
	u32 delivered, snd_nxt; /* then */
	u32 sent; /* packets so far: each was delivered, or lost, or is in flight */
};

struct bbr_more {
	u32 rounds; /* packet-timed round trips since init, less rounds_since_probe */
	u16 pacing_gain, cwnd_gain; /* gains of the mode and phase: for monitors */

	/* Bounds when recovery began, to go back to if it was a mistake. */
	u32 undo_bw_lo, undo_inflight_lo, undo_inflight_hi;

	/* ECN */
	u32 prior_rcv_nxt; /* receiver: rcv_nxt at the last packet */
	u32 alpha_last_delivered; /* packets delivered, and of them marked, at the last round */
	u32 alpha_last_delivered_ce;
	u16 ecn_alpha; /* average share of marked packets, /256 */
	u8 startup_ecn_rounds; /* rounds of STARTUP with many marks, in a row */
	u8 ce_state : 1, /* receiver: was the last packet marked? */
		ecn_eligible : 1, /* are marks heeded? */
		ecn_in_round : 1, /* was something marked in this loss round? */
		ecn_in_cycle : 1, /* was something marked since DOWN began? */
		is_app_limited : 1; /* of the last ACK: was its packet sent while the application had no more? */

	/* What estimate.h remembers. Of both rings the newest is at the count less 1. */
	u32 tx_in_flight,
		prior_lost; /* of the last ACK, as struct bbr_flight; prior_lost: `lost` when its packet was sent */
	u32 delivered_ce; /* at the last ACK */
	u32 n_losses, n_sends; /* so far */
	u32 lost_before; /* `lost` before the oldest of losses */
	struct bbr_loss losses[BBR_LOSSES];
	struct bbr_send sends[BBR_SENDS];
	u32 sends_before; /* of n_sends those up to the one that was found last: where to look first */
};

/* The marks of the program around the algorithm (shell.bpf.h): they are only kept here. */
static inline u32 bbr_profile(const struct bbr *b)
{
	return b->profile;
}

static inline void bbr_set_profile(struct bbr *b, u32 profile)
{
	b->profile = profile;
}

static inline bool bbr_watched(const struct bbr *b)
{
	return b->watched;
}

static inline void bbr_set_watched(struct bbr *b, bool watched)
{
	b->watched = watched;
}

/* Of a counter's low bits the whole, which is less than half of their range away from `near`. */
static inline u32 bbr_unmark(u32 low, u32 near)
{
	u32 shift = 32 - BBR_MARK_BITS;

	return near + ((s32)((low - near) << shift) >> shift);
}

/* It is at most a window from where the round began. */
static inline u32 bbr_app_limited_until(const struct bbr *b)
{
	return b->app_limited_mark ? bbr_unmark(b->app_limited_mark, b->next_round_delivered) : 0;
}

static inline void bbr_set_app_limited_until(struct bbr *b, u32 delivered)
{
	b->app_limited_mark = delivered;
	if (delivered && !b->app_limited_mark)
		b->app_limited_mark = 1;
}

/* A count in 24 bits. */
static inline u32 bbr_count(u32 packets)
{
	return min_u32(packets, BBR_COUNT_NONE);
}

static inline u32 bbr_max_bw(const struct bbr *b)
{
	return max_u32(b->bw_hi[0], b->bw_hi[1]);
}

/* The bandwidth to use. */
static inline u32 bbr_bw(const struct bbr *b)
{
	return min_u32(bbr_max_bw(b), b->bw_lo);
}

/* It shares a word with flags that are read long before: read it again, or a register keeps them for what few ACKs do. */
static inline void bbr_set_ack_epoch(struct bbr *b, u64 mstamp)
{
	READ_AGAIN();
	b->ack_epoch_mstamp = mstamp;
}

#include "common/kind.h"

/* Of the ordinary ACKs most: in DOWN or CRUISE, past the ACKs of what a probe sent, the next one not due; not app-limited. */
#define BBR_WAITING 8
/* Most of these: in CRUISE, to stay there. */
#define BBR_CRUISING (BBR_WAITING | 32)

static inline bool bbr_is_waiting(const struct bbr_sock *sk)
{
	return sk->kind & BBR_WAITING;
}

static inline bool bbr_is_cruising(const struct bbr_sock *sk)
{
	return (sk->kind & BBR_CRUISING) == BBR_CRUISING;
}

static inline bool bbr_is_starting(const struct bbr_sock *sk)
{
	return sk->kind & BBR_STARTING;
}

static inline u8 bbr_mode_of(const struct bbr *b, const struct bbr_sock *sk)
{
	if (bbr_is_starting(sk))
		return BBR_STARTUP;
	return sk->kind & BBR_CYCLING ? BBR_PROBE_BW : b->mode;
}

static inline bool bbr_is_pipe_full(const struct bbr *b, const struct bbr_sock *sk)
{
	return !bbr_is_starting(sk) && (sk->kind & BBR_CYCLING || b->full_bw_reached);
}

/* Does the ACK of itself begin no mode, and at most CRUISE? Then nothing is probed, and the application does not limit the flow. */
static inline bool bbr_is_staying(const struct bbr_sock *sk)
{
	return sk->kind & (BBR_WAITING | BBR_STARTING);
}

/* A sample of bandwidth? An ACK of nothing new is none. */
static inline bool bbr_is_valid_sample(const struct bbr_sock *sk, const struct bbr_rs *rs)
{
	return bbr_is_calm(sk) || (rs->interval_us > 0 && rs->acked_sacked);
}

static inline u8 bbr_phase_of(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_is_cruising(sk) ? BBR_CRUISE : b->cycle_idx;
}

static inline u8 bbr_acks_of(const struct bbr *b, const struct bbr_sock *sk)
{
	return bbr_is_staying(sk) ? BBR_ACKS_INIT : b->acks;
}

static inline bool bbr_is_phase(const struct bbr *b, const struct bbr_sock *sk,
				enum bbr_phase phase)
{
	if (bbr_is_waiting(sk) && phase == BBR_UP)
		return false;
	return bbr_mode_of(b, sk) == BBR_PROBE_BW && bbr_phase_of(b, sk) == phase;
}

/* Each reason leads from known modes to a known one, so the bits tell monitors the way. */
static inline void bbr_enter_mode(struct bbr *b, u8 mode, enum bbr_reason reason)
{
	b->mode = mode;
	b->new_gains = 1;
	b->steps |= 1 << reason;
}

static inline void bbr_enter_phase(struct bbr *b, enum bbr_phase phase)
{
	b->cycle_idx = phase;
	b->new_gains = 1;
	b->try_fast_path = 0; /* rate and window are those of the phase */
}

/*
 * What the algorithm has to be told and a stock kernel does not know: Google's v3 changed the stack to note, for each
 * packet, how much was in flight when it was sent and how much had been lost by then. All of that enters here and
 * nowhere else, so "is the algorithm right?" and "are its inputs right?" are two questions. A replay fills these structs
 * with what such a kernel recorded; in bpf_bbr3 estimate.h does.
 */

/* The flight of a packet: of the newest one that an ACK acknowledges, or of one that was lost. */
struct bbr_flight {
	u32 tx_in_flight; /* packets in flight when it had been sent, itself included; 0: not known */
	s32 lost; /* packets marked lost since it was sent, itself included if it was */
	bool is_app_limited; /* was it sent while the application had no more? */
};

/* What an ACK tells, beside its rate sample. */
struct bbr_ack {
	struct bbr_flight flight;
	s32 delivered_ce; /* of the packets delivered over the sample, those that were marked */
	bool is_ece; /* does it tell of marks? */
	bool acks_tlp; /* does it acknowledge a tail loss probe that was a retransmission? */
};

#endif
