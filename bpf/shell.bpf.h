/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shell: a BPF TCP congestion control around an algorithm. It reads the kernel's socket, calls
 * the algorithm, keeps parameters and profiles, and reports to monitors. It knows no algorithm:
 * which one it runs is decided when the object is compiled. FOLDER/NAME.bpf.c includes the folder's
 * algorithm.h, then this file, and names its instance:
 *
 *	#include "algorithm.h"
 *	#include "shell.bpf.h"
 *
 *	BBR_OPS(bpf_bbr);
 *
 * Load it with `bpftool struct_ops register build/bpf_NAME.bpf.o`, or with bbrctl. It needs Linux
 * 6.1 or newer.
 *
 * The folder must define the following, all of it in algorithm.h or in what that includes:
 *
 *	struct bbr			the state of a connection, at most 104 bytes (icsk_ca_priv).
 *					It is all zeros before the first bbr_init(), which may be
 *					called twice
 *	params.h: BBR_PARAMS(C, O)	the table of parameters (bpf_bbr/params.h)
 *	  struct bbr_params, BBR_PARAMS_DEFAULT
 *	event.h: BBR_ALGORITHM		the algorithm's name
 *	  struct bbr_tail		its own part of an event, at most BBR_EVENT_TAIL_MAX bytes
 *
 * A callback is a function of the state and of the socket (socket.h: IN, SET, PARAM, OPTION). Every
 * callback but bbr_init() may find a state that bbr_init() never set: some kernels report the loss
 * of a SYN.
 *
 *	void bbr_init(b, sk)		a connection begins, or is switched to this algorithm. Sets
 *					all of the state except the marks below, and all of the
 *					second part. Its clock now_ms is right; tcp_mstamp may be as
 *					old as the last packet
 *	void bbr_main(b, sk, rs)	an ACK: sets window and pacing rate. Use
 *					bbr_is_app_limited(b, rs), not the member of rs
 *	void bbr_tx_start(b, sk)	a packet is about to be sent, with nothing in flight
 *					(CA_EVENT_TX_START). From 7.1 on it may be called several
 *					times before the packet is sent
 *	void bbr_cwnd_event(b, sk, e)	every other enum tcp_ca_event, as the stack passes it
 *	void bbr_set_state(b, sk, s)	enum tcp_ca_state changes to s; IN(ca_state) is still the
 *					old one
 *	u32 bbr_ssthresh(b, sk)		losses: recovery begins. Returns ssthresh
 *	u32 bbr_undo_cwnd(b, sk)	recovery was a mistake. Returns the window
 *	u32 bbr_min_tso_segs(b, sk)	least segments of a burst
 *	u32 bbr_sndbuf_expand(b, sk)	send buffer in multiples of the window
 *
 * For connections that use no option, bbr_main() is compiled a second time, with each OPTION() a
 * constant 0 (with BBR_HAS_COMMON: see below).
 *
 * For monitors. The modes and reasons are the algorithm's, from 0:
 *
 *	u8 bbr_mode(b)
 *	bool bbr_round_start(b)		did the last ACK start a round?
 *	BBR_STEPS			most transitions of one callback. They are made in the order
 *					of i, which is below BBR_STEPS:
 *	bool bbr_step(b, i, &to, &reason)  did the last callback make transition i?
 *	bool bbr_has_steps(b)		did it make any? bbr_main(), bbr_tx_start(), bbr_set_state()
 *					and bbr_cwnd_event() first clear those of the previous
 *					callback
 *	u16 bbr_fill_event(e, tail, b, more)  sets what the model has: bw, min_rtt_us, rounds,
 *					gains, mode, phase, and all of tail. All of these are 0
 *					before. Returns the flags of the model. more: see below
 *	BBR_FILLS_ALL			defined if bbr_fill_event() sets every one of these, and the
 *					padding of tail: then they are not set to 0 before
 *
 * The shell's marks. The algorithm keeps them in struct bbr for the shell and never changes them,
 * not even in bbr_init(). Each has a getter and a setter:
 *
 *	u32 bbr_profile(b)		8 bits:  bbr_set_profile(b, profile)
 *	BBR_PROFILE_AT			the element of icsk_ca_priv (8 bytes each) that it is in
 *	bool bbr_watched(b)		1 bit:   bbr_set_watched(b, watched)
 *	u32 bbr_app_limited_until(b)	32 bits: bbr_set_app_limited_until(b, delivered)
 *
 * If the state does not fit struct bbr: with
 *
 *	#define BBR_HAS_MORE
 *	struct bbr_more { ... };
 *
 * a connection has a second part of its state, sk->more (more.bpf.h). It is NULL if there was no
 * memory for it, and if bbr_init() was never called: the algorithm must work without it. Other
 * algorithms pay nothing for this. snapshot.bpf.c reads it, too.
 *
 * If most ACKs need less work than the others: with
 *
 *	#define BBR_HAS_COMMON
 *	enum bbr_main_result bbr_main_if_common(b, sk, rs)
 *	void bbr_main_if_rare(b, sk, rs)
 *
 * the shell first calls bbr_main_if_common(). It either does all that bbr_main() would do and
 * returns BBR_MAIN_DONE, or does nothing and returns which function the shell must call:
 * bbr_main_if_rare() (BBR_MAIN_RARE, with BBR_HAS_RARE), bbr_main_if_starting() for a connection
 * that starts (BBR_MAIN_STARTING, with BBR_HAS_STARTING), bbr_main_if_recovering() for one that may
 * be in a recovery (BBR_MAIN_RECOVERING, with BBR_HAS_RECOVERING), or bbr_main() (BBR_MAIN_ANY).
 * bbr_main_if_recovering() may do nothing and return false: then the shell calls bbr_main(). For a
 * connection that is bbr_watched(b) only bbr_main() may do anything, unless sk->is_reported: then
 * the shell reports this ACK to monitors. In all of these but bbr_main(), each OPTION() is 0, and
 * MORE(sk) finds the second part of the state. They use it only where they need it, because it
 * costs a call of the kernel. The algorithm may note in sk->kind what it knows of an ACK; it is 0
 * at first.
 *
 * If bbr_min_tso_segs() rarely needs more than a few registers: with
 *
 *	#define BBR_HAS_RARE_BURST
 *	bool bbr_is_burst_rare(b, sk)	may bbr_min_tso_segs() need them now?
 *
 * the shell then calls it in a function of its own, so that the others save no register.
 *
 * With
 *
 *	#define BBR_READS_MIN_TSO_SEGS
 *
 * an algorithm reads net.ipv4.tcp_min_tso_segs as IN(sk, min_tso_segs) (stack.bpf.h).
 *
 * If a kernel may have the same algorithm as its bbr, monitors can show the kernel's own
 * connections: with
 *
 *	#define BBR_HAS_KERNEL
 *
 * the folder's kernel_bbr.bpf.h has struct bbr___kernel, kernel_bbr_is_known(),
 * read_kernel_bbr(b, sk), add_kernel_bbr(e, sk) for what b has no place for, and
 * kernel_bbr_round(b) and kernel_bbr_place(b) for probe.bpf.c. The descriptor names a member of the
 * kernel's struct bbr that tells this algorithm from others.
 */
#ifndef SHELL_BPF_H
#define SHELL_BPF_H

#include "kernel.bpf.h"
#include "more.bpf.h"
#include "params.bpf.h"
#include "rules.bpf.h"
#include "telemetry.bpf.h"

_Static_assert(sizeof(struct bbr) <= 104, "struct bbr must fit icsk_ca_priv");
_Static_assert(sizeof(struct bbr_tail) <= BBR_EVENT_TAIL_MAX, "struct bbr_tail must fit an event");

char LICENSE[] SEC("license") = "GPL";

/* A socket with all that a callback may read. */
static inline struct bbr_sock sock_of(struct sock *sk, const struct bbr_params *param, bool options)
{
	return (struct bbr_sock){
		.param = param,
		.sk = sk,
		.options = options,
#ifdef BBR_READS_MIN_TSO_SEGS
		.min_tso_segs = min_tso_segs_of(sk),
		.has_min_tso_segs = true,
#endif
#ifdef BBR_HAS_MORE
		.more = more_of(sk),
#endif
	};
}

/* The same for most ACKs: what is slow to find is looked up when it is read. */
static inline struct bbr_sock common_sock_of(struct sock *sk, const struct bbr_params *param,
					     bool options)
{
	return (struct bbr_sock){
		.param = param,
		.sk = sk,
		.options = options,
		.finds_late = true,
	};
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s;

	enter_profile(b, profile_for(sk));
	make_more(sk);
	s = sock_of(sk, params(b), true);
	s.is_init = true;
	bbr_init(b, &s);
	request_pacing(sk);
	if (is_watched(b))
		report(sk, BBR_EV_START);
}

SEC("struct_ops/release")
void BPF_PROG(release, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);

	leave_profile(b);
	/* Else no monitor knows it: older kernels release what was never init. */
	if (bbr_watched(b)) {
		report(sk, BBR_EV_END);
		forget_conn(sk, b);
	}
	free_more(sk);
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
	struct bbr *b = bbr_of(sk);
	u32 gen = params_gen(profile_of(b));
	struct bbr_sock s = sock_of(sk, params_of(profile_of(b), gen), true);
	u8 mode = bbr_mode(b);

	bbr_main(b, &s, ctx_rate_sample(ctx));
	if (unlikely(somebody_watches()))
		report_ack(ctx, sk, b, mode, gen);
	else if (unlikely(bbr_watched(b)))
		forget_conn(sk, b);
	return 0;
}

/* A connection that starts: the same as for most ACKs. */
static inline struct bbr_sock starting_sock_of(struct sock *sk, const struct bbr_params *plain)
{
	return common_sock_of(sk, plain, false);
}

/* A rare ACK may read tcp_min_tso_segs up to three times, at 9 instructions each: read it once. */
static inline struct bbr_sock rare_sock_of(struct sock *sk, const struct bbr_params *plain)
{
	struct bbr_sock s = common_sock_of(sk, plain, false);

#ifdef BBR_READS_MIN_TSO_SEGS
	s.min_tso_segs = min_tso_segs_of(sk);
	s.has_min_tso_segs = true;
#endif
	return s;
}

/*
 * An ACK without options that is not like most. It has a function of its own: otherwise most ACKs
 * would pay for it.
 */
#define CONTROL_IF(kind)                                                                    \
	static __attribute__((noinline)) int control_##kind(unsigned long long *ctx,        \
							    const struct bbr_params *plain) \
	{                                                                                   \
		struct sock *sk = (struct sock *)ctx[0];                                    \
		struct bbr_sock s = kind##_sock_of(sk, plain);                              \
                                                                                            \
		bbr_main_if_##kind(bbr_of(sk), &s, ctx_rate_sample(ctx));                   \
		return 0;                                                                   \
	}

#ifdef BBR_HAS_RARE
CONTROL_IF(rare)
#endif
#ifdef BBR_HAS_STARTING
CONTROL_IF(starting)
#endif

/* The same for one that may be in a recovery. Returns false if control_any() must do it. */
#ifdef BBR_HAS_RECOVERING
static __attribute__((noinline)) bool control_recovering(unsigned long long *ctx,
							 const struct bbr_params *plain)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr_sock s = common_sock_of(sk, plain, false);

	return bbr_main_if_recovering(bbr_of(sk), &s, ctx_rate_sample(ctx));
}
#endif

/* Processes an ACK without options. Returns false if control_any() must do it. */
#ifdef BBR_HAS_COMMON
static inline bool control_plain(unsigned long long *ctx, u32 gen, bool is_reported)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = common_sock_of(sk, plain_params(b, gen), false);

	if (unlikely(!s.param))
		return false;
	s.is_reported = is_reported;
	switch (bbr_main_if_common(b, &s, ctx_rate_sample(ctx))) {
	case BBR_MAIN_DONE:
		return true;
#ifdef BBR_HAS_RARE
	case BBR_MAIN_RARE:
		control_rare(ctx, s.param);
		return true;
#endif
#ifdef BBR_HAS_STARTING
	case BBR_MAIN_STARTING:
		control_starting(ctx, s.param);
		return true;
#endif
#ifdef BBR_HAS_RECOVERING
	case BBR_MAIN_RECOVERING:
		return control_recovering(ctx, s.param);
#endif
	default:
		return false;
	}
}
#else
static inline bool control_plain(unsigned long long *ctx, u32 gen, bool is_reported)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, plain_params(b, gen), false);

	if (unlikely(!s.param || bbr_watched(b)))
		return false;
	bbr_main(b, &s, ctx_rate_sample(ctx));
	return true;
}
#endif

/*
 * The same while somebody watches. Inlined: the call of a function alone would take 30
 * instructions.
 */
#if defined(BBR_HAS_COMMON) && !defined(BBR_HAS_MORE)
static inline bool control_watched(unsigned long long *ctx, u32 gen)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = bbr_of(sk);
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
	u32 gen = params_gen(profile_of(bbr_of((struct sock *)ctx[0])));

	if (unlikely(somebody_watches()) ? control_watched(ctx, gen) :
					   control_plain(ctx, gen, false))
		return 0;
	return control_any(ctx);
}

static __attribute__((noinline)) void start_transmit(struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, params(b), true);

	bbr_tx_start(b, &s);
}

/* A packet is about to be sent, with nothing in flight. */
static inline void tx_start(struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	u8 mode = bbr_mode(b);

	start_transmit(sk);
	if (bbr_has_steps(b) && is_watched(b))
		report_modes(sk, mode);
}

SEC("struct_ops/cwnd_event")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct bbr *b = bbr_of(sk);
	u8 mode = bbr_mode(b);
	struct bbr_sock s;

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

/* Least segments of a burst; all of them on a kernel that asks for the whole burst. */
static inline u32 least_burst(struct sock *sk)
{
	struct bbr_sock s = common_sock_of(sk, last_params(sk), true);
	u32 segs = bbr_min_tso_segs(bbr_of(sk), &s);

	segs = max_u32(segs, 1); /* with 0 the stack would send nothing */
	return burst_is_asked() ? burst_segs(sk, segs) : segs;
}

static inline bool is_burst_rare(struct sock *sk)
{
#ifdef BBR_HAS_RARE_BURST
	struct bbr_sock s = common_sock_of(sk, last_params(sk), true);

	return bbr_is_burst_rare(bbr_of(sk), &s);
#else
	return false;
#endif
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
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, params(b), true);

	bbr_set_state(b, &s, new_state);
}

SEC("struct_ops/set_state")
void BPF_PROG(set_state, struct sock *sk, u8 new_state)
{
	struct bbr *b = bbr_of(sk);
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
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, params(b), true);

	return bbr_ssthresh(b, &s);
}

SEC("struct_ops/undo_cwnd")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, params(b), true);

	return bbr_undo_cwnd(b, &s);
}

SEC("struct_ops/sndbuf_expand")
u32 BPF_PROG(sndbuf_expand, struct sock *sk)
{
	struct bbr_sock s = common_sock_of(sk, last_params(sk), true);

	return bbr_sndbuf_expand(bbr_of(sk), &s);
}

/* The op table. ops names the struct_ops map and the congestion control: at most 15 characters. */
#define BBR_OPS(ops)                                    \
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
		.flags = BBR_OPS_FLAGS,                 \
		.name = #ops,                           \
	}

#endif
