/* SPDX-License-Identifier: GPL-2.0-only */
/* When the pipe is full, and what follows. */
#include "fixture.h"

static void setup_round(struct fixture *f, u32 full_bw, u32 max_bw)
{
	f->b.full_bw = full_bw;
	f->b.round_start = 1;
	fixture_set_max_bw(f, max_bw);
}

TEST(growth_by_a_quarter_goes_on)
{
	FIXTURE;

	f->b.full_bw_cnt = 2;
	setup_round(f, 1000, 1250);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 1250);
	assert_int_equal(f->b.full_bw_cnt, 0);
	assert_int_equal(f->b.full_bw_reached, 0);
}

TEST(growth_by_less_than_a_quarter_is_counted)
{
	FIXTURE;

	setup_round(f, 1000, 1249);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 1000);
	assert_int_equal(f->b.full_bw_cnt, 1);
	assert_int_equal(f->b.full_bw_reached, 0);
}

TEST(the_first_bandwidth_is_growth)
{
	FIXTURE;

	setup_round(f, 0, BW);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, BW);
	assert_int_equal(f->b.full_bw_cnt, 0);
}

TEST(pipe_is_full_after_three_rounds_without_growth)
{
	FIXTURE;

	setup_round(f, 1000, 1249);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 2);
	assert_int_equal(f->b.full_bw_reached, 0);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 3);
	assert_int_equal(f->b.full_bw_reached, 1);
}

TEST(growth_is_looked_for_once_a_round)
{
	FIXTURE;

	setup_round(f, 1000, 1249);
	f->b.round_start = 0;
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 0);
	fixture_set_max_bw(f, 5000);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 1000);
}

TEST(growth_is_not_looked_for_while_app_limited)
{
	FIXTURE;

	setup_round(f, 1000, 1249);
	f->rs.is_app_limited = true;
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 0);
}

TEST(growth_is_not_looked_for_in_a_full_pipe)
{
	FIXTURE;

	setup_round(f, 1000, 5000);
	f->b.full_bw_reached = 1;
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 1000);
	fixture_set_max_bw(f, 1000);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 0);
	assert_int_equal(f->b.full_bw_reached, 1);
}

/* 1001 x 1.25 = 1251.25 */
TEST(growth_is_measured_against_a_threshold_rounded_down)
{
	FIXTURE;

	setup_round(f, 1001, 1250);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 1);
	fixture_set_max_bw(f, 1251);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 1251);
}

TEST(growth_is_multiplied_in_64_bits)
{
	FIXTURE;

	setup_round(f, 0x90000000, 0xb3ffffff);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 1);
	fixture_set_max_bw(f, 0xb4000000);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 0xb4000000);
}

/* 0xf0000000 x 1.25 = 0x12c000000, of which 32 bits are compared, as in mainline. */
TEST(growth_threshold_is_cut_to_32_bits)
{
	FIXTURE;

	setup_round(f, 0xf0000000, 0x2bffffff);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 1);
	fixture_set_max_bw(f, 0x2c000000);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 0x2c000000);
}

TEST(growth_is_of_max_bw_not_of_the_policed_rate)
{
	FIXTURE;

	setup_round(f, 1000, 1250);
	f->b.lt_use_bw = 1;
	f->b.lt_bw = 1249;
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 1250);
	f->b.lt_bw = 5000;
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 1);
}

TEST(full_bw_thresh_is_the_growth_that_counts)
{
	FIXTURE;

	f->p.full_bw_thresh[0] = 512;
	setup_round(f, 1000, 1999);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_cnt, 1);
	fixture_set_max_bw(f, 2000);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw, 2000);
}

TEST(full_bw_rounds_is_the_count_of_rounds)
{
	FIXTURE;

	f->p.full_bw_rounds[0] = 31; /* the most that the counter holds */
	setup_round(f, 1000, 1000);
	for (int i = 0; i < 30; i++)
		bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_reached, 0);
	bbr_check_full_bw_reached(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.full_bw_reached, 1);
}

TEST(startup_ends_in_drain_when_the_pipe_is_full)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.pacing_gain = 739;
	f->sk.inflight = 200;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	assert_int_equal(f->b.steps, STEP(FULL_BW));
}

TEST(startup_goes_on_until_the_pipe_is_full)
{
	FIXTURE;

	f->sk.inflight = 0;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	assert_int_equal(f->sk.ssthresh, 0x7fffffff);
	assert_int_equal(f->b.steps, 0);
}

TEST(drain_sets_ssthresh_to_the_target_at_gain_one)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.pacing_gain = 739;
	f->sk.inflight = 200;
	f->b.lt_use_bw = 1; /* the target is of max_bw even so */
	f->b.lt_bw = BW / 4;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->sk.ssthresh, 106);
}

TEST(ssthresh_is_set_on_entry_of_drain_only)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_DRAIN);
	f->sk.inflight = 200;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->sk.ssthresh, 0x7fffffff);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	assert_int_equal(f->b.steps, 0);
}

TEST(drain_ends_when_inflight_is_at_the_target)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_DRAIN);
	f->b.pacing_gain = 88;
	f->sk.inflight = 107;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	f->sk.inflight = 106;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.steps, STEP(DRAINED));
}

/* A BDP of 800: one part in 256 less or more would show. */
TEST(drain_aims_at_a_gain_of_exactly_one)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	fixture_set_max_bw(f, 8 * BW);
	f->sk.inflight = 807;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->sk.ssthresh, 806);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	f->sk.inflight = 806;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(drain_looks_at_inflight_at_the_departure_time)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_DRAIN);
	f->b.pacing_gain = 88;
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000; /* 10 packets */
	f->sk.inflight = 117;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	f->sk.inflight = 116;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(drain_aims_at_max_bw_not_at_the_policed_rate)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_DRAIN);
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 4;
	f->sk.inflight = 106;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	fixture_full_pipe(f, BBR_DRAIN);
	f->b.lt_bw = BW * 4;
	f->sk.inflight = 107;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
}

/* The gain is still STARTUP's, so the burst of 2 that leaves next is counted: 104 + 2 = 106. */
TEST(startup_may_skip_drain)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.pacing_gain = 739;
	f->sk.inflight = 105;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);

	f->b.mode = BBR_STARTUP;
	f->b.steps = 0;
	f->sk.inflight = 104;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.steps, STEP(FULL_BW) | STEP(DRAINED));
	assert_int_equal(f->sk.ssthresh, 106);
}

TEST(a_full_pipe_drains_from_startup_only)
{
	static const u8 modes[] = { BBR_PROBE_BW, BBR_PROBE_RTT };
	FIXTURE;

	for (int i = 0; i < 2; i++) {
		fixture_full_pipe(f, modes[i]);
		f->sk.inflight = 0;
		bbr_check_drain(&f->b, &f->sk);
		assert_int_equal(f->b.mode, modes[i]);
		assert_int_equal(f->b.steps, 0);
		assert_int_equal(f->sk.ssthresh, 0x7fffffff);
	}
}

TEST(startup_gains_are_both_high)
{
	FIXTURE;

	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.pacing_gain, 739);
	assert_int_equal(f->b.cwnd_gain, 739);
	f->p.high_gain[0] = 768;
	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.pacing_gain, 768);
	assert_int_equal(f->b.cwnd_gain, 768);
}

TEST(drain_paces_low_and_keeps_the_window)
{
	FIXTURE;

	f->b.mode = BBR_DRAIN;
	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.pacing_gain, 88);
	assert_int_equal(f->b.cwnd_gain, 739);
	f->p.high_gain[0] = 768;
	f->p.drain_gain[0] = 85;
	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.pacing_gain, 85);
	assert_int_equal(f->b.cwnd_gain, 768);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(growth_by_a_quarter_goes_on),
		T(growth_by_less_than_a_quarter_is_counted),
		T(the_first_bandwidth_is_growth),
		T(pipe_is_full_after_three_rounds_without_growth),
		T(growth_is_looked_for_once_a_round),
		T(growth_is_not_looked_for_while_app_limited),
		T(growth_is_not_looked_for_in_a_full_pipe),
		T(growth_is_measured_against_a_threshold_rounded_down),
		T(growth_is_multiplied_in_64_bits),
		T(growth_threshold_is_cut_to_32_bits),
		T(full_bw_thresh_is_the_growth_that_counts),
		T(full_bw_rounds_is_the_count_of_rounds),
		T(startup_ends_in_drain_when_the_pipe_is_full),
		T(startup_goes_on_until_the_pipe_is_full),
		T(drain_sets_ssthresh_to_the_target_at_gain_one),
		T(ssthresh_is_set_on_entry_of_drain_only),
		T(drain_ends_when_inflight_is_at_the_target),
		T(drain_looks_at_inflight_at_the_departure_time),
		T(drain_aims_at_max_bw_not_at_the_policed_rate),
		T(startup_may_skip_drain),
		T(a_full_pipe_drains_from_startup_only),
		T(startup_gains_are_both_high),
		T(drain_paces_low_and_keeps_the_window),
		T(growth_is_of_max_bw_not_of_the_policed_rate),
		T(drain_aims_at_a_gain_of_exactly_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
