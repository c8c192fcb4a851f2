/* SPDX-License-Identifier: GPL-2.0-only */
/* The gain cycle, and the restart from idle in it. */
#include "fixture.h"

static int setup(void **state)
{
	struct fixture *f;

	fixture_setup(state);
	f = *state;
	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 3;
	return 0;
}

/* The phase has lasted `us` microseconds. */
static bool next(struct fixture *f, u32 us)
{
	f->b.cycle_mstamp = f->sk.delivered_mstamp - us;
	return bbr_is_next_cycle_phase(&f->b, &f->sk, &f->rs);
}

static void probing(struct fixture *f)
{
	f->b.cycle_idx = 0;
	f->b.pacing_gain = 320;
}

static void draining(struct fixture *f)
{
	f->b.cycle_idx = 1;
	f->b.pacing_gain = 192;
}

TEST(a_cruising_phase_lasts_longer_than_min_rtt)
{
	FIXTURE;

	assert_false(next(f, MIN_RTT));
	assert_true(next(f, MIN_RTT + 1));
}

TEST(a_cruising_phase_looks_at_the_clock_only)
{
	FIXTURE;

	f->rs.losses = 5;
	f->rs.prior_in_flight = 1000;
	assert_false(next(f, MIN_RTT));
	f->rs.prior_in_flight = 0;
	assert_false(next(f, MIN_RTT));
	assert_true(next(f, MIN_RTT + 1));
}

TEST(a_phase_that_begins_in_the_future_has_no_length)
{
	FIXTURE;

	f->b.cycle_mstamp = f->sk.delivered_mstamp + 1000000;
	assert_false(bbr_is_next_cycle_phase(&f->b, &f->sk, &f->rs));
}

/* tcp_stamp_us_delta() has 32 bits: 71.6 minutes and 12800 us are not longer than min_rtt. */
TEST(the_length_of_a_phase_is_cut_to_32_bits)
{
	FIXTURE;

	f->sk.delivered_mstamp = f->b.cycle_mstamp + (1ull << 32) + MIN_RTT;
	assert_false(bbr_is_next_cycle_phase(&f->b, &f->sk, &f->rs));
	f->sk.delivered_mstamp++;
	assert_true(bbr_is_next_cycle_phase(&f->b, &f->sk, &f->rs));
}

/* The target at 1.25 is 125 + 6, made even, + 2 = 134; 2 of it are the burst that leaves next. */
TEST(probing_ends_when_inflight_is_at_the_target)
{
	FIXTURE;

	probing(f);
	f->rs.prior_in_flight = 131;
	assert_false(next(f, MIN_RTT + 1));
	f->rs.prior_in_flight = 132;
	assert_true(next(f, MIN_RTT + 1));
}

TEST(probing_lasts_longer_than_min_rtt_at_any_inflight)
{
	FIXTURE;

	probing(f);
	f->rs.prior_in_flight = 1000;
	f->rs.losses = 1;
	assert_false(next(f, MIN_RTT));
	assert_true(next(f, MIN_RTT + 1));
}

TEST(probing_ends_with_a_loss)
{
	FIXTURE;

	probing(f);
	f->rs.prior_in_flight = 0;
	assert_false(next(f, MIN_RTT + 1));
	f->rs.losses = 1;
	assert_true(next(f, MIN_RTT + 1));
}

TEST(probing_looks_at_inflight_at_the_departure_time)
{
	FIXTURE;

	probing(f);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000; /* 10 packets */
	f->rs.prior_in_flight = 141;
	assert_false(next(f, MIN_RTT + 1));
	f->rs.prior_in_flight = 142;
	assert_true(next(f, MIN_RTT + 1));
}

/* 1.5: 150 + 6 + 2 - 2 = 156 */
TEST(probing_aims_at_the_gain_in_force)
{
	FIXTURE;

	probing(f);
	f->b.pacing_gain = 384;
	f->rs.prior_in_flight = 155;
	assert_false(next(f, MIN_RTT + 1));
	f->rs.prior_in_flight = 156;
	assert_true(next(f, MIN_RTT + 1));
}

TEST(probing_aims_at_max_bw)
{
	FIXTURE;

	probing(f);
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 4;
	f->rs.prior_in_flight = 131;
	assert_false(next(f, MIN_RTT + 1));
}

TEST(any_gain_above_one_probes_and_any_below_drains)
{
	FIXTURE;

	f->rs.prior_in_flight = 0;
	f->b.pacing_gain = 257;
	assert_false(next(f, 0));
	assert_false(next(f, MIN_RTT + 1));
	f->b.pacing_gain = 256;
	assert_false(next(f, 0));
	assert_true(next(f, MIN_RTT + 1));
	f->b.pacing_gain = 255;
	assert_true(next(f, 0));
}

/* A BDP of 800: one part in 256 less or more would show. */
TEST(draining_aims_at_a_gain_of_exactly_one)
{
	FIXTURE;

	draining(f);
	fixture_set_max_bw(f, 8 * BW);
	f->rs.prior_in_flight = 807;
	assert_false(next(f, 0));
	f->rs.prior_in_flight = 806;
	assert_true(next(f, 0));
}

TEST(time_differences_are_not_negative)
{
	(void)state;
	assert_int_equal(stamp_us_delta(1001, 1000), 1);
	assert_int_equal(stamp_us_delta(1000, 1000), 0);
	assert_int_equal(stamp_us_delta(999, 1000), 0);
}

TEST(draining_ends_when_inflight_is_at_the_target)
{
	FIXTURE;

	draining(f);
	f->rs.prior_in_flight = 107;
	assert_false(next(f, 0));
	f->rs.prior_in_flight = 106;
	assert_true(next(f, 0));
}

TEST(draining_ends_after_min_rtt_at_any_inflight)
{
	FIXTURE;

	draining(f);
	f->rs.prior_in_flight = 1000;
	assert_false(next(f, MIN_RTT));
	assert_true(next(f, MIN_RTT + 1));
}

TEST(draining_looks_at_inflight_at_the_departure_time)
{
	FIXTURE;

	draining(f);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000;
	f->rs.prior_in_flight = 117;
	assert_false(next(f, 0));
	f->rs.prior_in_flight = 116;
	assert_true(next(f, 0));
}

TEST(draining_does_not_end_with_a_loss)
{
	FIXTURE;

	draining(f);
	f->rs.prior_in_flight = 107;
	f->rs.losses = 1;
	assert_false(next(f, 0));
}

TEST(draining_aims_at_max_bw)
{
	FIXTURE;

	draining(f);
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 4;
	f->rs.prior_in_flight = 106;
	assert_true(next(f, 0));
}

TEST(phases_follow_each_other_and_begin_now)
{
	FIXTURE;

	for (int i = 0; i < 9; i++) {
		f->b.cycle_idx = i & 7;
		f->b.cycle_mstamp = 0;
		bbr_advance_cycle_phase(&f->b, &f->sk);
		assert_int_equal(f->b.cycle_idx, i == 7 ? 0 : (i & 7) + 1);
		assert_int_equal(f->b.cycle_mstamp, NOW_US);
	}
}

TEST(the_cycle_turns_when_the_phase_is_over)
{
	FIXTURE;

	f->b.cycle_mstamp = NOW_US - MIN_RTT - 1;
	bbr_update_cycle_phase(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.cycle_idx, 4);
	assert_int_equal(f->b.cycle_mstamp, NOW_US);
	bbr_update_cycle_phase(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.cycle_idx, 4);
}

TEST(the_cycle_turns_in_probe_bw_only)
{
	static const u8 modes[] = { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_RTT };
	FIXTURE;

	for (int i = 0; i < 3; i++) {
		f->b.mode = modes[i];
		f->b.cycle_mstamp = 0;
		bbr_update_cycle_phase(&f->b, &f->sk, &f->rs);
		assert_int_equal(f->b.cycle_idx, 3);
	}
}

static u32 enter(struct fixture *f, u32 random)
{
	f->b.mode = BBR_DRAIN;
	f->b.cycle_mstamp = 0;
	f->b.steps = 0;
	f->sk.random = random;
	bbr_enter_probe_bw(&f->b, &f->sk, BBR_R_DRAINED);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.cycle_mstamp, NOW_US);
	assert_int_equal(f->b.steps, STEP(DRAINED));
	return f->b.cycle_idx;
}

/* A seventh of 2^32 is 613566756.6. */
TEST(probe_bw_starts_at_each_of_seven_phases_alike)
{
	static const u32 last[] = { 613566756,	1227133513, 1840700269, 2454267026,
				    3067833782, 3681400539, 4294967295 };
	static const u32 phase[] = { 0, 7, 6, 5, 4, 3, 2 };
	FIXTURE;

	assert_int_equal(enter(f, 0), 0);
	for (int i = 0; i < 7; i++) {
		assert_int_equal(enter(f, last[i]), phase[i]);
		if (i < 6)
			assert_int_equal(enter(f, last[i] + 1), phase[i + 1]);
	}
}

TEST(probe_bw_never_starts_in_the_draining_phase)
{
	FIXTURE;

	for (u32 i = 0; i < 65536; i++)
		assert_int_not_equal(enter(f, i << 16 | i), 1);
}

TEST(the_gains_of_the_cycle_are_one_and_a_quarter_three_quarters_and_one)
{
	static const u32 gains[] = { 320, 192, 256, 256, 256, 256, 256, 256 };
	FIXTURE;

	for (int i = 0; i < 8; i++) {
		f->b.cycle_idx = i;
		bbr_update_gains(&f->b, &f->sk);
		assert_int_equal(f->b.pacing_gain, gains[i]);
		assert_int_equal(f->b.cwnd_gain, 512);
	}
}

TEST(probe_bw_gains_are_those_of_the_cycle)
{
	FIXTURE;

	for (int i = 0; i < 8; i++)
		f->p.probe_bw_gains[i] = 300 + i;
	for (int i = 0; i < 8; i++) {
		f->b.cycle_idx = i;
		bbr_update_gains(&f->b, &f->sk);
		assert_int_equal(f->b.pacing_gain, 300 + i);
	}
}

TEST(param_cwnd_gain_is_probe_bws)
{
	FIXTURE;

	f->p.cwnd_gain[0] = 600;
	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.cwnd_gain, 600);
}

TEST(the_gain_at_the_policed_rate_is_one)
{
	FIXTURE;

	f->b.cycle_idx = 0;
	f->b.lt_use_bw = 1;
	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.pacing_gain, 256);
	assert_int_equal(f->b.cwnd_gain, 512);
	f->p.lt_gain[0] = 240;
	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.pacing_gain, 240);
}

TEST(restart_from_idle_paces_at_bw)
{
	FIXTURE;

	f->sk.app_limited = 1;
	f->b.pacing_gain = 320;
	f->sk.pacing_rate = 9667968;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, RATE);
	assert_int_equal(f->b.idle_restart, 1);
}

TEST(restart_from_idle_paces_at_the_policed_rate)
{
	FIXTURE;

	f->sk.app_limited = 1;
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 2;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 3867187); /* half of RATE */
}

TEST(idle_restart_gain_scales_the_rate_after_idle)
{
	FIXTURE;

	f->sk.app_limited = 1;
	f->p.idle_restart_gain[0] = 320;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 9667968);
}

TEST(restart_from_idle_begins_an_ack_epoch)
{
	FIXTURE;

	f->sk.app_limited = 1;
	f->sk.tcp_mstamp = NOW_US + 77;
	f->b.ack_epoch_acked = 99;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.ack_epoch_mstamp, NOW_US + 77);
	assert_int_equal(f->b.ack_epoch_acked, 0);
}

TEST(a_pause_that_is_not_the_applications_changes_nothing)
{
	struct bbr before;
	FIXTURE;

	f->sk.tcp_mstamp = NOW_US + 77;
	f->b.ack_epoch_acked = 99;
	before = f->b;
	bbr_tx_start(&f->b, &f->sk);
	assert_memory_equal(&f->b, &before, sizeof(before));
	assert_int_equal(f->sk.pacing_rate, 1000000);
}

TEST(restart_from_idle_keeps_the_rate_of_other_modes)
{
	static const u8 modes[] = { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_RTT };
	FIXTURE;

	f->sk.app_limited = 1;
	for (int i = 0; i < 3; i++) {
		f->b.mode = modes[i];
		f->b.idle_restart = 0;
		bbr_tx_start(&f->b, &f->sk);
		assert_int_equal(f->sk.pacing_rate, 1000000);
		assert_int_equal(f->b.mode, modes[i]);
		assert_int_equal(f->b.idle_restart, 1);
	}
}

#undef T
#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_cruising_phase_lasts_longer_than_min_rtt),
		T(a_cruising_phase_looks_at_the_clock_only),
		T(a_phase_that_begins_in_the_future_has_no_length),
		T(the_length_of_a_phase_is_cut_to_32_bits),
		T(probing_ends_when_inflight_is_at_the_target),
		T(probing_lasts_longer_than_min_rtt_at_any_inflight),
		T(probing_ends_with_a_loss),
		T(probing_looks_at_inflight_at_the_departure_time),
		T(probing_aims_at_the_gain_in_force),
		T(probing_aims_at_max_bw),
		T(draining_ends_when_inflight_is_at_the_target),
		T(draining_ends_after_min_rtt_at_any_inflight),
		T(draining_looks_at_inflight_at_the_departure_time),
		T(draining_does_not_end_with_a_loss),
		T(draining_aims_at_max_bw),
		T(phases_follow_each_other_and_begin_now),
		T(the_cycle_turns_when_the_phase_is_over),
		T(the_cycle_turns_in_probe_bw_only),
		T(probe_bw_starts_at_each_of_seven_phases_alike),
		T(probe_bw_never_starts_in_the_draining_phase),
		T(the_gains_of_the_cycle_are_one_and_a_quarter_three_quarters_and_one),
		T(probe_bw_gains_are_those_of_the_cycle),
		T(param_cwnd_gain_is_probe_bws),
		T(the_gain_at_the_policed_rate_is_one),
		T(restart_from_idle_paces_at_bw),
		T(restart_from_idle_paces_at_the_policed_rate),
		T(idle_restart_gain_scales_the_rate_after_idle),
		T(restart_from_idle_begins_an_ack_epoch),
		T(a_pause_that_is_not_the_applications_changes_nothing),
		T(restart_from_idle_keeps_the_rate_of_other_modes),
		T(any_gain_above_one_probes_and_any_below_drains),
		T(draining_aims_at_a_gain_of_exactly_one),
		T(time_differences_are_not_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
