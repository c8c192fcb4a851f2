/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BBR version 1, as mainline Linux does it: the state of a connection, what the algorithm sees of a
 * socket, and the few helpers that all of its parts use.
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
 * Neither estimate can be measured while the other is, so the gains run through a state machine:
 *
 *	STARTUP --> DRAIN --> PROBE_BW <--> PROBE_RTT --> STARTUP (if the pipe was never full)
 *
 * Nothing here calls the kernel or knows of BPF. Everything that a callback may read was copied into
 * struct bbr_sock and struct bbr_rs, the clock and the random number included, and all that it changes
 * is struct bbr and the outputs of struct bbr_sock. So the same source is compiled into the BPF
 * program and into the tests, and a recorded callback can be replayed.
 *
 * Units: bandwidth in packets per microsecond << 24 (BW_SCALE), gains in 1/256 (BBR_UNIT), windows in
 * packets, pacing rates in bytes per second.
 */
#ifndef BBR_BBR_H
#define BBR_BBR_H

#ifdef __bpf__
#include "vmlinux.h"
#define inline inline __attribute__((always_inline))
#else
#include <stdbool.h>
#include <linux/tcp.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
#endif

#include "bpf_bbr/events.h"
#include "bpf_bbr/params.h"
#include "minmax.h"

/*
 * At 1500 bytes a packet the unit of bandwidth is about 715 bit/s, and a u32 of it reaches 3 Tbit/s:
 * fine enough for the slowest path that four packets in flight can keep busy, and beyond the fastest.
 */
#define BW_SCALE 24
#define BW_UNIT (1ull << BW_SCALE)

#define USEC_PER_SEC 1000000u
#define USEC_PER_MSEC 1000u
#define NSEC_PER_USEC 1000u
#define BYTES_PER_KBIT 125ull

#define BBR_CYCLE_LEN 8 /* phases of PROBE_BW's gain cycle */
enum bbr_phase {
	BBR_PHASE_PROBE, /* index of the gain that probes for more bandwidth */
	BBR_PHASE_DRAIN, /* index of the one that drains what probing queued */
	BBR_PHASE_CRUISE, /* index of the first of the others */
};

/*
 * The state of a connection: all of icsk_ca_priv, which is 104 bytes on every kernel. The kernel's own
 * struct bbr has the same fields. Ours counts time in milliseconds where that one uses jiffies (a
 * BPF program cannot know HZ), has wider gains and counters for the sake of parameters, and keeps
 * marks of the program around the algorithm in the bits that were left.
 *
 * bbrmon reads it from the sockets of every instance of its ABI major (bpf/snapshot.bpf.c), whatever their
 * minor is: what is moved, or given another meaning, is another major.
 */
struct bbr {
	u32 min_rtt_us; /* minimum RTT of the last min_rtt_win; BBR_RTT_NONE: no sample yet */
	u32 min_rtt_stamp; /* ms: when min_rtt_us was taken */
	u32 probe_rtt_done_stamp; /* ms: end of PROBE_RTT; 0: inflight is not low enough yet */
	struct minmax bw; /* maximum delivery rate of the last bw_win rounds */
	u32 round_count; /* packet-timed round trips since init */
	u32 next_round_delivered; /* the round ends when a packet sent at this count is ACKed */
	u32 app_limited_until; /* program: its own app_limited where the kernel's cannot be written */
	/* In this order the stamp, which each ACK reads, is one shift away. */
	u64 profile : 8, /* program: the connection's profile */
		cycle_len : 4, /* drain_to_target: min_rtts that this cycle lasts */
		cycle_mstamp : 52; /* us: start of this phase of the gain cycle; 142 years of uptime */
	u32 mode : 3, /* enum bbr_mode */
		prev_ca_state : 3, /* enum tcp_ca_state on the previous ACK */
		packet_conservation : 1, /* first round of recovery */
		round_start : 1, /* did this ACK start a round? */
		idle_restart : 1, /* restarting after idle? */
		probe_rtt_round_done : 1, /* did a whole round pass at probe_rtt_cwnd? */
		lt_is_sampling : 1, /* taking samples of a possible policer's rate? */
		lt_rtt_cnt : 7, /* rounds in this sampling interval, or of using lt_bw */
		lt_use_bw : 1, /* is lt_bw the estimate of bandwidth? */
		full_bw_reached : 1, /* was the pipe filled? */
		steps : 5, /* transitions of this callback: a bit for each enum bbr_reason */
		cycle_idx : 3, /* phase of PROBE_BW's gain cycle */
		has_seen_rtt : 1, /* was the pacing rate set from a measured RTT? */
		watched : 1, /* program: a monitor made this connection allocate storage */
		unused : 1;
	u32 lt_bw; /* long-term ("lt") rate of a policer, or of the last interval */
	u32 lt_last_delivered; /* tp->delivered at the start of the interval */
	u32 lt_last_stamp; /* ms: delivered_mstamp at the start of the interval */
	u32 lt_last_lost; /* tp->lost at the start of the interval */
	u16 pacing_gain, cwnd_gain; /* gains in force, from the last ACK */
	u32 prior_cwnd; /* the window to restore after recovery or PROBE_RTT */
	u32 full_bw; /* bandwidth that further growth is compared with */
	u64 ack_epoch_mstamp; /* us: start of this epoch of ACK aggregation */
	u16 extra_acked[2]; /* most packets ACKed beyond what bw explains, in two slots */
	u32 ack_epoch_acked : 20, /* packets ACKed in this epoch */
		extra_acked_win_rtts : 5, /* age of the current slot in rounds */
		extra_acked_win_idx : 1, /* the current slot */
		full_bw_cnt : 5, /* rounds without large growth of bandwidth */
		unused_b : 1;
};

_Static_assert(sizeof(struct bbr) == 104, "struct bbr must fit icsk_ca_priv");
_Static_assert(__builtin_offsetof(struct bbr, bw) == 12, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, round_count) == 36, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, lt_bw) == 60, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, pacing_gain) == 76, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, full_bw) == 84, "struct bbr is ABI");
_Static_assert(__builtin_offsetof(struct bbr, extra_acked) == 96, "struct bbr is ABI");
_Static_assert(BBR_REASONS <= 5, "struct bbr.steps has a bit for each");

/*
 * What the algorithm sees of a socket, and what it decides: IN(sk, name) reads, SET(sk, name, value)
 * writes. In the BPF program that is a load or a store of the kernel's socket where it is needed, which is
 * cheaper than a copy (kernel.bpf.h, which asks for this, has the functions); in the tests it is the
 * field of a struct.
 */
#ifdef BBR_KERNEL_SOCKET
struct bbr_sock {
	const struct bbr_params *param;
	struct sock *sk;
	u32 now_ms;
	bool options; /* is any of BBR_OPTIONS in use? A constant, so that who uses none pays for none */
};

#define OPTION_OR(s, key, off) ((s)->options ? PARAM(s, key) : (off))
#define bbr_rs rate_sample
#define IN(s, name) in_##name(s)
#define SET(s, name, value) set_##name(s, value)
#else
struct bbr_sock {
	const struct bbr_params *param;

	/* Inputs, named as in struct tcp_sock and struct sock. */
	u64 tcp_mstamp; /* us: now */
	u64 delivered_mstamp; /* us: when `delivered` last grew */
	u64 tcp_clock_cache; /* ns: now */
	u64 tcp_wstamp_ns; /* ns: departure time of the next packet */
	u64 max_pacing_rate; /* bytes/s: SO_MAX_PACING_RATE */
	u32 now_ms; /* the clock of stamps that mainline keeps in jiffies */
	u32 random; /* uniform over 32 bits; read when PROBE_BW is entered, or draws a cycle */
	u32 delivered; /* packets delivered since the start */
	u32 lost; /* packets marked lost since the start */
	u32 inflight; /* tcp_packets_in_flight() */
	u32 mss; /* mss_cache, bytes */
	u32 srtt_us; /* smoothed RTT << 3; 0: none yet */
	u32 min_rtt_us; /* tcp_min_rtt(): the stack's own filter, read by init */
	u32 snd_cwnd_clamp;
	u8 pacing_shift; /* sk_pacing_shift: a TSO burst lasts 2^-shift seconds */
	u8 ca_state; /* enum tcp_ca_state */

	/* Inputs that the algorithm may change: its outputs. */
	u64 pacing_rate; /* bytes/s */
	u32 cwnd;
	u32 ssthresh;
	u32 app_limited; /* delivered count up to which packets are app-limited; 0: not limited */
};

/* The rate sample of an ACK, named as in struct rate_sample. */
struct bbr_rs {
	s32 delivered; /* packets delivered over interval_us; < 0: no sample */
	s32 losses; /* packets marked lost by this ACK */
	s64 interval_us; /* <= 0: no sample */
	s64 rtt_us; /* < 0: no sample */
	u32 prior_delivered; /* `delivered` when the packet that is ACKed now was sent */
	u32 prior_in_flight;
	u32 acked_sacked; /* packets newly ACKed or SACKed */
	bool is_app_limited;
	bool is_ack_delayed;
};

#ifndef OPTION_OR
#define OPTION_OR(s, key, off) PARAM(s, key)
#endif
#define IN(s, name) ((s)->name)
#define SET(s, name, value) ((s)->name = (value))

static inline bool bbr_is_app_limited(const struct bbr *b, const struct bbr_rs *rs)
{
	(void)b;
	return rs->is_app_limited;
}
#endif

/* A parameter, and an element of one that is a list. */
#define PARAM(s, key) PARAM_AT(s, key, 0)
#define PARAM_AT(s, key, i) ((s)->param->key[i])

/* One of BBR_OPTIONS, 0 if it is off. */
#define OPTION(s, key) OPTION_OR(s, key, 0)

/* Loads a value once, for it may change at any moment, and clamps it to its range. */
static inline u32 param_clamp(const u32 *value, u32 lo, u32 hi)
{
	u32 v = *(const volatile u32 *)value;

	if (v < lo)
		return lo;
	return v > hi ? hi : v;
}

/*
 * Anybody with the right to write the map of parameters can have written anything. The algorithm gets
 * to see only what has gone through here.
 */
static inline void bbr_clamp_params(struct bbr_params *to, const struct bbr_params *from)
{
#define X(key, n, unit, dflt, lo, hi, help) \
	for (u32 i = 0; i < n; i++)         \
		to->key[i] = param_clamp(&from->key[i], lo, hi);
	BBR_PARAMS(X)
#undef X
}

/* Does a set of parameters ask for anything that mainline does not have? */
static inline bool bbr_has_options(const struct bbr_params *p)
{
	u32 differ = 0;

#define X(key, n, unit, dflt, lo, hi, help) differ |= p->key[0] ^ ((const u32[])dflt)[0];
	BBR_OPTIONS(X)
#undef X
	return differ;
}

/* What most ACKs do not come to: the compiler keeps its registers for those that do not. */
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* A quotient, 0 if there is none: as the BPF instruction has it, which needs no branch for that. */
static inline u64 quotient(u64 dividend, u32 divisor)
{
#ifdef __bpf__
	u64 wide = divisor;

	asm("%[q] /= %[d]" : [q] "+r"(dividend) : [d] "r"(wide));
	return dividend;
#else
	return divisor ? dividend / divisor : 0;
#endif
}

static inline u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Is a before b, for counters and stamps that wrap around? */
static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool after(u32 a, u32 b)
{
	return before(b, a);
}

/* Microseconds from t0 to t1, 0 if t1 is earlier: tcp_stamp_us_delta() of the kernel, u32 included. */
static inline u32 stamp_us_delta(u64 t1, u64 t0)
{
	s64 delta = t1 - t0;

	return delta > 0 ? delta : 0;
}

/* The maximum of the recent delivery rates. */
static inline u32 bbr_max_bw(const struct bbr *b)
{
	return minmax_get(&b->bw);
}

/* The bandwidth to use: a policer's long-term rate once one was found. */
static inline u32 bbr_bw(const struct bbr *b)
{
	return b->lt_use_bw ? b->lt_bw : bbr_max_bw(b);
}

static inline u16 bbr_extra_acked(const struct bbr *b)
{
	return max_u32(b->extra_acked[0], b->extra_acked[1]);
}

/* Each reason leads from known modes to a known one, so the bits tell monitors the way. */
static inline void bbr_enter_mode(struct bbr *b, u8 mode, enum bbr_reason reason)
{
	b->mode = mode;
	b->steps |= 1 << reason;
}

#endif
