/* SPDX-License-Identifier: GPL-2.0-only */
/* The minimum filters of RTT, and PROBE_RTT. */
#include "fixture.h"

TEST(lower_rtt_is_taken_by_both_filters)
{
	FIXTURE;

	assert_false(bbr_measure_min_rtt(&f->b, &f->sk, MIN_RTT - 1, true));
	assert_int_equal(f->b.min_rtt_us, MIN_RTT - 1);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
	assert_int_equal(f->b.probe_rtt_min_us, MIN_RTT - 1);
	assert_int_equal(f->b.probe_rtt_min_stamp, NOW_MS);
}

TEST(equal_rtt_is_not)
{
	FIXTURE;

	bbr_measure_min_rtt(&f->b, &f->sk, MIN_RTT, false);
	assert_int_equal(f->b.probe_rtt_min_stamp, NOW_MS - 1000);
	bbr_measure_min_rtt(&f->b, &f->sk, -1, false);
	assert_int_equal(f->b.probe_rtt_min_us, MIN_RTT);
	bbr_measure_min_rtt(&f->b, &f->sk, 0, false);
	assert_int_equal(f->b.probe_rtt_min_us, 0);
}

TEST(minimum_expires_after_5_s)
{
	FIXTURE;

	f->b.probe_rtt_min_stamp = NOW_MS - 5000;
	assert_false(bbr_measure_min_rtt(&f->b, &f->sk, 2 * MIN_RTT, false));
	assert_int_equal(f->b.probe_rtt_min_us, MIN_RTT);
	f->b.probe_rtt_min_stamp = NOW_MS - 5001;
	assert_true(bbr_measure_min_rtt(&f->b, &f->sk, 2 * MIN_RTT, true));
	assert_int_equal(f->b.probe_rtt_min_us, MIN_RTT);
	assert_true(bbr_measure_min_rtt(&f->b, &f->sk, 2 * MIN_RTT, false));
	assert_int_equal(f->b.probe_rtt_min_us, 2 * MIN_RTT);
	assert_int_equal(f->b.probe_rtt_min_stamp, NOW_MS);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT);
}

TEST(model_keeps_its_minimum_for_10_s)
{
	FIXTURE;

	f->b.probe_rtt_min_us = 2 * MIN_RTT;
	f->b.probe_rtt_min_stamp = NOW_MS - 7;
	f->b.min_rtt_stamp = NOW_MS - 10000;
	bbr_measure_min_rtt(&f->b, &f->sk, -1, false);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT);
	f->b.min_rtt_stamp = NOW_MS - 10001;
	bbr_measure_min_rtt(&f->b, &f->sk, -1, false);
	assert_int_equal(f->b.min_rtt_us, 2 * MIN_RTT);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS - 7);
}

/* The minimum of 5 s is met again, so the one of 10 s is as fresh. */
TEST(equal_minimum_renews_the_models)
{
	FIXTURE;

	f->b.probe_rtt_min_stamp = NOW_MS - 7;
	bbr_measure_min_rtt(&f->b, &f->sk, -1, false);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS - 7);
}

TEST(probe_rtt_begins)
{
	FIXTURE;

	f->b.probe_rtt_min_stamp = NOW_MS - 5001;
	f->b.probe_rtt_done_stamp = 7;
	f->b.prior_cwnd = 150;
	f->sk.inflight = 51;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->b.steps, STEP(MIN_RTT_EXPIRED));
	assert_int_equal(f->b.prior_cwnd, 150);
	assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	assert_int_equal(f->b.acks, BBR_ACKS_PROBE_STOPPING);
	assert_int_equal(f->b.next_round_delivered, 1000);
	assert_int_equal(f->sk.app_limited, 1051);
}

TEST(probe_rtt_need_not_begin)
{
	FIXTURE;

	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	f->rs.rtt_us = -1; /* or the filter would be fresh */
	f->b.probe_rtt_min_stamp = NOW_MS - 5001;
	f->p.probe_rtt_duration[0] = 0;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	f->p.probe_rtt_duration[0] = 200;
	f->b.idle_restart = 1;
	f->rs.delivered = 0;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_true(f->b.idle_restart);
	assert_int_equal(f->sk.app_limited, 0);
	f->rs.delivered = 1;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_false(f->b.idle_restart);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	f->b.acks = BBR_ACKS_INIT;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs); /* PROBE_RTT has begun */
	assert_int_equal(f->b.acks, BBR_ACKS_INIT);
}

TEST(window_is_half_of_the_bdp)
{
	FIXTURE;

	assert_int_equal(bbr_probe_rtt_cwnd(&f->b, &f->sk), 50);
	f->b.bw_lo = BW / 2;
	assert_int_equal(bbr_probe_rtt_cwnd(&f->b, &f->sk), 25);
	f->b.bw_lo = 1;
	assert_int_equal(bbr_probe_rtt_cwnd(&f->b, &f->sk), 4);
}

TEST(clock_runs_from_the_low_window)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.round_done = 1;
	f->sk.inflight = 51;
	bbr_probe_rtt(&f->b, &f->sk);
	assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	f->sk.inflight = 50;
	bbr_probe_rtt(&f->b, &f->sk);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 200);
	assert_int_equal(f->b.next_round_delivered, 1000);
	assert_false(f->b.round_done);
	assert_int_equal(f->sk.app_limited, 1050);
	f->sk.delivered = f->sk.inflight = 0;
	bbr_probe_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.app_limited, 1);
}

TEST(it_lasts_200_ms_and_a_round)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	bbr_probe_rtt(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	f->b.round_start = 1;
	f->b.probe_rtt_done_stamp = NOW_MS;
	bbr_probe_rtt(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_true(f->b.round_done);
	f->b.round_start = 0;
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	bbr_probe_rtt(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(cruise_follows)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	f->b.prior_cwnd = 150;
	f->b.bw_lo = f->b.inflight_lo = 5;
	bbr_check_probe_rtt_done(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.cycle_idx, BBR_CRUISE);
	assert_int_equal(f->b.steps, STEP(PROBE_RTT_DONE));
	assert_int_equal(f->b.probe_rtt_min_stamp, NOW_MS);
	assert_int_equal(f->b.cycle_mstamp, NOW_US + 500);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
	assert_int_equal(f->sk.cwnd, 150);
}

TEST(startup_follows_if_the_pipe_was_never_full)
{
	FIXTURE;

	fixture_startup(f);
	f->b.mode = BBR_PROBE_RTT;
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	f->b.bw_lo = 5;
	f->b.prior_cwnd = 50;
	bbr_check_probe_rtt_done(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	assert_int_equal(f->b.steps, STEP(PROBE_RTT_DONE));
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
	assert_int_equal(f->b.acks, BBR_ACKS_INIT);
	assert_int_equal(f->sk.cwnd, 100);
}

TEST(clock_that_does_not_run_is_not_over)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	bbr_check_probe_rtt_done(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(lower_rtt_is_taken_by_both_filters),
		T(equal_rtt_is_not),
		T(minimum_expires_after_5_s),
		T(model_keeps_its_minimum_for_10_s),
		T(equal_minimum_renews_the_models),
		T(probe_rtt_begins),
		T(probe_rtt_need_not_begin),
		T(window_is_half_of_the_bdp),
		T(clock_runs_from_the_low_window),
		T(it_lasts_200_ms_and_a_round),
		T(cruise_follows),
		T(startup_follows_if_the_pipe_was_never_full),
		T(clock_that_does_not_run_is_not_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
