/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shell: a BPF TCP congestion control around an algorithm. It reads the kernel's socket, calls
 * the algorithm, keeps parameters and profiles, and reports to monitors. It knows no algorithm:
 * which one it runs is decided when the object is compiled. defaults.bpf.h says what an algorithm
 * must define, and what it may. FOLDER/NAME.bpf.c names its instance:
 *
 *	#include "shell.bpf.h"
 *
 *	SHELL_OPS(bpf_bbr);
 *
 * Load it with `bpftool struct_ops register build/bpf_NAME.bpf.o`, or with bbrctl. It needs Linux
 * 6.1 or newer.
 */
#ifndef SHELL_BPF_H
#define SHELL_BPF_H

#include "defaults.bpf.h"
#include "more.bpf.h"
#include "params.bpf.h"
#include "rules.bpf.h"
#include "telemetry.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* A socket with all that a callback may read. */
static inline struct shell_sock sock_of(struct sock *sk, const struct bbr_params *param,
					bool options)
{
	return (struct shell_sock){
		.param = param,
		.sk = sk,
		.options = options,
		.min_tso_segs = min_tso_segs_of(sk),
		.more = more_of(sk),
	};
}

/* The same for most ACKs: the second part of the state is looked up when it is read. */
static inline struct shell_sock common_sock_of(struct sock *sk, const struct bbr_params *param,
					       bool options)
{
	return (struct shell_sock){
		.param = param,
		.sk = sk,
		.options = options,
		.finds_late = true,
		.reads_late = true,
	};
}

/* ---- options of the socket that the shell sets (BBR_SOCKET_PARAMS) */

#define IPPROTO_TCP 6
#define TCP_NOTSENT_LOWAT 25
#define TCP_BPF_DELACK_MAX 1003 /* microseconds, as the next one */
#define TCP_BPF_RTO_MIN 1004

static inline bool sets_socket(const struct bbr_params *p)
{
	u32 any = 0;

#define X(key, n, unit, dflt, lo, hi, help) any |= p->key[0];
	BBR_SOCKET_PARAMS(X)
#undef X
	return any;
}

#define SET_TIME_TRIES 6

/*
 * The kernel refuses less than two of its ticks, whose length a program cannot know. It takes one of
 * the doubled times, because a tick lasts 1 to 10 ms.
 */
static inline void set_socket_time(struct sock *sk, int option, u32 ms)
{
	int us = ms * USEC_PER_MSEC;

	for (u32 i = 0; us && i < SET_TIME_TRIES; i++, us *= 2)
		if (!bpf_setsockopt(sk, IPPROTO_TCP, option, &us, sizeof(us)))
			return;
}

/* If the kernel refuses, the socket keeps what it has. */
static __attribute__((noinline)) int set_socket(struct sock *sk, const struct bbr_params *p)
{
	int lowat = p->notsent_lowat[0];

	if (lowat && !tcp_sk(sk)->notsent_lowat)
		bpf_setsockopt(sk, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof(lowat));
	set_socket_time(sk, TCP_BPF_RTO_MIN, p->rto_min[0]);
	set_socket_time(sk, TCP_BPF_DELACK_MAX, p->delack_max[0]);
	return 0;
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	struct bbr *b = state_of(sk);
	struct shell_sock s;

	enter_profile(b, profile_for(sk));
	make_more(sk);
	s = sock_of(sk, params(b), true);
	s.is_init = true;
	bbr_init(b, &s);
	request_pacing(sk);
	if (unlikely(sets_socket(s.param)))
		set_socket(sk, s.param);
	if (is_watched(b))
		report(sk, BBR_EV_START);
}

SEC("struct_ops/release")
void BPF_PROG(release, struct sock *sk)
{
	struct bbr *b = state_of(sk);

	leave_profile(b);
	/* Else no monitor knows it: older kernels release what was never init. */
	if (b->watched) {
		report(sk, BBR_EV_END);
		forget_conn(sk, b);
	}
	free_more(sk);
	free_history(sk);
}

/*
 * Any ACK, with options and with reports to monitors. A function of its own, so that an ACK that
 * needs neither pays only a branch. It checks for monitors after the algorithm, and takes no
 * argument for it: otherwise the verifier would explore the whole algorithm once for yes and once
 * for no. It reads the generation again, because its caller has computed nothing with it, and has
 * no register to keep it in.
 */
static __attribute__((noinline)) int control_any(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = state_of(sk);
	u32 gen = params_gen(profile_of(b));
	struct shell_sock s = sock_of(sk, params_of(profile_of(b), gen), true);
	u8 mode = bbr_mode(b);

	bbr_main(b, &s, ctx_rate_sample(ctx));
	if (unlikely(somebody_watches()))
		report_ack(ctx, sk, b, mode, gen);
	else if (unlikely(b->watched))
		forget_conn(sk, b);
	return 0;
}

/*
 * An ACK without options on no fast path. A function of its own: otherwise the fast paths would pay
 * for its registers.
 */
static __attribute__((noinline)) int control_regular(unsigned long long *ctx,
						     const struct bbr_params *plain)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct shell_sock s = common_sock_of(sk, plain, false);

	s.kind = SHELL_REGULAR;
	s.reads_late = false;
	s.min_tso_segs = min_tso_segs_of(sk);
	bbr_main(state_of(sk), &s, ctx_rate_sample(ctx));
	return 0;
}

/* Processes an ACK without options. Returns false if control_any() must do it. */
static inline bool control_plain(unsigned long long *ctx, u32 gen, bool is_reported)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = state_of(sk);
	struct shell_sock s = common_sock_of(sk, plain_params(b, gen), false);
	const struct rate_sample *rs;

	/* A mark without a monitor: control_any() clears it. */
	if (unlikely(!s.param || (b->watched && !is_reported)))
		return false;
	rs = ctx_rate_sample(ctx);
	switch (bbr_kind(b, &s, rs)) {
	case SHELL_FAST_1:
		s.kind = SHELL_FAST_1;
		bbr_main(b, &s, rs);
		return true;
	case SHELL_FAST_2:
		s.kind = SHELL_FAST_2;
		bbr_main(b, &s, rs);
		return true;
	case SHELL_REGULAR:
		control_regular(ctx, s.param);
		return true;
	default:
		return false;
	}
}

/*
 * The same while somebody watches. Inlined: the call of a function alone would take 30
 * instructions.
 */
#ifndef bbr_more
static inline bool control_watched(unsigned long long *ctx, u32 gen)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = state_of(sk);
	u8 mode = bbr_mode(b);
	volatile u32 used = gen; /* on the stack: the algorithm needs the register */

	if (!control_plain(ctx, gen, true))
		return false;
	report_ack(ctx, sk, b, mode, used);
	return true;
}
#else /* control_any(): for the event it looks up a second part of the state anyway */
static inline bool control_watched(unsigned long long *ctx, u32 gen)
{
	return false;
}
#endif

SEC("struct_ops/cong_control")
int cong_control(unsigned long long *ctx)
{
	u32 gen = params_gen(profile_of(state_of((struct sock *)ctx[0])));

	if (unlikely(somebody_watches()) ? control_watched(ctx, gen) :
					   control_plain(ctx, gen, false))
		return 0;
	return control_any(ctx);
}

static __attribute__((noinline)) void start_transmit(struct sock *sk)
{
	struct bbr *b = state_of(sk);
	struct shell_sock s = sock_of(sk, params(b), true);

	bbr_tx_start(b, &s);
}

/* A packet is about to be sent, with nothing in flight. */
static inline void tx_start(struct sock *sk)
{
	struct bbr *b = state_of(sk);
	u8 mode = bbr_mode(b);

	start_transmit(sk);
	if (bbr_has_steps(b) && is_watched(b))
		report_modes(sk, mode);
}

SEC("struct_ops/cwnd_event")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct bbr *b = state_of(sk);
	u8 mode = bbr_mode(b);
	struct shell_sock s;

	if (event == CA_EVENT_TX_START) {
		tx_start(sk);
		return;
	}
	s = sock_of(sk, params(b), true);
	bbr_cwnd_event(b, &s, event);
	if (bbr_has_steps(b) && is_watched(b))
		report_modes(sk, mode);
}

/*
 * Segments of a burst, as in tcp_tso_autosize(): a millisecond's at this rate, and more on a short
 * path.
 */
static __attribute__((noinline)) u32 burst_segs(struct sock *sk, u32 least)
{
	struct net___burst *net = (struct net___burst *)sk->__sk_common.skc_net.net;
	u32 halvings = tcp_sk(sk)->rtt_min.s[0].v >> net->ipv4.sysctl_tcp_tso_rtt_log;
	u64 bytes = sk->sk_pacing_rate >> sk->sk_pacing_shift;

	if (halvings < 32)
		bytes += sk->sk_gso_max_size >> halvings;
	bytes = min_u64(bytes, sk->sk_gso_max_size);
	return max_u32(quotient(bytes, tcp_sk(sk)->mss_cache), least);
}

/* Least segments of a burst; all segments on a kernel that wants the whole burst. */
static inline u32 least_burst(struct sock *sk)
{
	struct shell_sock s = common_sock_of(sk, last_params(sk), true);
	u32 segs = bbr_min_tso_segs(state_of(sk), &s);

	segs = max_u32(segs, 1); /* with 0 the stack would send nothing */
	return burst_is_asked() ? burst_segs(sk, segs) : segs;
}

static inline bool is_burst_rare(struct sock *sk)
{
	struct shell_sock s = common_sock_of(sk, last_params(sk), true);

	return bbr_is_burst_rare(state_of(sk), &s);
}

static __attribute__((noinline)) u32 least_burst_if_rare(struct sock *sk)
{
	return least_burst(sk);
}

static __attribute__((noinline)) u32 least_burst_after_start(struct sock *sk)
{
	tx_start(sk);
	return least_burst(sk);
}

/*
 * The stack asks for this before it sends new data or retransmits in recovery: more often than ACKs
 * arrive. Each rare case is called last, so that nothing has to be kept across a call.
 */
SEC("struct_ops/min_tso_segs")
u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	if (tx_start_is_hidden() && !packets_in_flight(tcp_sk(sk)))
		return least_burst_after_start(sk);
	if (unlikely(is_burst_rare(sk)))
		return least_burst_if_rare(sk);
	return least_burst(sk);
}

static __attribute__((noinline)) void change_state(struct sock *sk, u8 new_state)
{
	struct bbr *b = state_of(sk);
	struct shell_sock s = sock_of(sk, params(b), true);

	bbr_set_state(b, &s, new_state);
}

SEC("struct_ops/set_state")
void BPF_PROG(set_state, struct sock *sk, u8 new_state)
{
	struct bbr *b = state_of(sk);
	u8 mode = bbr_mode(b);

	change_state(sk, new_state);
	if (is_watched(b)) {
		if (bbr_has_steps(b))
			report_modes(sk, mode);
		report_ca_state(sk, ca_state_of(sk), new_state);
	}
	/*
	 * All packets in flight are marked lost now, and the first is retransmitted right after
	 * this.
	 */
	if (tx_start_is_hidden() && new_state == TCP_CA_Loss && !packets_in_flight(tcp_sk(sk)))
		tx_start(sk);
}

SEC("struct_ops/ssthresh")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct bbr *b = state_of(sk);
	struct shell_sock s = sock_of(sk, params(b), true);

	return bbr_ssthresh(b, &s);
}

SEC("struct_ops/undo_cwnd")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct bbr *b = state_of(sk);
	struct shell_sock s = sock_of(sk, params(b), true);

	return bbr_undo_cwnd(b, &s);
}

SEC("struct_ops/sndbuf_expand")
u32 BPF_PROG(sndbuf_expand, struct sock *sk)
{
	struct shell_sock s = common_sock_of(sk, last_params(sk), true);

	return bbr_sndbuf_expand(state_of(sk), &s);
}

/* The op table. ops names the struct_ops map and the congestion control: at most 15 characters. */
#define SHELL_OPS(ops)                                  \
	SEC(".struct_ops")                              \
	struct tcp_congestion_ops ops = {               \
		.init = (void *)init,                   \
		.release = (void *)release,             \
		.cong_control = (void *)cong_control,   \
		.cwnd_event = (void *)cwnd_event,       \
		.set_state = (void *)set_state,         \
		.ssthresh = (void *)ssthresh,           \
		.undo_cwnd = (void *)undo_cwnd,         \
		.min_tso_segs = (void *)min_tso_segs,   \
		.sndbuf_expand = (void *)sndbuf_expand, \
		.flags = SHELL_OPS_FLAGS,               \
		.name = #ops,                           \
	}

#endif
