/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a socket that an algorithm reads, and the part that it sets. IN(sk, name) reads,
 * SET(sk, name, value) writes, and RS(rs, name) reads those members of a rate sample that only few
 * kernels have (stack.bpf.h). In the BPF program each is a load or a store of the kernel's socket
 * where it is needed, which is cheaper than a copy (kernel.bpf.h has the functions). In the tests,
 * and in a BPF program that defines SHELL_SOCKET_IS_A_COPY, each is the field of a struct. An
 * algorithm uses nothing else of the kernel: the clock and the random number are inputs, too. So
 * the same source is compiled into the BPF program and into the tests, and a recorded callback can
 * be replayed.
 */
#ifndef SOCKET_H
#define SOCKET_H

#include "bpf_bbr/params.h"

#if defined(__bpf__) && !defined(SHELL_SOCKET_IS_A_COPY)
#include "kernel.bpf.h"
#else
#include "common/arithmetic.h"

struct bbr;
struct bbr_history;
struct bbr_more;
struct bbr_params;

struct shell_sock {
	const struct bbr_params *param;
	struct bbr_more *more;

	/* Inputs, named as in struct tcp_sock and struct sock. */
	u64 tcp_mstamp; /* us: now */
	u64 delivered_mstamp; /* us: when `delivered` last grew */
	u64 tcp_clock_cache; /* ns: now */
	u64 tcp_wstamp_ns; /* ns: departure time of the next packet */
	u64 max_pacing_rate; /* bytes/s: SO_MAX_PACING_RATE */
	u32 now_ms; /* the clock of stamps that mainline keeps in jiffies */
	u32 random; /* uniform over 32 bits; read on entry to PROBE_BW, or to draw a cycle */
	u32 delivered; /* packets delivered since the start */
	u32 lost; /* packets marked lost since the start */
	u32 inflight; /* tcp_packets_in_flight() */
	u32 mss; /* mss_cache, bytes */
	u32 srtt_us; /* smoothed RTT << 3; 0: none yet */
	u32 min_rtt_us; /* tcp_min_rtt(): the stack's own filter, read by init */
	u32 snd_cwnd_clamp;
	u8 pacing_shift; /* sk_pacing_shift: a TSO burst lasts 2^-shift seconds */
	u8 ca_state; /* enum tcp_ca_state */
	u8 kind; /* not an input: enum shell_kind */
	/* BBR version 1 reads none of these. */
	u32 delivered_ce; /* packets delivered that were marked (ECN) */
	u32 stack_prior_cwnd; /* prior_cwnd of the stack: cwnd before its last recovery */
	u32 rcv_nxt; /* end of the data received without a gap */
	u32 snd_una, snd_nxt; /* of the data sent: the oldest not ACKed, the end */
	u32 write_seq; /* end of what the application has written */
	u32 queued; /* bytes of packets in the qdisc and the device, overhead included */
	u32 sacked_out; /* packets SACKed and not ACKed */
	u32 lost_out; /* packets marked lost and not ACKed */
	u32 retrans_out; /* packets retransmitted and not ACKed */
	u32 reord_seen; /* how often packets were seen reordered */
	u32 tlp_high_seq; /* snd_nxt when a tail loss probe was sent; 0: none is out */
	bool tlp_retrans; /* it was a retransmission */
	u32 gso_max_size; /* sk_gso_max_size: bytes that the device takes at once */
	u32 max_tcp_header; /* MAX_TCP_HEADER: bytes that the stack keeps for headers */
	u8 min_tso_segs; /* net.ipv4.tcp_min_tso_segs */
	bool is_cwnd_limited; /* the window keeps the stack from sending more */
	bool uses_ecn; /* ECN is negotiated, and marks mean a short queue here */
	bool has_flight; /* the stack knows the inputs that RS() reads */

	/* Inputs that the algorithm may change: its outputs. */
	u64 pacing_rate; /* bytes/s */
	u32 cwnd;
	u32 ssthresh;
	u32 app_limited; /* delivered count up to which packets are app-limited; 0: not limited */
	u32 acks_sent, ece_acks_sent; /* by shell_send_ack(); those that reported marks */
	u8 ack_pending; /* icsk_ack.pending: ICSK_ACK_* */
	bool demand_cwr; /* TCP_ECN_DEMAND_CWR: ACKs report marks */
	bool ect_permanent; /* all packets may be marked, retransmissions included */
	bool fast_ack_mode; /* ACK as soon as data arrives, even if nobody has read it yet */

	/*
	 * Inputs of version 3, too. They are last because the corpus of the fuzzers has all that is
	 * above. Of the last sample that was not app-limited, or was the highest of those:
	 */
	u32 rate_delivered; /* packets */
	bool rate_app_limited;
	bool is_rwnd_limited; /* the receiver's window kept the stack from sending more */

	struct bbr_history *history; /* NULL: there is no memory for one */
	bool has_history; /* MAKE_HISTORY() was called */
};

/* The rate sample of an ACK, named as in struct rate_sample. */
struct shell_rs {
	s32 delivered; /* packets delivered over interval_us; < 0: no sample */
	s32 losses; /* packets marked lost by this ACK */
	s64 interval_us; /* <= 0: no sample */
	s64 rtt_us; /* < 0: no sample */
	u32 prior_delivered; /* `delivered` when the packet that is ACKed now was sent */
	u32 prior_in_flight;
	u32 acked_sacked; /* packets newly ACKed or SACKed */
	u32 last_end_seq; /* end of the newest packet that is ACKed now */
	s32 delivered_ce; /* packets delivered that were marked (ECN) */
	bool is_retrans; /* the packet that is ACKed now was a retransmission */
	bool is_app_limited;
	bool is_ack_delayed;

	/* What only Google's stack knows. Of the packet that is ACKed now: */
	u32 tx_in_flight; /* packets in flight when it was sent, itself included */
	s32 lost; /* packets marked lost since then */
	bool is_acking_tlp_retrans_seq; /* a tail loss probe was ACKed that was a retransmission */
	bool is_ece; /* the ACK reports marks */
};

/* Sends an ACK of what was received up to rcv_nxt. If that is all, no ACK is pending any more. */
static inline void shell_send_ack(struct shell_sock *sk, u32 rcv_nxt)
{
	sk->acks_sent++;
	sk->ece_acks_sent += sk->demand_cwr;
	sk->ack_pending *= rcv_nxt != sk->rcv_nxt;
}

#ifndef OPTION_OR
#define OPTION_OR(s, key, off) PARAM(s, key)
#endif
#define MORE(s) ((s)->more)
#define HISTORY(s) ((s)->has_history ? (s)->history : NULL)
#define MAKE_HISTORY(s) ((s)->has_history = true, (s)->history)
#define RS(rs, name) ((rs)->name)
#define IN(s, name) ((s)->name)
#define SET(s, name, value) ((s)->name = (value))

/* True if the stack has nothing lost, SACKed or marked at present. */
static inline bool shell_is_open(const struct shell_sock *sk)
{
	return sk->ca_state == TCP_CA_Open;
}

static inline bool shell_is_app_limited(const struct bbr *b, const struct shell_sock *sk,
					const struct shell_rs *rs)
{
	(void)b;
	(void)sk;
	return rs->is_app_limited;
}
#endif

/* The kinds of ACKs for which the shell compiles bbr_main() (shell.bpf.h, common/kind.h). */
enum shell_kind {
	SHELL_GENERAL, /* any ACK: nothing is known. With options, in a function of its own */
	SHELL_FAST_1, /* the most common two, without losses: in cong_control itself */
	SHELL_FAST_2,
	SHELL_REGULAR, /* the others with nothing unusual, in a function of its own */
};

/* A parameter, and an element of one that is a list. */
#define PARAM(s, key) PARAM_AT(s, key, 0)
#define PARAM_AT(s, key, i) ((s)->param->key[i])

/* An option, 0 if it is off. */
#define OPTION(s, key) OPTION_OR(s, key, 0)

#endif
