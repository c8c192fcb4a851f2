/* SPDX-License-Identifier: GPL-2.0-only */
/* The order of the steps on an ACK, and that no parameter or input can break a connection. */
#include "fixture.h"

static void ack(struct fixture *f)
{
	bbr_main(&f->b, &f->sk, &f->rs);
}

/* The old bw explains 10 packets of the epoch; twice that bw explains 20. */
TEST(bandwidth_comes_before_ack_aggregation)
{
	FIXTURE;

	f->rs.delivered = 20;
	f->b.ack_epoch_mstamp = NOW_US - 1280;
	f->b.ack_epoch_acked = 15;
	ack(f);
	assert_int_equal(f->b.ack_epoch_acked, 10);
}

TEST(a_new_round_rotates_ack_aggregation_at_once)
{
	FIXTURE;

	f->b.extra_acked_win_rtts = 4;
	f->b.extra_acked[0] = 50;
	fixture_start_round(f);
	ack(f);
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
	assert_int_equal(f->b.extra_acked[1], 50);
}

/* 150 in flight are above the old bw's target, but below the new one's. */
TEST(bandwidth_comes_before_the_cycle)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 1;
	f->b.pacing_gain = 192;
	f->rs.prior_in_flight = 150;
	ack(f);
	assert_int_equal(f->b.cycle_idx, 1);
	f->rs.delivered = 20;
	ack(f);
	assert_int_equal(f->b.cycle_idx, 2);
	assert_int_equal(f->b.pacing_gain, 256);
}

TEST(bandwidth_comes_before_the_search_for_a_plateau)
{
	FIXTURE;

	f->b.full_bw = BW;
	f->b.full_bw_cnt = 2;
	f->rs.delivered = 20;
	fixture_start_round(f);
	ack(f);
	assert_int_equal(f->b.full_bw_reached, 0);
	assert_int_equal(f->b.full_bw, 2 * BW);
}

/* With DRAIN's gain and so little in flight, the phase that begins now would end at once. */
TEST(the_cycle_comes_before_drain)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_DRAIN);
	f->b.pacing_gain = 88;
	ack(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.cycle_idx, 0);
	assert_int_equal(f->b.pacing_gain, 320);
}

/* The phase is longer than the new min_rtt, but not than the old one. */
TEST(the_cycle_comes_before_min_rtt)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 3;
	f->b.cycle_mstamp = NOW_US - MIN_RTT;
	f->rs.rtt_us = MIN_RTT - 1;
	ack(f);
	assert_int_equal(f->b.cycle_idx, 3);
	ack(f);
	assert_int_equal(f->b.cycle_idx, 4);
}

/* Extra packets are capped at the cwnd of PROBE_RTT, which ends on this ACK. */
TEST(ack_aggregation_comes_before_the_end_of_probe_rtt)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_RTT);
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	f->b.probe_rtt_round_done = 1;
	f->b.prior_cwnd = 100;
	f->sk.cwnd = 4;
	ack(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.extra_acked[0], 4);
}

static void third_round_without_growth(struct fixture *f)
{
	f->b.full_bw = BW;
	f->b.full_bw_cnt = 2;
	f->b.pacing_gain = 739;
	f->b.cwnd_gain = 739;
	fixture_start_round(f);
}

TEST(startup_to_drain_to_probe_bw_in_one_ack)
{
	FIXTURE;

	third_round_without_growth(f);
	f->sk.random = 0xffffffff;
	ack(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.steps, STEP(FULL_BW) | STEP(DRAINED));
	assert_int_equal(f->b.cycle_idx, 2);
	assert_int_equal(f->b.cycle_mstamp, NOW_US);
	assert_int_equal(f->b.pacing_gain, 256);
	assert_int_equal(f->b.cwnd_gain, 512);
	assert_int_equal(f->sk.ssthresh, 106);
	assert_int_equal(f->sk.pacing_rate, RATE); /* may fall now, here it rises */
}

/* Drain before min_rtt: had PROBE_RTT come first, STARTUP would not have ended properly. */
TEST(startup_to_probe_rtt_by_way_of_drain_and_probe_bw_in_one_ack)
{
	FIXTURE;

	third_round_without_growth(f);
	f->b.min_rtt_stamp = NOW_MS - 10001;
	ack(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->b.steps, STEP(FULL_BW) | STEP(DRAINED) | STEP(MIN_RTT_EXPIRED));
	assert_int_equal(f->sk.ssthresh, 106);
	assert_int_equal(f->b.pacing_gain, 256);
	assert_int_equal(f->b.cwnd_gain, 256);
	assert_int_equal(f->sk.cwnd, 4);
	assert_int_equal(f->b.prior_cwnd, 100);
	assert_int_equal(f->sk.app_limited, 1050);
}

/* DRAIN uses the old min_rtt, 12800 us; the new one is half of it. */
TEST(drain_comes_before_min_rtt)
{
	FIXTURE;

	third_round_without_growth(f);
	f->rs.rtt_us = MIN_RTT / 2;
	ack(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT / 2);
	assert_int_equal(f->sk.ssthresh, 106);
}

TEST(steps_are_those_of_this_callback)
{
	FIXTURE;

	f->b.steps = 0x1f;
	ack(f);
	assert_int_equal(f->b.steps, 0);
	f->b.steps = 0x1f;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.steps, 0);
	f->sk.app_limited = 1;
	f->b.steps = 0x1f;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.steps, 0);
	f->b.steps = 0x1f;
	bbr_set_state(&f->b, &f->sk, TCP_CA_Open);
	assert_int_equal(f->b.steps, 0);
	f->b.steps = 0x1f;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->b.steps, 0);
}

TEST(each_step_has_a_bit_of_its_own)
{
	FIXTURE;

	for (u32 reason = 0; reason < BBR_REASONS; reason++) {
		f->b.steps = 0;
		bbr_enter_mode(&f->b, BBR_DRAIN, reason);
		assert_int_equal(f->b.steps, 1u << reason);
	}
}

/*
 * A rate of 1.0 x bw makes TSO bursts of 7: 200 + 21, plus the 10 packets by which this ACK is
 * ahead of bw: 231, made even. With the old rate it would be 216. The gains are those of this ACK:
 * the state still had those of STARTUP.
 */
TEST(gains_come_before_the_pacing_rate_and_that_before_cwnd)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 3;
	f->b.pacing_gain = 256;
	f->b.cwnd_gain = 739;
	f->sk.cwnd = 400;
	ack(f);
	assert_int_equal(f->sk.pacing_rate, RATE);
	assert_int_equal(f->sk.cwnd, 232);
}

TEST(rate_and_cwnd_are_of_the_pacing_gain_and_bw_of_this_ack)
{
	FIXTURE;

	f->rs.delivered = 20; /* 2 x BW, STARTUP */
	f->sk.cwnd = 583;
	ack(f);
	assert_int_equal(f->sk.pacing_rate, 44653930); /* 2 x BW x 1000 x 739 / 256, less 1 % */
	/* target: 577.3 up to 578, + 3 x (44653930 >> 10) / 1000 = 43: 707 up to 708 */
	assert_int_equal(f->sk.cwnd, 593);
	f->sk.cwnd = 708;
	ack(f);
	assert_int_equal(f->sk.cwnd, 708);
	f->sk.cwnd = 707;
	ack(f);
	assert_int_equal(f->sk.cwnd, 717);
}

TEST(the_policed_rate_sets_pacing_rate_and_cwnd)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 3;
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 2;
	f->sk.cwnd = 400;
	f->sk.pacing_rate = RATE;
	f->rs.acked_sacked = 1;
	ack(f);
	assert_int_equal(f->sk.pacing_rate, 3867187);
	assert_int_equal(f->sk.cwnd, 110); /* 100 + 1 extra + 3 x 3 */
}

TEST(an_invalid_sample_changes_no_bandwidth_but_the_rest_goes_on)
{
	FIXTURE;

	f->rs.delivered = -1;
	f->rs.interval_us = -1;
	f->rs.rtt_us = MIN_RTT / 2;
	f->b.round_start = 1;
	f->b.full_bw = 2 * BW;
	ack(f);
	assert_int_equal(f->b.round_start, 0);
	assert_int_equal(f->b.full_bw_cnt, 0); /* no round, no verdict */
	assert_int_equal(f->b.round_count, 20);
	assert_int_equal(bbr_max_bw(&f->b), BW);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT / 2);
	assert_int_equal(f->b.pacing_gain, 739);
	assert_int_equal(f->sk.pacing_rate, 22326965);
	assert_int_equal(f->sk.cwnd, 110);
}

/* The gains in struct bbr follow the parameters at this ACK, whatever they were before. */
TEST(changed_parameters_hold_from_the_next_ack)
{
	FIXTURE;

	ack(f);
	assert_int_equal(f->b.pacing_gain, 739);
	f->p.high_gain[0] = 512;
	ack(f);
	assert_int_equal(f->b.pacing_gain, 512);
}

/*
 * 26 s of an ideal path: 1/128 packet a microsecond, 12800 us, and never more than 100 packets in
 * flight. Each ACK covers 10 packets, sent ten ACKs ago.
 */
TEST(a_connection_finds_the_path_and_stays_with_it)
{
	u32 sent_at[10] = { 0 }, probe_rtts = 0;
	FIXTURE;

	memset(&f->b, 0, sizeof(f->b));
	f->sk.cwnd = 10;
	f->sk.delivered = 0;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	for (u32 i = 0; i < 20000; i++) {
		f->sk.tcp_mstamp += 1280;
		f->sk.delivered_mstamp += 1280;
		f->sk.tcp_clock_cache += 1280000;
		f->sk.now_ms = f->sk.tcp_mstamp / 1000;
		f->sk.random = i * 2654435761u;
		f->sk.delivered += 10;
		f->sk.inflight = f->sk.cwnd < 100 ? f->sk.cwnd : 100;
		f->rs.prior_in_flight = f->sk.inflight;
		f->rs.prior_delivered = sent_at[i % 10];
		f->rs.rtt_us = i < 100 ? MIN_RTT : MIN_RTT + 100;
		sent_at[i % 10] = f->sk.delivered;
		ack(f);
		probe_rtts += !!(f->b.steps & STEP(MIN_RTT_EXPIRED));
		/* rounds start at 0, 10, 20, 30: the first finds bw, the next three no more */
		assert_int_equal(f->b.full_bw_reached, i >= 30);
		if (f->b.mode != BBR_PROBE_BW)
			continue;
		assert_int_equal(bbr_max_bw(&f->b), BW);
		assert_in_range(f->sk.pacing_rate, 5800781, 9667968); /* 3/4 and 5/4 of RATE */
		assert_in_range(f->sk.cwnd, i < 200 ? 4 : 100, 260);
	}
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(probe_rtts, 2);
}

/* xorshift64*: the same numbers on every machine. */
static u64 seed;

static u64 rnd(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 2685821657736338717ull;
}

/* Small numbers as often as large ones, and edge cases. */
static u64 odd_number(void)
{
	switch (rnd() % 8) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	default:
		return rnd() >> rnd() % 64;
	}
}

static void random_bytes(void *p, size_t size)
{
	u8 *bytes = p;

	for (size_t i = 0; i < size; i++)
		bytes[i] = rnd();
}

static void random_params(struct bbr_params *p)
{
	u32 *value = (u32 *)p;

	for (size_t i = 0; i < sizeof(*p) / sizeof(*value); i++)
		value[i] = odd_number();
	bbr_clamp_params(p, p);
}

/* Anything that the kernel may pass in: windows and counts of packets in flight are below 2^30. */
static void random_inputs(struct fixture *f)
{
	f->sk.tcp_mstamp = odd_number();
	f->sk.delivered_mstamp = odd_number();
	f->sk.tcp_clock_cache = odd_number();
	f->sk.tcp_wstamp_ns = odd_number();
	f->sk.max_pacing_rate = odd_number();
	f->sk.now_ms = odd_number();
	f->sk.random = rnd();
	f->sk.delivered = odd_number();
	f->sk.lost = odd_number();
	f->sk.inflight = odd_number() >> 34;
	f->sk.mss = odd_number();
	f->sk.srtt_us = odd_number();
	f->sk.min_rtt_us = odd_number();
	f->sk.snd_cwnd_clamp = (odd_number() >> 34) + 1;
	f->sk.pacing_shift = rnd() % 64;
	f->sk.ca_state = rnd() % 5;
	f->sk.app_limited = odd_number();
	f->rs.delivered = odd_number();
	f->rs.losses = odd_number();
	f->rs.interval_us = odd_number();
	f->rs.rtt_us = odd_number();
	f->rs.prior_delivered = odd_number();
	f->rs.prior_in_flight = odd_number();
	f->rs.acked_sacked = odd_number() >> 34;
	f->rs.is_app_limited = rnd() & 1;
	f->rs.is_ack_delayed = rnd() & 1;
}

static void random_callback(struct fixture *f)
{
	switch (rnd() % 16) {
	case 0:
		bbr_tx_start(&f->b, &f->sk);
		break;
	case 1:
		bbr_set_state(&f->b, &f->sk, rnd() % 5);
		break;
	case 2:
		bbr_ssthresh(&f->b, &f->sk);
		break;
	case 3:
		f->sk.cwnd = bbr_undo_cwnd(&f->b, &f->sk);
		break;
	default:
		ack(f);
		assert_int_not_equal(f->sk.cwnd, 0);
		assert_true(f->sk.cwnd <= f->sk.snd_cwnd_clamp);
		if (f->b.mode < BBR_MODES) {
			assert_in_range(f->b.pacing_gain, 16, 4095);
			assert_in_range(f->b.cwnd_gain, 256, 4095);
		}
		break;
	}
	assert_int_not_equal(f->sk.cwnd, 0);
	assert_in_range(bbr_min_tso_segs(&f->b, &f->sk), 1, 127);
	assert_in_range(bbr_tso_segs_goal(&f->sk), 1, 127);
}

static void run(struct fixture *f, int calls)
{
	f->sk.cwnd = 10;
	for (int i = 0; i < calls; i++) {
		random_inputs(f);
		random_callback(f);
	}
}

TEST(parameters_of_all_zeros_break_nothing)
{
	FIXTURE;

	seed = 1;
	memset(&f->p, 0, sizeof(f->p));
	bbr_clamp_params(&f->p, &f->p);
	bbr_init(&f->b, &f->sk);
	run(f, 200000);
}

TEST(parameters_of_all_ones_break_nothing)
{
	FIXTURE;

	seed = 2;
	memset(&f->p, 0xff, sizeof(f->p));
	bbr_clamp_params(&f->p, &f->p);
	bbr_init(&f->b, &f->sk);
	run(f, 200000);
}

TEST(arbitrary_parameters_break_nothing)
{
	FIXTURE;

	seed = 3;
	for (int i = 0; i < 4000; i++) {
		random_params(&f->p);
		random_inputs(f);
		f->sk.cwnd = 10;
		bbr_init(&f->b, &f->sk);
		run(f, 50);
	}
}

/* cong_control may come before init, and a connection may change its profile at any time. */
TEST(an_arbitrary_state_breaks_nothing)
{
	FIXTURE;

	seed = 4;
	memset(&f->b, 0, sizeof(f->b));
	run(f, 50);
	for (int i = 0; i < 20000; i++) {
		random_bytes(&f->b, sizeof(f->b));
		random_params(&f->p);
		run(f, 10);
	}
}

/* Real but large values: none may make the window grow beyond the target. */
TEST(the_fastest_path_overflows_nothing)
{
	FIXTURE;

	/* 128 packets a microsecond for 1 s, with the highest gain of mainline */
	f->b.min_rtt_us = 1000000;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 128u << 24, 739), 369500000);
	fixture_set_max_bw(f, 128u << 24);
	f->b.full_bw_reached = 1;
	f->b.extra_acked[0] = 65535;
	f->b.cwnd_gain = 512;
	f->sk.cwnd = 300000000;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, 128u << 24);
	assert_int_equal(f->sk.cwnd, 256000000 + 65536 + 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(bandwidth_comes_before_ack_aggregation),
		T(a_new_round_rotates_ack_aggregation_at_once),
		T(bandwidth_comes_before_the_cycle),
		T(bandwidth_comes_before_the_search_for_a_plateau),
		T(the_cycle_comes_before_drain),
		T(the_cycle_comes_before_min_rtt),
		T(ack_aggregation_comes_before_the_end_of_probe_rtt),
		T(startup_to_drain_to_probe_bw_in_one_ack),
		T(startup_to_probe_rtt_by_way_of_drain_and_probe_bw_in_one_ack),
		T(drain_comes_before_min_rtt),
		T(steps_are_those_of_this_callback),
		T(each_step_has_a_bit_of_its_own),
		T(gains_come_before_the_pacing_rate_and_that_before_cwnd),
		T(rate_and_cwnd_are_of_the_pacing_gain_and_bw_of_this_ack),
		T(the_policed_rate_sets_pacing_rate_and_cwnd),
		T(an_invalid_sample_changes_no_bandwidth_but_the_rest_goes_on),
		T(changed_parameters_hold_from_the_next_ack),
		T(a_connection_finds_the_path_and_stays_with_it),
		T(parameters_of_all_zeros_break_nothing),
		T(parameters_of_all_ones_break_nothing),
		T(arbitrary_parameters_break_nothing),
		T(an_arbitrary_state_breaks_nothing),
		T(the_fastest_path_overflows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
