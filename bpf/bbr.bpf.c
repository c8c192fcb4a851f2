// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR as a BPF TCP congestion control. Each callback reads the kernel's socket, calls the algorithm in
 * bpf/bbr/, writes the socket, and tells the monitors. To be loaded with
 *
 *	bpftool struct_ops register bpf_bbr.bpf.o
 *
 * or with bbrctl. Linux 6.1 and newer.
 */
#include "kernel.bpf.h"
#include "params.bpf.h"
#include "rules.bpf.h"
#include "telemetry.bpf.h"
#include "bbr/algorithm.h"

char LICENSE[] SEC("license") = "GPL";

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = {
		.sk = sk,
		.now_ms = bpf_ktime_get_ns() / (NSEC_PER_USEC * USEC_PER_MSEC),
		.options = true,
	};

	enter_profile(b, choose_profile(sk));
	s.param = params(b);
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
	if (!b->watched) /* no monitor has heard of it: older kernels release what was never init */
		return;
	report(sk, BBR_EV_END);
	forget_conn(sk, b);
}

/* The algorithm with what mainline does not have: apart, so that who uses none of it pays a branch. */
static __attribute__((noinline)) int control_with_options(unsigned long long *ctx,
							  const struct bbr_params *param, u32 gen)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, param, true);
	u8 mode = b->mode;

	bbr_main(b, &s, ctx_rate_sample(ctx));
	if (is_watched(b))
		report_ack(ctx, mode, gen);
	return 0;
}

SEC("struct_ops/cong_control")
int cong_control(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct bbr *b = bbr_of(sk);
	u32 gen = params_gen(profile_of(b));
	struct bbr_sock s = sock_of(sk, params_of(profile_of(b), gen), false);
	u8 mode = b->mode;

	if (unlikely(has_options(s.param)))
		return control_with_options(ctx, s.param, gen);
	bbr_main(b, &s, ctx_rate_sample(ctx));
	if (is_watched(b))
		report_ack(ctx, mode, gen);
	return 0;
}

static __attribute__((noinline)) void restart_from_idle(struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, params(b), true);

	bbr_tx_start(b, &s);
}

/* The first packet after nothing was in flight is about to be sent. */
static inline void tx_start(struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	u8 mode = b->mode;

	if (!app_limited_of(tcp_sk(sk), b))
		return;
	restart_from_idle(sk);
	if (b->steps && is_watched(b))
		report_modes(sk, mode);
}

SEC("struct_ops/cwnd_event")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		tx_start(sk);
}

/* The stack asks for this before it sends new data or retransmits in recovery. */
SEC("struct_ops/min_tso_segs")
u32 BPF_PROG(min_tso_segs, struct sock *sk)
{
	struct bbr_sock s = { .param = params(bbr_of(sk)), .sk = sk };

	if (tx_start_is_hidden() && !packets_in_flight(tcp_sk(sk)))
		tx_start(sk);
	return max_u32(bbr_min_tso_segs(&s), 1); /* with 0 the stack would send nothing */
}

static __attribute__((noinline)) void enter_loss(struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct bbr_sock s = sock_of(sk, params(b), true);

	bbr_set_state(b, &s, TCP_CA_Loss);
}

SEC("struct_ops/set_state")
void BPF_PROG(set_state, struct sock *sk, u8 new_state)
{
	struct bbr *b = bbr_of(sk);
	u8 mode = b->mode;

	if (new_state == TCP_CA_Loss) {
		enter_loss(sk);
		if (b->steps && is_watched(b))
			report_modes(sk, mode);
	}
	if (is_watched(b))
		report_ca_state(sk, ca_state_of(sk), new_state);
	/* All in flight is marked lost now, and the first of it is sent again right after this. */
	if (tx_start_is_hidden() && new_state == TCP_CA_Loss && !packets_in_flight(tcp_sk(sk)))
		tx_start(sk);
}

SEC("struct_ops/ssthresh")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct bbr_sock s = { .sk = sk };

	return bbr_ssthresh(bbr_of(sk), &s);
}

SEC("struct_ops/undo_cwnd")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct bbr_sock s = { .sk = sk };

	return bbr_undo_cwnd(bbr_of(sk), &s);
}

SEC("struct_ops/sndbuf_expand")
u32 BPF_PROG(sndbuf_expand, struct sock *sk)
{
	return params(bbr_of(sk))->sndbuf_expand[0];
}

SEC(".struct_ops")
struct tcp_congestion_ops bpf_bbr = {
	.init = (void *)init,
	.release = (void *)release,
	.cong_control = (void *)cong_control,
	.cwnd_event = (void *)cwnd_event,
	.set_state = (void *)set_state,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.min_tso_segs = (void *)min_tso_segs,
	.sndbuf_expand = (void *)sndbuf_expand,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = BBR_NAME,
};
