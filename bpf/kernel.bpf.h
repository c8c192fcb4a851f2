/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's socket, and every difference between kernel versions. Each is decided when the
 * program is loaded, by what the running kernel's BTF has, never by a version number. The branch
 * that does not apply is dead code to the verifier.
 */
#ifndef KERNEL_BPF_H
#define KERNEL_BPF_H

#include "base/chrono.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/params.h"
#include "common/arithmetic.h"

/* Flags of the op table. With BBR_NEEDS_ECN the stack negotiates ECN. */
#ifdef BBR_NEEDS_ECN
#define SHELL_OPS_FLAGS (TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN)
#else
#define SHELL_OPS_FLAGS TCP_CONG_NON_RESTRICTED
#endif

struct bbr; /* the state of a connection; the algorithm defines it, and the other three */
struct bbr_more;
struct bbr_history;
struct bbr_params;

/* A socket, with what a callback knows of it. All but the pointers are constants. */
struct shell_sock {
	const struct bbr_params *param;
	struct sock *sk;
	bool is_init; /* tcp_mstamp may be as old as the last packet */
	bool options; /* an option is in use; otherwise options cost nothing */
	u8 kind; /* enum shell_kind of this ACK */
	bool finds_late; /* MORE() looks it up when it is read */
	bool reads_late; /* min_tso_segs is read where it is needed */
	u8 min_tso_segs; /* net.ipv4.tcp_min_tso_segs */
	struct bbr_more *more; /* the second part of the state; NULL: there was no memory for it */
};

/* defaults.bpf.h */
static inline u32 bbr_app_limited_until(const struct bbr *b);
static inline void bbr_set_app_limited_until(struct bbr *b, const struct shell_sock *sk,
					     u32 delivered);
static inline bool bbr_was_sent_after_mark(const struct bbr *b, const struct shell_sock *sk,
					   u32 prior_delivered);

static inline struct bbr_more *more_of(struct sock *sk);
#define MORE(s) ((s)->finds_late ? more_of((s)->sk) : (s)->more)
static inline struct bbr_history *history_of(struct sock *sk);
static inline struct bbr_history *make_history(struct sock *sk);
#define HISTORY(s) history_of((s)->sk)
#define MAKE_HISTORY(s) make_history((s)->sk)
#define OPTION_OR(s, key, off) ((s)->options ? PARAM(s, key) : (off))
#define shell_rs rate_sample
#define IN(s, name) in_##name(s)
#define SET(s, name, value) set_##name(s, value)

/* Before 6.10 cong_control(sk, rs), from then on cong_control(sk, ack, flag, rs). */
struct tcp_congestion_ops___6_10 {
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
} __attribute__((preserve_access_index));

/* From 7.1 on cwnd_event() no longer gets CA_EVENT_TX_START, this callback does. */
struct tcp_congestion_ops___7_1 {
	void (*cwnd_event_tx_start)(struct sock *sk);
} __attribute__((preserve_access_index));

/* Came with 6.4, as did the right of a congestion control to write tp->app_limited. */
struct bpf_struct_ops___6_4 {
	int (*validate)(void *kdata);
} __attribute__((preserve_access_index));

/*
 * Kernels with BBR version 3's changes have tso_segs in place of min_tso_segs: the whole burst, not
 * the least of it. A type of its own, because bbrctl then renames the member of our
 * tcp_congestion_ops (loader/instance/struct_ops.c).
 */
struct tcp_congestion_ops___burst {
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*tso_segs)(struct sock *sk, unsigned int mss_now);
} __attribute__((preserve_access_index));

/* Only the size of a whole burst depends on this. */
struct netns_ipv4___burst {
	u8 sysctl_tcp_tso_rtt_log;
} __attribute__((preserve_access_index));

struct net___burst {
	struct netns_ipv4___burst ipv4;
} __attribute__((preserve_access_index));

/*
 * The rate sample in the raw context of cong_control. Each place has a load of its own, with a
 * constant offset: the verifier of kernels before 7.0 rejects a computed one.
 */
static inline const struct rate_sample *ctx_rate_sample(unsigned long long *ctx)
{
	const struct rate_sample *rs;

	if (bpf_core_type_matches(struct tcp_congestion_ops___6_10))
		asm volatile("%[rs] = *(u64 *)(%[ctx] + 24)" : [rs] "=r"(rs) : [ctx] "r"(ctx));
	else
		asm volatile("%[rs] = *(u64 *)(%[ctx] + 8)" : [rs] "=r"(rs) : [ctx] "r"(ctx));
	return rs;
}

/*
 * True if the program must detect the first packet after a pause itself. Older kernels, and older
 * libbpf, refuse an object that names cwnd_event_tx_start. So the program checks in the callbacks
 * just before the stack sends: min_tso_segs(), and set_state() of an RTO.
 */
static inline bool tx_start_is_hidden(void)
{
	return bpf_core_field_exists(((struct tcp_congestion_ops___7_1 *)0)->cwnd_event_tx_start);
}

static inline bool burst_is_asked(void)
{
	struct tcp_congestion_ops___burst *ops = 0;

	return !bpf_core_field_exists(ops->min_tso_segs) && bpf_core_field_exists(ops->tso_segs);
}

static inline bool app_limited_is_writable(void)
{
	return bpf_core_field_exists(((struct bpf_struct_ops___6_4 *)0)->validate);
}

static inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/*
 * Takes the address of an element, not of the array. clang makes a load of it, which libbpf accepts
 * only for a field of the same size, and the array is larger with BBR version 3's changes to the
 * kernel.
 */
static inline struct bbr *state_of(struct sock *sk)
{
	return (struct bbr *)&((struct inet_connection_sock *)sk)->icsk_ca_priv[0];
}

/* What CO-RE knows of the bit field at load time. Mostly it is in one byte. */
#define CA_STATE(icsk, info) __CORE_RELO(icsk, icsk_ca_state, info)

static inline u32 ca_state_of(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	u64 byte;

	if (CA_STATE(icsk, BYTE_SIZE) != 1)
		return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	byte = *((u8 *)icsk + CA_STATE(icsk, BYTE_OFFSET));
	return byte << CA_STATE(icsk, LSHIFT_U64) >> CA_STATE(icsk, RSHIFT_U64);
}

/* tcp_packets_in_flight() */
static inline u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/*
 * These take a variable. With an expression such as s->sk, the macro would relocate s->sk as well,
 * and so keep in memory the struct shell_sock, whose members are constants.
 */
static inline bool tlp_retrans_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, tlp_retrans);
}

static inline bool is_cwnd_limited_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

static inline bool is_rwnd_limited_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD((const struct tcp_sock___chrono *)tp, chrono_type) ==
	       CHRONO_RWND;
}

static inline bool rate_app_limited_of(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, rate_app_limited);
}

/*
 * Where tp->app_limited cannot be written, our own state has the algorithm's mark. The kernel would
 * mark the packets that are sent until `delivered` passes it. So a sample of a packet sent at or
 * below the mark is app-limited, unless the packet was sent before the mark was set.
 */
static inline u32 app_limited_of(const struct tcp_sock *tp, const struct bbr *b)
{
	if (!app_limited_is_writable() && bbr_app_limited_until(b) &&
	    !after(tp->delivered, bbr_app_limited_until(b)))
		return bbr_app_limited_until(b);
	return tp->app_limited;
}

/* True if the stack is in TCP_CA_Open, which is 0. ca_state_of() would take one shift more. */
static inline bool shell_is_open(const struct shell_sock *s)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)s->sk;
	u64 byte;

	if (CA_STATE(icsk, BYTE_SIZE) != 1)
		return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state) == TCP_CA_Open;
	byte = *((u8 *)icsk + CA_STATE(icsk, BYTE_OFFSET));
	return !(byte << CA_STATE(icsk, LSHIFT_U64));
}

/*
 * Returns 0 or 1. Neither this nor the members of rate_sample are bool, because clang masks a bool
 * that it has read.
 */
static inline u8 shell_is_app_limited(struct bbr *b, const struct shell_sock *s,
				      const struct rate_sample *rs)
{
	if (!app_limited_is_writable() && bbr_app_limited_until(b)) {
		if (after(rs->prior_delivered, bbr_app_limited_until(b)))
			bbr_set_app_limited_until(b, s, 0);
		else if (bbr_was_sent_after_mark(b, s, rs->prior_delivered))
			return true;
	}
	return rs->is_app_limited;
}

/*
 * Millisecond clock for the long timers. The stack refreshes tcp_mstamp just before all callbacks
 * of the data path. init may come at any time (setsockopt), when tcp_mstamp may be as old as the
 * last packet.
 */
static inline u32 now_ms(const struct shell_sock *s)
{
	u64 us = s->is_init ? bpf_ktime_get_ns() / NSEC_PER_USEC : tcp_sk(s->sk)->tcp_mstamp;

	return quotient(us, USEC_PER_MSEC);
}

/*
 * At each load of a pointer from one of its structures the kernel's verifier searches all types by
 * name. So callbacks read this once, before they call the algorithm.
 */
static inline u8 min_tso_segs_of(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_min_tso_segs;
}

/* IN() and SET() of the algorithm. */
#define INPUT(type, name, expr)                                  \
	static inline type in_##name(const struct shell_sock *s) \
	{                                                        \
		return expr;                                     \
	}

INPUT(u64, tcp_mstamp, tcp_sk(s->sk)->tcp_mstamp)
INPUT(u64, delivered_mstamp, tcp_sk(s->sk)->delivered_mstamp)
INPUT(u64, tcp_clock_cache, tcp_sk(s->sk)->tcp_clock_cache)
INPUT(u64, tcp_wstamp_ns, tcp_sk(s->sk)->tcp_wstamp_ns)
INPUT(u64, max_pacing_rate, s->sk->sk_max_pacing_rate)
INPUT(u32, now_ms, now_ms(s))
INPUT(u32, random, bpf_get_prandom_u32())
INPUT(u32, delivered, tcp_sk(s->sk)->delivered)
INPUT(u32, lost, tcp_sk(s->sk)->lost)
INPUT(u32, inflight, packets_in_flight(tcp_sk(s->sk)))
INPUT(u32, mss, tcp_sk(s->sk)->mss_cache)
INPUT(u32, srtt_us, tcp_sk(s->sk)->srtt_us)
INPUT(u32, min_rtt_us, tcp_sk(s->sk)->rtt_min.s[0].v)
INPUT(u32, snd_cwnd_clamp, tcp_sk(s->sk)->snd_cwnd_clamp)
INPUT(u32, pacing_shift, s->sk->sk_pacing_shift)
INPUT(u32, ca_state, ca_state_of(s->sk))
INPUT(u64, pacing_rate, s->sk->sk_pacing_rate)
INPUT(u32, cwnd, tcp_sk(s->sk)->snd_cwnd)
INPUT(u32, ssthresh, tcp_sk(s->sk)->snd_ssthresh)
INPUT(u32, app_limited, app_limited_of(tcp_sk(s->sk), state_of(s->sk)))

/* BBR version 1 neither reads nor sets these (version 3 has more: stack.bpf.h). */
INPUT(u32, min_tso_segs, s->reads_late ? min_tso_segs_of(s->sk) : s->min_tso_segs)
INPUT(u32, delivered_ce, tcp_sk(s->sk)->delivered_ce)
INPUT(u32, stack_prior_cwnd, tcp_sk(s->sk)->prior_cwnd)
INPUT(u32, rcv_nxt, tcp_sk(s->sk)->rcv_nxt)
INPUT(u32, snd_una, tcp_sk(s->sk)->snd_una)
INPUT(u32, snd_nxt, tcp_sk(s->sk)->snd_nxt)
INPUT(u32, sacked_out, tcp_sk(s->sk)->sacked_out)
INPUT(u32, lost_out, tcp_sk(s->sk)->lost_out)
INPUT(u32, retrans_out, tcp_sk(s->sk)->retrans_out)
INPUT(u32, write_seq, tcp_sk(s->sk)->write_seq)
INPUT(u32, queued, s->sk->sk_wmem_alloc.refs.counter - 1) /* it counts the socket itself as 1 */
INPUT(u32, reord_seen, tcp_sk(s->sk)->reord_seen)
INPUT(u32, tlp_high_seq, tcp_sk(s->sk)->tlp_high_seq)
INPUT(bool, tlp_retrans, tlp_retrans_of(tcp_sk(s->sk)))
INPUT(u32, gso_max_size, s->sk->sk_gso_max_size)
INPUT(u32, max_tcp_header, BBR_MAX_TCP_HEADER)
INPUT(bool, is_rwnd_limited, is_rwnd_limited_of(tcp_sk(s->sk)))
INPUT(bool, is_cwnd_limited, is_cwnd_limited_of(tcp_sk(s->sk)))
INPUT(u32, rate_delivered, tcp_sk(s->sk)->rate_delivered)
INPUT(bool, rate_app_limited, rate_app_limited_of(tcp_sk(s->sk)))
/* Only Google's stack has these. The first concerns the ACKs that this host sends. */
static inline void set_fast_ack_mode(struct shell_sock *s, bool fast)
{
}

static inline void set_ect_permanent(struct shell_sock *s, bool permanent)
{
}

static inline void set_pacing_rate(struct shell_sock *s, u64 rate)
{
	s->sk->sk_pacing_rate = rate;
}

static inline void set_cwnd(struct shell_sock *s, u32 cwnd)
{
	tcp_sk(s->sk)->snd_cwnd = cwnd;
}

static inline void set_ssthresh(struct shell_sock *s, u32 ssthresh)
{
	tcp_sk(s->sk)->snd_ssthresh = ssthresh;
}

static inline void set_app_limited(struct shell_sock *s, u32 app_limited)
{
	if (app_limited_is_writable())
		tcp_sk(s->sk)->app_limited = app_limited;
	else
		bbr_set_app_limited_until(state_of(s->sk), s, app_limited);
}

/*
 * Asks for pacing by TCP's own timer, unless fq paces already. The kernel's bbr uses cmpxchg here,
 * which a BPF program cannot. If fq sets its mark in between, it sets it again with the next
 * packet.
 */
static inline void request_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

#endif
