// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs BBR version 3 on arbitrary bits, as fuzz_algorithm.c runs version 1: any state, with or
 * without its second part, any socket, any rate sample, any parameters, and the callbacks in any
 * order.
 *
 * The input is a byte of flags, the parameters, the state, its second part, then for each callback
 * a byte that selects it, the socket and the rate sample. Parameters are XORed with the defaults.
 */
#include "algorithm.h"
#include "fuzz_algorithm.h"

enum callback {
	MAIN,
	INIT,
	TX_START,
	CWND_EVENT,
	SET_STATE,
	SSTHRESH,
	UNDO_CWND,
	MIN_TSO_SEGS,
	CALLBACKS,
};

/* A connection before and after a callback. */
struct conn {
	struct bbr b;
	struct bbr_more more;
	struct bbr_history history;
	struct shell_sock sk; /* sk.more: NULL, or `more` of the conn that the callback gets */
};

static unsigned long called[CALLBACKS], modes[BBR_MODES], reasons[BBR_REASONS], phases[BBR_PHASES];
static unsigned long unclamped, without_more, ecn, acks_sent, cuts, growths;

static const char *const callback_names[CALLBACKS] = {
	"main",	     "init",	 "tx_start",  "cwnd_event",
	"set_state", "ssthresh", "undo_cwnd", "min_tso_segs",
};

/* The mode in which a step begins. BBR_MODES: any mode but the one that the step leads to. */
static const u8 step_from[BBR_REASONS] = {
	[BBR_R_FULL_BW] = BBR_STARTUP,	      [BBR_R_STARTUP_LOSS] = BBR_STARTUP,
	[BBR_R_STARTUP_ECN] = BBR_STARTUP,    [BBR_R_DRAINED] = BBR_DRAIN,
	[BBR_R_PROBE_AGAIN] = BBR_PROBE_BW,   [BBR_R_PROBE_LOSS] = BBR_PROBE_BW,
	[BBR_R_PROBE_ECN] = BBR_PROBE_BW,     [BBR_R_PROBE_INFLIGHT] = BBR_PROBE_BW,
	[BBR_R_PROBE_FULL_BW] = BBR_PROBE_BW, [BBR_R_WAITED] = BBR_PROBE_BW,
	[BBR_R_WAITED_ROUNDS] = BBR_PROBE_BW, [BBR_R_MARKS_CEASED] = BBR_PROBE_BW,
	[BBR_R_REFILLED] = BBR_PROBE_BW,      [BBR_R_HEADROOM] = BBR_PROBE_BW,
	[BBR_R_MIN_RTT_EXPIRED] = BBR_MODES,  [BBR_R_PROBE_RTT_DONE] = BBR_PROBE_RTT,
};

static void report_all(const char *what, const unsigned long *times, int n)
{
	char name[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s %d", what, i);
		say_reached(name, times[i]);
	}
}

static void report(void)
{
	for (int i = 0; i < CALLBACKS; i++)
		say_reached(callback_names[i], called[i]);
	report_all("mode", modes, BBR_MODES);
	report_all("phase", phases, BBR_PHASES);
	report_all("reason", reasons, BBR_REASONS);
	say_reached("unclamped parameters", unclamped);
	say_reached("no second part", without_more);
	say_reached("ECN", ecn);
	say_reached("an ACK sent", acks_sent);
	say_reached("inflight_hi lowered", cuts);
	say_reached("inflight_hi raised", growths);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return atexit(report);
}

static void take_sock(struct input *in, struct shell_sock *sk)
{
	const struct bbr_params *p = sk->param;
	struct bbr_more *more = sk->more;
	struct bbr_history *history = sk->history;

	input_take(in, sk, offsetof(struct shell_sock, rate_delivered));
	sk->param = p;
	sk->more = more;
	sk->history = history;
	sk->kind = 0;
	/* The stack shifts 64 bits by this as well (tcp_tso_autosize()); only drivers set it. */
	sk->pacing_shift %= 64;
	MAKE_BOOL(sk->tlp_retrans);
	MAKE_BOOL(sk->is_cwnd_limited);
	MAKE_BOOL(sk->uses_ecn);
	MAKE_BOOL(sk->demand_cwr);
	MAKE_BOOL(sk->ect_permanent);
	MAKE_BOOL(sk->fast_ack_mode);
	MAKE_BOOL(sk->has_flight);
	/* Any numbers will do. With bytes of their own the corpus would mean something else. */
	sk->rate_delivered = sk->queued ^ sk->rcv_nxt;
	sk->rate_app_limited = sk->delivered_ce & 1;
	sk->is_rwnd_limited = sk->rcv_nxt & 1;
}

static void take_rs(struct input *in, struct shell_rs *rs)
{
	input_take(in, rs, sizeof(*rs));
	MAKE_BOOL(rs->is_retrans);
	MAKE_BOOL(rs->is_app_limited);
	MAKE_BOOL(rs->is_ack_delayed);
	MAKE_BOOL(rs->is_acking_tlp_retrans_seq);
	MAKE_BOOL(rs->is_ece);
}

/* The steps, in their order, must lead from the old mode to the new one: monitors see only them. */
static void check_steps(const struct conn *was, const struct conn *is)
{
	u8 mode = was->b.mode, to, reason;

	for (u32 i = 0; i < BBR_STEPS; i++) {
		if (!bbr_step(&is->b, i, &to, &reason))
			continue;
		CHECK(reason == i);
		CHECK(step_from[i] == BBR_MODES ? mode != to : mode == step_from[i]);
		reasons[reason]++;
		mode = to;
	}
	CHECK(is->b.mode == mode);
}

/* Holds for every callback. */
static void check_any(const struct conn *was, const struct conn *is)
{
	struct shell_sock inputs = is->sk;
	u32 cwnd = is->sk.cwnd;
	u64 rate = is->sk.pacing_rate;

	inputs.pacing_rate = was->sk.pacing_rate;
	inputs.cwnd = was->sk.cwnd;
	inputs.ssthresh = was->sk.ssthresh;
	inputs.app_limited = was->sk.app_limited;
	inputs.acks_sent = was->sk.acks_sent;
	inputs.ece_acks_sent = was->sk.ece_acks_sent;
	inputs.ack_pending = was->sk.ack_pending;
	inputs.demand_cwr = was->sk.demand_cwr;
	inputs.ect_permanent = was->sk.ect_permanent;
	inputs.fast_ack_mode = was->sk.fast_ack_mode;
	inputs.has_history = was->sk.has_history;
	CHECK(!memcmp(&inputs, &was->sk, sizeof(inputs)));

	/* Marks of the program around the algorithm. */
	CHECK(is->b.watched == was->b.watched && is->b.profile == was->b.profile);
	CHECK(is->b.app_limited_mark == was->b.app_limited_mark);

	if (cwnd != was->sk.cwnd)
		CHECK(is_window(cwnd));
	if (rate != was->sk.pacing_rate)
		CHECK(rate == is->sk.max_pacing_rate ||
		      (rate && rate < is->sk.max_pacing_rate && !(rate >> RATE_BITS)));
	/* 0 would mean that nothing is app-limited. */
	if (is->sk.app_limited != was->sk.app_limited)
		CHECK(is->sk.app_limited);
}

static void check_main(const struct conn *was, const struct conn *is)
{
	u32 hi = is->b.inflight_hi;

	check_steps(was, is);
	modes[is->b.mode]++;
	if (is->b.mode == BBR_PROBE_BW)
		phases[is->b.cycle_idx]++;
	ecn += is->sk.more && is->sk.more->ecn_eligible;
	if (was->b.inflight_hi != BBR_COUNT_NONE) {
		cuts += hi < was->b.inflight_hi;
		growths += hi > was->b.inflight_hi;
	}
	if (is->sk.param->max_pacing_rate[0])
		CHECK(is->sk.pacing_rate <= is->sk.param->max_pacing_rate[0] * 125ull);
	/* A window that the ACK has set is within its cap. */
	if (is->sk.cwnd != was->sk.cwnd)
		CHECK(is->sk.cwnd <= max_u32(is->sk.snd_cwnd_clamp, 1));
	CHECK(is->b.full_bw_reached >= was->b.full_bw_reached);
	CHECK(bbr_bw(&is->b) <= bbr_max_bw(&is->b));
}

/* What monitors see is defined for any state. */
static void check_event(const struct conn *c)
{
	struct bbr_event e = {};
	struct bbr_tail tail = {};

	bbr_fill_event(&e, &tail, &c->b, c->sk.more);
	CHECK(e.mode < BBR_MODES && e.phase <= BBR_PHASE_NONE);
	CHECK((e.phase == BBR_PHASE_NONE) == (e.mode != BBR_PROBE_BW));
}

static void call(enum callback callback, struct conn *c, const struct shell_rs *rs)
{
	struct conn was = *c;

	switch (callback) {
	case MAIN:
		bbr_main(&c->b, &c->sk, rs);
		check_main(&was, c);
		break;
	case INIT:
		bbr_init(&c->b, &c->sk);
		CHECK(c->b.mode == BBR_STARTUP && !c->b.steps && c->b.initialized);
		CHECK(c->sk.cwnd == was.sk.cwnd ||
		      (c->sk.cwnd && c->sk.cwnd <= c->sk.param->start_cwnd[0]));
		break;
	case TX_START:
		bbr_tx_start(&c->b, &c->sk);
		check_steps(&was, c);
		CHECK(!was.sk.app_limited || c->b.idle_restart);
		break;
	case CWND_EVENT:
		bbr_cwnd_event(&c->b, &c->sk, was.sk.random);
		check_steps(&was, c);
		CHECK(c->b.mode == was.b.mode && c->sk.cwnd == was.sk.cwnd);
		acks_sent += c->sk.acks_sent != was.sk.acks_sent;
		break;
	case SET_STATE:
		bbr_set_state(&c->b, &c->sk, was.sk.random);
		check_steps(&was, c);
		break;
	case SSTHRESH:
		CHECK(bbr_ssthresh(&c->b, &c->sk) == was.sk.ssthresh);
		CHECK(c->b.prior_cwnd >= (was.sk.cwnd & BBR_COUNT_NONE));
		break;
	case UNDO_CWND:
		CHECK(bbr_undo_cwnd(&c->b, &c->sk) == was.b.prior_cwnd);
		CHECK(!c->b.loss_in_round && !c->b.full_bw);
		break;
	case MIN_TSO_SEGS:
	case CALLBACKS:
		bbr_min_tso_segs(&c->b, &c->sk);
		break;
	}
	check_any(&was, c);
	check_event(c);
	called[callback]++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct bbr_params p;
	struct conn c = { .sk.param = &p };
	struct shell_rs rs;
	u8 flags, callback;

	input_take(&in, &flags, 1);
	unclamped += flags & 1;
	without_more += !(flags & 2);
	take_params(&in, !(flags & 1), &p);
	input_take(&in, &c.b, sizeof(c.b));
	if (flags & 2) {
		c.sk.more = &c.more;
		/*
		 * The shell has what follows. With bytes of its own the corpus would mean something
		 * else.
		 */
		input_take(&in, &c.more, offsetof(struct bbr_more, unlimited_after));
		c.sk.history = &c.history;
		input_take(&in, &c.history, sizeof(c.history));
	}
	for (int i = 0; i < MAX_CALLS && in.left; i++) {
		input_take(&in, &callback, 1);
		take_sock(&in, &c.sk);
		take_rs(&in, &rs);
		call(callback % CALLBACKS, &c, &rs);
	}
	return 0;
}
