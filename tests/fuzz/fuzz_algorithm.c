// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the algorithm on arbitrary bits: any state, any socket, any rate sample, any parameters, and
 * the callbacks in any order. The sanitizers look for undefined behaviour, the checks here for
 * impossible windows, rates and states.
 *
 * The input is a byte of flags, the parameters, the state, then for each callback a byte that
 * selects it, the socket and the rate sample. Parameters are XORed with the defaults, so that a
 * short input is mainline's BBR.
 */
#include "algorithm.h"
#include "fuzz_algorithm.h"

#define MAX_GAIN 4095

enum callback {
	MAIN,
	INIT,
	TX_START,
	SET_STATE,
	SSTHRESH,
	UNDO_CWND,
	MIN_TSO_SEGS,
	CALLBACKS,
};

/* A connection before and after a callback. */
struct conn {
	struct bbr b;
	struct shell_sock sk;
};

static unsigned long called[CALLBACKS], modes[BBR_MODES], reasons[BBR_REASONS];
static unsigned long policed, conserved, unclamped, options;

static const char *const callback_names[CALLBACKS] = {
	"main", "init", "tx_start", "set_state", "ssthresh", "undo_cwnd", "min_tso_segs",
};
static const char *const mode_names[BBR_MODES] = { "STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT" };
static const char *const reason_names[BBR_REASONS] = {
	"lt_bw_expired", "full_bw", "drained", "min_rtt_expired", "probe_rtt_done",
};

static void report(void)
{
	for (int i = 0; i < CALLBACKS; i++)
		say_reached(callback_names[i], called[i]);
	for (int i = 0; i < BBR_MODES; i++)
		say_reached(mode_names[i], modes[i]);
	for (int i = 0; i < BBR_REASONS; i++)
		say_reached(reason_names[i], reasons[i]);
	say_reached("policed", policed);
	say_reached("conservation", conserved);
	say_reached("unclamped parameters", unclamped);
	say_reached("options", options);
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

	/* It has no use for the rest. */
	input_take(in, sk, offsetof(struct shell_sock, rate_delivered));
	sk->param = p;
	sk->kind = 0;
	/* The stack shifts 64 bits by this as well (tcp_tso_autosize()); only drivers set it. */
	sk->pacing_shift %= 64;
	MAKE_BOOL(sk->is_cwnd_limited);
	sk->is_rwnd_limited = sk->rcv_nxt & 1;
}

static void take_rs(struct input *in, struct shell_rs *rs)
{
	input_take(in, rs, sizeof(*rs));
	MAKE_BOOL(rs->is_app_limited);
	MAKE_BOOL(rs->is_ack_delayed);
}

/* The bits of `steps`, in their order, must lead from the old mode to the new one. */
static void check_steps(const struct conn *was, const struct conn *is)
{
	u32 mode = was->b.mode;

	for (int reason = 0; reason < BBR_REASONS; reason++) {
		if (!(is->b.steps & 1 << reason))
			continue;
		reasons[reason]++;
		switch (reason) {
		case BBR_R_LT_BW_EXPIRED:
			CHECK(mode == BBR_PROBE_BW);
			break;
		case BBR_R_FULL_BW:
			CHECK(mode == BBR_STARTUP);
			mode = BBR_DRAIN;
			break;
		case BBR_R_DRAINED:
			CHECK(mode == BBR_DRAIN);
			mode = BBR_PROBE_BW;
			break;
		case BBR_R_MIN_RTT_EXPIRED:
			CHECK(mode != BBR_PROBE_RTT);
			mode = BBR_PROBE_RTT;
			break;
		case BBR_R_PROBE_RTT_DONE:
			CHECK(mode == BBR_PROBE_RTT);
			mode = is->b.full_bw_reached ? BBR_PROBE_BW : BBR_STARTUP;
			break;
		}
	}
	CHECK(is->b.mode == mode);
	if (is->b.steps & (1 << BBR_R_DRAINED | 1 << BBR_R_PROBE_RTT_DONE) &&
	    mode == BBR_PROBE_BW && is->sk.param->cycle_len[0] <= BBR_CYCLE_LEN)
		CHECK(is->b.cycle_idx != BBR_PHASE_DRAIN);
}

/* Holds also for a rate that existed before and is kept. */
static void check_bounds(const struct conn *c)
{
	const struct bbr_params *p = c->sk.param;
	u64 least = p->min_pacing_rate[0] * 125ull, most = p->max_pacing_rate[0] * 125ull;
	u64 rate = c->sk.pacing_rate;

	CHECK(rate <= c->sk.max_pacing_rate);
	if (most)
		CHECK(rate <= most);
	if (rate != c->sk.max_pacing_rate && rate != most) {
		CHECK(rate >= least);
		if (p->pacing_rate[0]) {
			u64 set = max_u64(p->pacing_rate[0] * 125ull, least);

			CHECK(rate == set || (p->make_up_loss[0] && rate > set && rate <= 2 * set));
		}
	}
}

static void check_rate(const struct conn *c)
{
	check_bounds(c);
	CHECK(!(c->sk.pacing_rate >> RATE_BITS));
}

/* Holds for every callback. */
static void check_any(const struct conn *was, const struct conn *is)
{
	struct shell_sock inputs = is->sk;

	inputs.pacing_rate = was->sk.pacing_rate;
	inputs.cwnd = was->sk.cwnd;
	inputs.ssthresh = was->sk.ssthresh;
	inputs.app_limited = was->sk.app_limited;
	CHECK(!memcmp(&inputs, &was->sk, sizeof(inputs)));

	/* Marks of the program around the algorithm. */
	CHECK(is->b.watched == was->b.watched);
	CHECK(is->b.unused_b == was->b.unused_b);
	CHECK(is->b.app_limited_until == was->b.app_limited_until);
	CHECK(is->b.profile == was->b.profile);

	/* prior_cwnd is a copy of a window, so it is a valid one, too. */
	if (is_window(was->sk.cwnd) && (s32)was->b.prior_cwnd >= 0) {
		CHECK(is_window(is->sk.cwnd));
		CHECK((s32)is->b.prior_cwnd >= 0);
	}
	/* A rate that BBR has not chosen may have been kept, within its bounds. */
	if (is->sk.pacing_rate != was->sk.pacing_rate && was->sk.pacing_rate >> RATE_BITS)
		check_bounds(is);
	else if (is->sk.pacing_rate != was->sk.pacing_rate)
		check_rate(is);
	/* 0 would mean that nothing is app-limited. */
	if (is->sk.app_limited != was->sk.app_limited)
		CHECK(is->sk.app_limited);
}

/* The largest window in PROBE_RTT. A share of the BDP is what the algorithm says. */
static u32 most_in_probe_rtt(const struct conn *c)
{
	const struct bbr_params *p = c->sk.param;

	if (p->probe_rtt_bdp_gain[0])
		return bbr_probe_rtt_cwnd(&c->b, &c->sk);
	return max_u32(max_u32(p->probe_rtt_cwnd[0], p->min_cwnd[0]),
		       (u64)c->b.prior_cwnd * p->probe_rtt_cwnd_gain[0] / BBR_UNIT);
}

static void check_window(const struct conn *is, const struct shell_rs *rs)
{
	const struct bbr_params *p = is->sk.param;
	u32 most = is->sk.snd_cwnd_clamp;

	if (is->b.mode == BBR_PROBE_RTT)
		most = min_u32(most, most_in_probe_rtt(is));
	if (p->max_cwnd[0])
		most = min_u32(most, p->max_cwnd[0]);
	CHECK(is_window(is->sk.cwnd));
	CHECK(is->sk.cwnd <= max_u32(most, 1));
	if (is->sk.cwnd > 1)
		CHECK(is->sk.cwnd >= min_u32(most, p->min_cwnd[0]));
	/* 1 also replaces a window that the kernel would not accept. */
	if (rs->acked_sacked && !is->b.packet_conservation && is->sk.cwnd > 1)
		CHECK(is->sk.cwnd >= min_u32(most, p->cwnd_min_target[0]));
}

static void check_model(const struct conn *was, const struct conn *is, const struct shell_rs *rs)
{
	const struct minmax_sample *s = was->b.bw.s;

	CHECK(is->b.round_count - was->b.round_count <= 1);
	if (is->sk.param->pin_min_rtt[0])
		CHECK(is->b.min_rtt_us == is->sk.param->pin_min_rtt[0] &&
		      is->b.mode != BBR_PROBE_RTT);
	else if (is->b.min_rtt_us != was->b.min_rtt_us)
		CHECK(rs->rtt_us >= 0 && is->b.min_rtt_us == (u32)rs->rtt_us);
	if (bbr_is_valid_sample(rs)) {
		u32 most = max_u32(s[0].v, max_u32(s[1].v, s[2].v));

		if (is->sk.param->pin_bw[0])
			CHECK(bbr_max_bw(&is->b) && is->b.full_bw_reached && !is->b.lt_use_bw);
		else
			CHECK(bbr_max_bw(&is->b) <= max_u32(most, bbr_sample_bw(rs)));
	} else {
		CHECK(!memcmp(&is->b.bw, &was->b.bw, sizeof(is->b.bw)));
		CHECK(!is->b.round_start);
	}
	CHECK(is->b.full_bw_reached >= was->b.full_bw_reached);
}

static void check_main(const struct conn *was, const struct conn *is, const struct shell_rs *rs,
		       bool clamped)
{
	check_window(is, rs);
	check_model(was, is, rs);
	if (is->b.full_bw_reached)
		check_rate(is);
	else if (bbr_is_rate_bounded(&is->sk))
		check_bounds(is);
	if (is->sk.param->ignore_loss[0] && rs->acked_sacked)
		CHECK(!is->b.packet_conservation);
	options += bbr_has_options(is->sk.param);
	policed += is->b.lt_use_bw;
	conserved += is->b.packet_conservation;
	if (is->b.mode >= BBR_MODES)
		return;
	modes[is->b.mode]++;
	if (!clamped)
		return;
	CHECK(is->b.pacing_gain && is->b.pacing_gain <= MAX_GAIN);
	CHECK(is->b.cwnd_gain >= BBR_UNIT && is->b.cwnd_gain <= MAX_GAIN);
	if (is->b.mode == BBR_PROBE_BW && was->b.mode != BBR_PROBE_BW) {
		const struct bbr_params *p = is->sk.param;

		CHECK(is->b.cycle_idx < p->cycle_len[0] || p->drain_to_target[0]);
		CHECK(!p->drain_to_target[0] ||
		      (is->b.cycle_len >= 2 && is->b.cycle_len <= p->cycle_len[0]));
	}
}

static void check_init(const struct conn *was, const struct conn *is)
{
	CHECK(is->b.mode == BBR_STARTUP && !is->b.steps);
	if (was->sk.delivered > 1 || was->sk.inflight || was->sk.cwnd <= 1)
		CHECK(is->sk.cwnd == was->sk.cwnd);
	check_rate(is);
}

/* Only the steps may have changed: they are those of the last callback. */
static void check_nothing_done(const struct conn *was, const struct conn *is)
{
	struct bbr b = was->b;

	b.steps = 0;
	CHECK(!memcmp(&is->b, &b, sizeof(b)));
	CHECK(!memcmp(&is->sk, &was->sk, sizeof(is->sk)));
}

static void check_tx_start(const struct conn *was, const struct conn *is)
{
	if (!was->sk.app_limited) {
		check_nothing_done(was, is);
		return;
	}
	CHECK(is->b.idle_restart);
	CHECK(is->sk.cwnd <= max_u32(was->sk.cwnd, max_u32(is->sk.snd_cwnd_clamp, 1)));
	/* 1 replaces a window that the kernel would not accept. */
	CHECK(is->sk.cwnd >= was->sk.cwnd || is->sk.cwnd == is->sk.param->max_cwnd[0] ||
	      is->sk.cwnd == is->sk.snd_cwnd_clamp || is->sk.cwnd == 1);
}

static void check_set_state(const struct conn *was, const struct conn *is)
{
	if (was->sk.ca_state != TCP_CA_Loss) {
		check_nothing_done(was, is);
		return;
	}
	CHECK(is->b.prev_ca_state == TCP_CA_Loss && !is->b.full_bw && is->b.round_start);
}

static void check_segs(struct conn *c, bool clamped)
{
	const struct bbr_params *p = c->sk.param;
	u32 segs = bbr_min_tso_segs(&c->b, &c->sk);

	CHECK(segs == 1 || segs == p->min_tso_segs[0]);
	CHECK(bbr_tso_segs_goal(&c->sk) <= p->tso_segs_max[0]);
	if (clamped)
		CHECK(segs && bbr_tso_segs_goal(&c->sk));
}

static void call(enum callback callback, struct conn *c, const struct shell_rs *rs, bool clamped)
{
	struct conn was = *c;

	switch (callback) {
	case MAIN:
		bbr_main(&c->b, &c->sk, rs);
		check_steps(&was, c);
		check_main(&was, c, rs, clamped);
		break;
	case INIT:
		bbr_init(&c->b, &c->sk);
		check_init(&was, c);
		break;
	case TX_START:
		bbr_tx_start(&c->b, &c->sk);
		check_steps(&was, c);
		check_tx_start(&was, c);
		break;
	case SET_STATE:
		bbr_set_state(&c->b, &c->sk, c->sk.ca_state);
		check_steps(&was, c);
		check_set_state(&was, c);
		break;
	case SSTHRESH:
		CHECK(bbr_ssthresh(&c->b, &c->sk) == c->sk.ssthresh);
		CHECK(c->b.prior_cwnd >= c->sk.cwnd);
		break;
	case UNDO_CWND:
		CHECK(bbr_undo_cwnd(&c->b, &c->sk) == c->sk.cwnd);
		CHECK(!c->b.lt_use_bw && !c->b.full_bw);
		break;
	case MIN_TSO_SEGS:
	case CALLBACKS:
		check_segs(c, clamped);
		break;
	}
	check_any(&was, c);
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
	take_params(&in, !(flags & 1), &p);
	input_take(&in, &c.b, sizeof(c.b));
	for (int i = 0; i < MAX_CALLS && in.left; i++) {
		input_take(&in, &callback, 1);
		take_sock(&in, &c.sk);
		take_rs(&in, &rs);
		call(callback % CALLBACKS, &c, &rs, !(flags & 1));
	}
	return 0;
}
