/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BBR version 3, as Google runs it: the state of a connection, and the few helpers that all parts
 * use.
 *
 * Version 1 ignores losses, so it fills shallow buffers and starves flows that back off. Version 3
 * (draft-ietf-ccwg-bbr) keeps version 1's model of the path, bw * min_rtt, and bounds it. It learns
 * the bounds from losses and, where marks mean a short queue, from ECN:
 *
 *	bw_hi, inflight_hi	what probes have shown the path to carry, while it stays the same
 *	bw_lo, inflight_lo	what it carries now: cut on losses and marks, reset by a probe
 *
 *	pacing_rate = pacing_gain * min(bw_hi, bw_lo)
 *	cwnd        = cwnd_gain * min(bw_hi, bw_lo) * min_rtt, at most inflight_hi and inflight_lo
 *
 * (The draft calls them max_bw, inflight_longterm, bw_shortterm and inflight_shortterm.) Only a
 * probe for more bandwidth risks losses, so probes are rare: every 2 to 3 s, or as often as a Reno
 * flow of the same BDP would have lost a packet.
 *
 *	STARTUP --> DRAIN --> DOWN --> CRUISE --> REFILL --> UP --> DOWN ...
 *	                      (these four are PROBE_BW)
 *	and from each of them --> PROBE_RTT --> CRUISE (or STARTUP, if the pipe was never full)
 *
 * Nothing here calls the kernel or depends on BPF: a callback reads and changes only struct bbr,
 * struct bbr_more, and what bpf/socket.h and struct bbr_ack offer.
 */
#ifndef BBR_BBR_H
#define BBR_BBR_H

#include "event.h"
#include "params.h"
#include "socket.h"

#if defined(__bpf__) && !defined(SHELL_SOCKET_IS_A_COPY)
#include "stack.bpf.h"
#endif

/*
 * "None" in a 24-bit count. No TCP window (2^30 bytes) has so many packets, so it is above any
 * count.
 */
#define BBR_COUNT_NONE 0xffffffu
#define BBR_BW_NONE 0xffffffffu /* "none" in bw_lo */
#define BBR_MARK_BITS 20 /* of counters where only differences matter */

/*
 * The state of a connection. It fills icsk_ca_priv, which has 104 bytes on every kernel. Google's
 * struct bbr has 144. So what a connection can do without is in struct bbr_more, and counts of
 * packets have 24 bits. Time is in milliseconds instead of jiffies (a BPF program does not know
 * HZ).
 *
 * bbrmon reads it from the sockets of every instance of its ABI major, of any minor
 * (bpf/snapshot.bpf.c). So to move a field, or to change its meaning, takes a new major.
 */
struct bbr {
	u32 min_rtt_us; /* minimum RTT of the last min_rtt_win; BBR_RTT_NONE: no sample yet */
	u32 min_rtt_stamp; /* ms: when min_rtt_us was taken */
	u32 probe_rtt_done_stamp; /* ms: end of PROBE_RTT; 0: inflight is not low enough yet */
	u32 probe_rtt_min_us; /* minimum RTT of the last probe_rtt_win */
	u32 probe_rtt_min_stamp; /* ms: when that was taken */
	u32 next_round_delivered; /* the round ends when a packet sent at this count is ACKed */
	u32 loss_round_delivered; /* likewise for the loss round, which begins with a loss */
	u32 full_bw; /* bandwidth that further growth is compared with */
	u32 bw_latest; /* maximum delivery rate of the loss round */
	u32 bw_lo; /* bound of bw by losses; BBR_BW_NONE: none */
	u32 bw_hi[2]; /* maximum delivery rate of the previous probing cycle, and since */
	u16 extra_acked[2]; /* most ACKed beyond what bw explains: in this window, in the last */
	/*
	 * Each word ends with `: 0`. Otherwise clang accesses two at once, with masks that do not
	 * fit an instruction.
	 */
	u32 inflight_latest : 24, /* most packets delivered in one sample of the loss round */
		rounds_since_probe : 8, /* rounds since the wait for the next probe began */
		: 0;
	u32 inflight_hi : 24, /* packets in flight that were safe; BBR_COUNT_NONE: no limit known */
		init_cwnd : 7, /* packets */
		initialized : 1, /* after bbr_init() */
		: 0;
	u32 probe_up_cnt : 24, /* packets to ACK per +1 of inflight_hi; BBR_COUNT_NONE: it stays */
		probe_up_rounds : 5, /* rounds of UP: each doubles the growth */
		probe_samples : 1, /* rate samples reflect the packets of a probe */
		raising : 1, /* the last pacing gain was above 1 */
		stopped_risky_probe : 1, /* the last probe ended as a precaution */
		: 0;
	u32 probe_up_acks : 24, /* packets ACKed since inflight_hi last grew */
		extra_acked_win_rtts : 5, /* age of this window in rounds */
		round_done : 1, /* PROBE_RTT: a whole round has passed at the low window */
		loss_in_cycle : 1, /* a packet was lost since DOWN began */
		prev_probe_too_high : 1, /* losses or marks ended the last probe */
		: 0;
	/*
	 * Adjacent fields that show that only the clock can end CRUISE: one comparison checks them.
	 */
	u32 probe_wait_us : 25, /* from the start of DOWN to the next probe */
		cycle_idx : 2, /* enum bbr_phase */
		acks : 3, /* enum bbr_acks */
		full_bw_now : 1, /* bandwidth has stopped growing */
		new_gains : 1, /* mode or phase changed since the last ACK */
		: 0;
	union {
		struct {
			u64 inflight_lo : 24, /* bound by losses and marks; BBR_COUNT_NONE: none */
				prior_cwnd : 24, /* window to restore after recovery or PROBE_RTT */
				: 16;
		};
		struct {
			u16 pad[3];
			u16 steps; /* transitions of this callback: bits of enum bbr_reason */
		};
	};
	/* In this order one shift extracts a stamp. Every ACK reads them. */
	u64 profile : 8, /* shell: the connection's profile */
		full_bw_cnt : 2, /* rounds without large growth of bandwidth */
		drain_rounds : 2, /* rounds of DRAIN */
		cycle_mstamp : 52; /* us: start of UP or DOWN; 142 years of uptime */
	union {
		struct {
			u64 mode : 2, /* enum bbr_mode */
				prev_ca_state : 3, /* enum tcp_ca_state on the previous ACK */
				idle_restart : 1, /* restarting after idle */
				full_bw_reached : 1, /* the pipe was full once */
				has_seen_rtt : 1, /* the pacing rate follows from a measured RTT */
				loss_in_round : 1, /* a packet was lost in this loss round */
				in_order : 1, /* no loss, no reordering in what is ACKed now */
				watched : 1, /* shell: a monitor made it allocate storage */
				try_fast_path : 1, /* cwnd has reached its target */
				round_start : 1, /* this ACK started a round */
				loss_round_start : 1, /* this ACK started a loss round */
				ack_epoch_mstamp : 50; /* us: start of this ACK epoch; 35 years */
		};
		u64 flags; /* all of these at once: see kind.h */
	};
	/* One shift extracts ack_epoch_acked, which every ACK sets. */
	u64 last_lost : BBR_MARK_BITS, /* `lost` at the last callback */
			app_limited_mark
		: BBR_MARK_BITS, /* shell: its own app_limited; 0: none */
		  loss_events_in_round : 4, /* ACKs that reported losses, in STARTUP */
		  ack_epoch_acked : 20; /* packets ACKed in this epoch */
};

_Static_assert(sizeof(struct bbr) == 104, "struct bbr must fit icsk_ca_priv");
_Static_assert(__builtin_offsetof(struct bbr, bw_hi) == 40, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, extra_acked) == 48, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, steps) == 78, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, flags) == 88, "struct bbr is ABI");
_Static_assert(BBR_REASONS <= 16, "struct bbr.steps has a bit for each");

/* Bytes: where the word with `profile` begins, for callbacks that read no more of the state. */
#define BBR_PROFILE_AT (__builtin_offsetof(struct bbr, flags) - 8)

/*
 * The memory of estimate.h, which a connection has from its first ACK out of order on. If there is
 * no memory for it, the inputs in struct bbr_ack are estimated more roughly, on the careful side.
 */
#define BBR_LOSSES 64
#define BBR_SENDS 64

/*
 * An entry of the loss history: packets were marked lost. What is sent after it was sent after
 * these losses.
 */
struct bbr_loss {
	u32 delivered, snd_nxt; /* then */
	u32 lost; /* packets lost so far */
};

/* An entry of the send history: an ACK, or a timeout, was processed. */
struct bbr_send {
	u32 delivered, snd_nxt; /* then */
	u32 sent; /* packets sent so far: delivered, lost, or in flight */
};

/* In both rings the newest entry is at the count less 1. */
struct bbr_history {
	u32 tx_in_flight,
		prior_lost; /* last ACK: as in struct bbr_flight; `lost` when its packet was sent */
	u32 n_losses, n_sends; /* entries so far */
	u32 lost_before; /* `lost` before the oldest entry of losses */
	u32 sends_before; /* of n_sends, those up to the last one found: search there first */
	u32 is_app_limited; /* the packet of the last ACK was sent app-limited */
	struct bbr_loss losses[BBR_LOSSES];
	struct bbr_send sends[BBR_SENDS];
};
#define bbr_history bbr_history

/*
 * The second part of a connection's state (bpf/more.bpf.h). If there is no memory for it, the
 * connection has no ECN, and an undo of a recovery restores only cwnd.
 */
struct bbr_more {
	u32 rounds; /* packet-timed round trips since init, less rounds_since_probe */
	u16 pacing_gain, cwnd_gain; /* gains of the mode and phase: for monitors */

	/* The bounds when recovery began, restored if it was spurious. */
	u32 undo_bw_lo, undo_inflight_lo, undo_inflight_hi;

	/* ECN */
	u32 prior_rcv_nxt; /* receiver: rcv_nxt at the last packet */
	u32 alpha_last_delivered; /* `delivered` and `delivered_ce` at the last round */
	u32 alpha_last_delivered_ce;
	u32 delivered_ce; /* at the last ACK */
	u16 ecn_alpha; /* average share of marked packets, /256 */
	u8 startup_ecn_rounds; /* rounds of STARTUP with many marks, in a row */
	u8 ce_state : 1, /* receiver: the last packet was marked */
		ecn_eligible : 1, /* BBR responds to marks */
		ecn_in_round : 1, /* a packet was marked in this loss round */
		ecn_in_cycle : 1, /* a packet was marked since DOWN began */
		behind : 1; /* cpu_gain: short of CPU, and inflight too low */

	/*
	 * shell: what was sent while `delivered` was between these was sent between the last two
	 * marks of app_limited_mark, and is not app-limited.
	 */
	u32 unlimited_after, unlimited_before;
};
#define bbr_more bbr_more

/* With the kernel's 72 bytes for a storage, sizes of kmalloc(): 128 and 2048. */
_Static_assert(sizeof(struct bbr_more) <= 128 - 72, "struct bbr_more must stay small");
_Static_assert(sizeof(struct bbr_history) <= 2048 - 72, "struct bbr_history must fit 2 KB");

/*
 * Restores a counter from its low bits. It must be less than half of their range away from `near`.
 */
static inline u32 bbr_unmark(u32 low, u32 near)
{
	u32 shift = 32 - BBR_MARK_BITS;

	return near + ((s32)((low - near) << shift) >> shift);
}

/* The mark is at most a window away from the start of the round. */
static inline u32 bbr_app_limited_until(const struct bbr *b)
{
	return b->app_limited_mark ? bbr_unmark(b->app_limited_mark, b->next_round_delivered) : 0;
}

/* Before the first mark nothing was app-limited, however long ago it was sent. */
#define BBR_LONG_BEFORE (1u << 30)

/*
 * Marks what is sent until `delivered` packets are delivered. If that is no longer so of the last
 * mark, a gap between the two ends now. Two gaps within a flight are rare, because each mark lasts
 * for a flight: only the last one is kept.
 */
static inline void bbr_set_app_limited_until(struct bbr *b, const struct shell_sock *sk,
					     u32 delivered)
{
	struct bbr_more *more = delivered ? MORE(sk) : NULL;
	u32 now = IN(sk, delivered), until = bbr_app_limited_until(b);

	if (more && (!until || after(now, until))) {
		more->unlimited_after = until ? until : now - BBR_LONG_BEFORE;
		more->unlimited_before = now;
	}
	b->app_limited_mark = delivered;
	if (delivered && !b->app_limited_mark)
		b->app_limited_mark = 1;
}

#define bbr_app_limited_until bbr_app_limited_until

/* Limits a count to 24 bits. */
static inline u32 bbr_count(u32 packets)
{
	return min_u32(packets, BBR_COUNT_NONE);
}

static inline u32 bbr_max_bw(const struct bbr *b)
{
	return max_u32(b->bw_hi[0], b->bw_hi[1]);
}

/* From 8 tso_rtt on (4 ms) the RTT adds 256 bytes at most, a sixth of a packet. */
static inline bool bbr_is_burst_of_rate(const struct bbr *b, const struct shell_sock *sk)
{
	return b->min_rtt_us >= 8ull * PARAM(sk, tso_rtt);
}

/* Bytes of a burst, or more: without the divisions of bbr_tso_segs(). */
static inline u64 bbr_burst_at_most(const struct bbr *b, const struct shell_sock *sk)
{
	u64 bytes = low_u32(IN(sk, pacing_rate) >> IN(sk, pacing_shift));

	bytes += bbr_is_burst_of_rate(b, sk) ? BBR_GSO_MAX_SIZE >> 8 : BBR_GSO_MAX_SIZE;
	return min_u64(bytes, BBR_GSO_MAX_SIZE);
}

/* The bandwidth to use. */
static inline u32 bbr_bw(const struct bbr *b)
{
	return min_u32(bbr_max_bw(b), b->bw_lo);
}

/*
 * The stamp shares a word with flags that were read long before. Read the word again: otherwise a
 * register keeps it until here, for something that few ACKs do.
 */
static inline void bbr_set_ack_epoch(struct bbr *b, u64 mstamp)
{
	READ_AGAIN();
	b->ack_epoch_mstamp = mstamp;
}

/* Each reason leads from known modes to a known one, so the bits tell monitors every transition. */
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
	b->try_fast_path = 0; /* rate and window depend on the phase */
}

/*
 * The inputs that a stock kernel does not have. Google's v3 changed the stack to record, for each
 * packet, how much was in flight when it was sent and how much had been lost by then. All such
 * inputs enter here and nowhere else, so the algorithm and its inputs can be tested separately. A
 * replay fills these structs with what such a kernel recorded; in bpf_bbr3, estimate.h fills them.
 */

/* The flight of a packet: the newest one that an ACK acknowledges, or one that was lost. */
struct bbr_flight {
	u32 tx_in_flight; /* packets in flight after it was sent, itself included; 0: unknown */
	s32 lost; /* packets marked lost since it was sent, itself included if it was */
	u32 is_app_limited; /* sent while the application had no more data */
};

/* A report of losses. Google's stack makes it before the ACK that shows them. */
struct bbr_lost {
	u32 marked; /* packets marked lost since the last callback; 0: no report */
	struct bbr_flight flight; /* of the last one */
	u32 packets; /* of this flight, lost at once */
};

/* What an ACK reports, beyond its rate sample. */
struct bbr_ack {
	struct bbr_flight flight;
	s32 delivered_ce; /* marked packets among those delivered in the sample */
	bool is_ece; /* it reports marks */
	bool acks_tlp; /* it ACKs a tail loss probe that was a retransmission */
	struct bbr_lost lost;
};

#endif
