/* SPDX-License-Identifier: GPL-2.0-only */
/* The phases of PROBE_BW, and what a probe finds. */
#include "fixture.h"

TEST(wait_is_drawn)
{
	FIXTURE;

	f->sk.random = 0;
	f->more.rounds = 50;
	bbr_pick_probe_wait(&f->b, &f->sk);
	assert_int_equal(f->b.rounds_since_probe, 0);
	assert_int_equal(f->more.rounds, 53);
	assert_int_equal(f->b.probe_wait_us, 2000000);
	f->sk.random = 0x80000000;
	bbr_pick_probe_wait(&f->b, &f->sk);
	assert_int_equal(f->b.rounds_since_probe, 1);
	assert_int_equal(f->more.rounds, 52); /* 53 together */
	assert_int_equal(f->b.probe_wait_us, 2000000);
	f->sk.random = 0xffffffff;
	bbr_pick_probe_wait(&f->b, &f->sk);
	assert_int_equal(f->b.rounds_since_probe, 1);
	assert_int_equal(f->b.probe_wait_us, 2999999);
	f->sk.random = 0x40000000;
	bbr_pick_probe_wait(&f->b, &f->sk);
	assert_int_equal(f->b.rounds_since_probe, 0);
	assert_int_equal(f->b.probe_wait_us, 2500000);
}

TEST(down_begins)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.loss_in_cycle = f->b.try_fast_path = 1;
	f->b.probe_up_cnt = 7;
	bbr_start_down(&f->b, &f->sk);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.probe_up_cnt, BBR_COUNT_NONE);
	assert_int_equal(f->b.cycle_mstamp, NOW_US + 500);
	assert_int_equal(f->b.acks, BBR_ACKS_PROBE_STOPPING);
	assert_int_equal(f->b.next_round_delivered, 1000);
	assert_int_equal(f->b.probe_wait_us, 2000000);
	assert_false(f->b.loss_in_cycle);
	assert_false(f->b.try_fast_path);
}

TEST(cruise_begins_within_the_bound)
{
	FIXTURE;

	fixture_phase(f, BBR_DOWN);
	f->b.inflight_lo = 300;
	f->p.cruise_above_hi[0] = 1;
	bbr_start_cruise(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, 300);
	f->p.cruise_above_hi[0] = 0;
	bbr_start_cruise(&f->b, &f->sk);
	assert_int_equal(f->b.cycle_idx, BBR_CRUISE);
	assert_int_equal(f->b.inflight_lo, 200);
	f->b.inflight_lo = 150;
	bbr_start_cruise(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, 150);
	f->b.inflight_lo = BBR_COUNT_NONE;
	bbr_start_cruise(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
}

TEST(refill_begins)
{
	FIXTURE;

	f->b.bw_lo = f->b.inflight_lo = f->b.probe_up_acks = 5;
	f->b.stopped_risky_probe = f->b.try_fast_path = 1;
	bbr_start_refill(&f->b, &f->sk, 3, BBR_R_WAITED);
	assert_int_equal(f->b.cycle_idx, BBR_REFILL);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
	assert_int_equal(f->b.probe_up_acks, 0);
	assert_int_equal(f->b.probe_up_rounds, 3);
	assert_int_equal(f->b.next_round_delivered, 1000);
	assert_int_equal(f->b.acks, BBR_ACKS_REFILLING);
	assert_int_equal(f->b.steps, STEP(WAITED));
	assert_false(f->b.stopped_risky_probe);
	assert_false(f->b.try_fast_path);
}

TEST(slope_doubles_each_round)
{
	FIXTURE;

	bbr_raise_probe_slope(&f->b, &f->sk);
	assert_int_equal(f->b.probe_up_cnt, 100);
	bbr_raise_probe_slope(&f->b, &f->sk);
	assert_int_equal(f->b.probe_up_cnt, 50);
	f->b.probe_up_rounds = 7;
	bbr_raise_probe_slope(&f->b, &f->sk);
	assert_int_equal(f->b.probe_up_cnt, 1);
	f->b.probe_up_rounds = 30;
	bbr_raise_probe_slope(&f->b, &f->sk);
	assert_int_equal(f->b.probe_up_rounds, 30);
	f->b.probe_up_rounds = 29;
	bbr_raise_probe_slope(&f->b, &f->sk);
	assert_int_equal(f->b.probe_up_rounds, 30);
}

TEST(up_begins_after_a_round_of_refill)
{
	FIXTURE;

	fixture_phase(f, BBR_REFILL);
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_REFILL);
	assert_false(f->b.probe_samples);
	f->b.round_start = 1;
	f->b.full_bw_now = f->b.try_fast_path = 1;
	f->b.full_bw_cnt = 3;
	f->s.bw = BW / 2;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	assert_true(f->b.probe_samples);
	assert_int_equal(f->b.steps, STEP(REFILLED));
	assert_int_equal(f->b.acks, BBR_ACKS_PROBE_STARTING);
	assert_int_equal(f->b.next_round_delivered, 1000);
	assert_int_equal(f->b.cycle_mstamp, NOW_US + 500);
	assert_int_equal(f->b.full_bw, BW / 2);
	assert_false(f->b.full_bw_now);
	assert_false(f->b.try_fast_path);
	assert_int_equal(f->b.probe_up_cnt, 100);
}

static void limited_by_hi(struct fixture *f)
{
	fixture_phase(f, BBR_UP);
	f->sk.is_cwnd_limited = true;
	f->sk.cwnd = 200;
	f->b.probe_up_cnt = 25;
}

TEST(inflight_hi_grows_while_it_limits)
{
	FIXTURE;

	limited_by_hi(f);
	f->b.try_fast_path = 1;
	f->b.probe_up_acks = 14;
	bbr_raise_inflight_hi(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 200);
	assert_int_equal(f->b.probe_up_acks, 24);
	assert_true(f->b.try_fast_path);
	f->rs.acked_sacked = 1;
	bbr_raise_inflight_hi(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 201);
	assert_int_equal(f->b.probe_up_acks, 0);
	assert_false(f->b.try_fast_path);
	f->rs.acked_sacked = 60;
	f->sk.cwnd = 201;
	bbr_raise_inflight_hi(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 203);
	assert_int_equal(f->b.probe_up_acks, 10);
	assert_int_equal(f->b.probe_up_cnt, 25);
}

TEST(inflight_hi_grows_faster_each_round)
{
	FIXTURE;

	limited_by_hi(f);
	f->b.round_start = 1;
	f->b.probe_up_rounds = 2;
	bbr_raise_inflight_hi(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.probe_up_cnt, 50);
	assert_int_equal(f->b.probe_up_rounds, 3);
}

TEST(inflight_hi_that_does_not_limit_stays)
{
	FIXTURE;

	limited_by_hi(f);
	f->rs.acked_sacked = 30;
	f->sk.is_cwnd_limited = false;
	bbr_raise_inflight_hi(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 200);
	f->sk.is_cwnd_limited = true;
	f->sk.cwnd = 199;
	bbr_raise_inflight_hi(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 200);
	assert_int_equal(f->b.probe_up_acks, 0);
}

TEST(safe_inflight_raises_the_bound_in_each_phase)
{
	FIXTURE;

	f->ack.flight.tx_in_flight = 201;
	bbr_note_safe_inflight(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 201);
	f->ack.flight.tx_in_flight = 200;
	bbr_note_safe_inflight(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 201);
	f->b.inflight_hi = BBR_COUNT_NONE;
	limited_by_hi(f);
	bbr_note_safe_inflight(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, BBR_COUNT_NONE);
	assert_int_equal(f->b.probe_up_acks, 0);
}

TEST(up_raises_the_bound)
{
	FIXTURE;

	limited_by_hi(f);
	f->rs.acked_sacked = 25;
	bbr_note_safe_inflight(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 201);
	f->b.cycle_idx = BBR_REFILL;
	bbr_note_safe_inflight(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 201);
}

TEST(too_much_ends_the_probe)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.probe_samples = 1;
	f->ack.flight.tx_in_flight = 120;
	bbr_handle_too_high(&f->b, &f->sk, &f->ack.flight, BBR_R_PROBE_LOSS);
	assert_int_equal(f->b.inflight_hi, 120);
	assert_true(f->b.prev_probe_too_high);
	assert_false(f->b.probe_samples);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.steps, STEP(PROBE_LOSS));
}

TEST(too_much_leaves_seven_tenths_of_the_target)
{
	FIXTURE;

	f->ack.flight.tx_in_flight = 5;
	bbr_handle_too_high(&f->b, &f->sk, &f->ack.flight, BBR_R_PROBE_LOSS);
	assert_int_equal(f->b.inflight_hi, 70);
	assert_int_equal(f->b.cycle_idx, BBR_CRUISE);
	assert_int_equal(f->b.steps, 0);
}

TEST(too_much_of_an_app_limited_flow_is_no_bound)
{
	FIXTURE;

	f->ack.flight.is_app_limited = true;
	bbr_handle_too_high(&f->b, &f->sk, &f->ack.flight, BBR_R_PROBE_LOSS);
	assert_int_equal(f->b.inflight_hi, 200);
	assert_true(f->b.prev_probe_too_high);
}

TEST(feedback_begins_a_round_after_up)
{
	FIXTURE;

	f->b.acks = BBR_ACKS_PROBE_STARTING;
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.acks, BBR_ACKS_PROBE_STARTING);
	f->b.round_start = 1;
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.acks, BBR_ACKS_PROBE_FEEDBACK);
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.acks, BBR_ACKS_PROBE_FEEDBACK);
}

static void stopping(struct fixture *f)
{
	fixture_phase(f, BBR_DOWN);
	f->b.acks = BBR_ACKS_PROBE_STOPPING;
	f->b.probe_samples = 1;
	f->b.round_start = 1;
	f->b.bw_hi[0] = BW / 2;
	f->b.bw_hi[1] = BW / 4;
}

TEST(feedback_ends_a_round_after_up)
{
	FIXTURE;

	stopping(f);
	f->b.round_start = 0;
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_true(f->b.probe_samples);
	f->b.round_start = 1;
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_false(f->b.probe_samples);
	assert_int_equal(f->b.acks, BBR_ACKS_INIT);
	assert_int_equal(f->b.bw_hi[0], BW / 4);
	assert_int_equal(f->b.bw_hi[1], 0);
}

TEST(maximum_of_bandwidth_is_kept_while_the_application_limits)
{
	FIXTURE;

	stopping(f);
	f->ack.flight.is_app_limited = true;
	assert_false(bbr_end_probe_feedback(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.bw_hi[0], BW / 2);
	stopping(f);
	f->ack.flight.is_app_limited = false;
	f->b.mode = BBR_PROBE_RTT;
	f->b.stopped_risky_probe = 1;
	assert_false(bbr_end_probe_feedback(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.bw_hi[0], BW / 2);
	assert_int_equal(f->b.acks, BBR_ACKS_INIT);
}

TEST(risk_that_was_none_is_taken_again)
{
	FIXTURE;

	stopping(f);
	f->b.stopped_risky_probe = 1;
	f->b.prev_probe_too_high = 1;
	assert_false(bbr_end_probe_feedback(&f->b, &f->sk, &f->s));
	stopping(f);
	f->b.prev_probe_too_high = 0;
	f->b.probe_up_rounds = 9;
	assert_true(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.cycle_idx, BBR_REFILL);
	assert_int_equal(f->b.probe_up_rounds, 0);
	assert_int_equal(f->b.steps, STEP(PROBE_AGAIN));
}

TEST(losses_end_the_probe_once)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	fixture_lossy(f);
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	assert_int_equal(f->b.inflight_hi, 200);
	f->b.probe_samples = 1;
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.inflight_hi, 100);
	assert_int_equal(f->b.steps, STEP(PROBE_LOSS));
}

TEST(marks_end_the_probe)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	fixture_ecn(f);
	f->ack.delivered_ce = 6;
	f->b.probe_samples = 1;
	assert_false(bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s));
	assert_int_equal(f->b.steps, STEP(PROBE_ECN));
}

/* Inflight that is safe raises the bound; inflight that is not does not. */
TEST(only_safe_inflight_raises_the_bound)
{
	FIXTURE;

	f->ack.flight.tx_in_flight = 300;
	f->ack.flight.lost = 6;
	bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 200);
	f->ack.flight.lost = 5;
	bbr_adapt_upper_bounds(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 300);
}

TEST(probe_waits_for_the_clock)
{
	FIXTURE;

	f->b.cycle_mstamp = NOW_US + 500 - 2500000;
	assert_false(bbr_check_time_to_probe(&f->b, &f->sk));
	f->b.cycle_mstamp--;
	f->b.probe_up_rounds = 5;
	assert_true(bbr_check_time_to_probe(&f->b, &f->sk));
	assert_int_equal(f->b.steps, STEP(WAITED));
	assert_int_equal(f->b.probe_up_rounds, 0);
}

TEST(probe_waits_as_long_as_reno)
{
	FIXTURE;

	f->b.rounds_since_probe = 62;
	assert_false(bbr_check_time_to_probe(&f->b, &f->sk));
	f->b.rounds_since_probe = 63;
	f->b.probe_up_rounds = 5;
	assert_true(bbr_check_time_to_probe(&f->b, &f->sk));
	assert_int_equal(f->b.steps, STEP(WAITED_ROUNDS));
	assert_int_equal(f->b.probe_up_rounds, 0);
	f->b.rounds_since_probe = 19;
	f->b.min_rtt_us = MIN_RTT / 5;
	assert_false(bbr_is_reno_probe_time(&f->b, &f->sk));
	f->b.rounds_since_probe = 20;
	assert_true(bbr_is_reno_probe_time(&f->b, &f->sk));
}

static void marks_ceased(struct fixture *f)
{
	fixture_ecn(f);
	f->more.ecn_in_cycle = 1;
}

TEST(probe_follows_marks_that_have_ceased)
{
	FIXTURE;

	marks_ceased(f);
	assert_true(bbr_check_time_to_probe(&f->b, &f->sk));
	assert_int_equal(f->b.steps, STEP(MARKS_CEASED));
	assert_int_equal(f->b.probe_up_rounds, 6); /* 100 packets: 2^6.6 */
}

TEST(not_if_there_were_losses)
{
	FIXTURE;

	marks_ceased(f);
	f->b.loss_in_cycle = 1;
	assert_false(bbr_have_marks_ceased(&f->b, &f->sk));
	f->b.loss_in_cycle = 0;
	f->sk.ca_state = TCP_CA_Disorder;
	assert_false(bbr_have_marks_ceased(&f->b, &f->sk));
	f->sk.ca_state = TCP_CA_Open;
	f->more.ecn_in_cycle = 0;
	assert_false(bbr_have_marks_ceased(&f->b, &f->sk));
	f->more.ecn_in_cycle = 1;
	f->p.ecn_reprobe_gain[0] = 0;
	assert_false(bbr_have_marks_ceased(&f->b, &f->sk));
	f->p.ecn_reprobe_gain[0] = 128;
	f->more.ecn_eligible = 0;
	assert_false(bbr_have_marks_ceased(&f->b, &f->sk));
}

TEST(reprobe_grows_by_a_power_of_two)
{
	FIXTURE;

	f->b.inflight_hi = 2;
	assert_int_equal(bbr_reprobe_rounds(&f->b, &f->sk), 0);
	f->b.inflight_hi = 3;
	assert_int_equal(bbr_reprobe_rounds(&f->b, &f->sk), 0);
	f->b.inflight_hi = 4;
	assert_int_equal(bbr_reprobe_rounds(&f->b, &f->sk), 1);
	f->b.inflight_hi = 0;
	assert_int_equal(bbr_reprobe_rounds(&f->b, &f->sk), 0);
	for (u32 n = 1; n < 24; n++) {
		f->b.inflight_hi = 1u << n;
		assert_int_equal(bbr_reprobe_rounds(&f->b, &f->sk), n - 1);
	}
	f->b.inflight_hi = BBR_COUNT_NONE;
	assert_int_equal(bbr_reprobe_rounds(&f->b, &f->sk), 30);
	f->p.ecn_reprobe_gain[0] = 256;
	assert_int_equal(bbr_reprobe_rounds(&f->b, &f->sk), 30);
}

TEST(cruise_probes_when_it_is_time)
{
	FIXTURE;

	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_CRUISE);
	f->b.rounds_since_probe = 63;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_REFILL);
}

TEST(down_ends_with_headroom_and_without_a_queue)
{
	FIXTURE;

	fixture_phase(f, BBR_DOWN);
	f->rs.prior_in_flight = 101;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	f->rs.prior_in_flight = 100;
	f->b.inflight_hi = 110; /* less 16 */
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	f->rs.prior_in_flight = 94;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_CRUISE);
	assert_int_equal(f->b.steps, STEP(HEADROOM));
}

TEST(bdp_of_down_is_of_what_the_path_carries)
{
	FIXTURE;

	f->b.bw_lo = BW / 2;
	f->rs.prior_in_flight = 100;
	assert_true(bbr_is_time_to_cruise(&f->b, &f->sk, &f->rs));
	f->rs.prior_in_flight = 101;
	assert_false(bbr_is_time_to_cruise(&f->b, &f->sk, &f->rs));
}

TEST(down_may_end_in_a_probe)
{
	FIXTURE;

	fixture_phase(f, BBR_DOWN);
	f->rs.prior_in_flight = 10;
	f->b.rounds_since_probe = 63;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_REFILL);
	assert_int_equal(f->b.steps, STEP(WAITED_ROUNDS));
}

TEST(up_stops_where_it_was_too_much)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.prev_probe_too_high = 1;
	f->rs.prior_in_flight = 199;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	f->rs.prior_in_flight = 200;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.steps, STEP(PROBE_INFLIGHT));
	assert_true(f->b.stopped_risky_probe);
	assert_false(f->b.prev_probe_too_high);
}

TEST(up_goes_on_where_nothing_was_too_much)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->rs.prior_in_flight = 300;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	assert_int_equal(f->b.steps, 0);
}

TEST(up_stops_at_a_plateau)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.full_bw_now = 1;
	f->b.prev_probe_too_high = 1;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.steps, STEP(PROBE_FULL_BW));
	assert_false(f->b.stopped_risky_probe);
	assert_false(f->b.prev_probe_too_high);
}

TEST(plateau_under_the_bound_is_none)
{
	FIXTURE;

	limited_by_hi(f);
	f->b.full_bw_now = 1;
	f->b.full_bw_cnt = 3;
	f->s.bw = 3;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	assert_int_equal(f->b.full_bw, 3);
	assert_int_equal(f->b.full_bw_cnt, 0);
	assert_false(f->b.full_bw_now);
	f->b.full_bw_now = 1;
	f->sk.cwnd = 199;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
}

TEST(plateau_of_a_flow_that_the_window_does_not_limit_is_one)
{
	FIXTURE;

	limited_by_hi(f);
	f->sk.is_cwnd_limited = false;
	f->b.full_bw_now = 1;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
}

TEST(what_waits_in_fq_is_not_what_is_too_much)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.prev_probe_too_high = 1;
	f->rs.prior_in_flight = 200;
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000;
	bbr_check_phase_done(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
}

TEST(bounds_are_of_a_full_pipe)
{
	FIXTURE;

	f->b.full_bw_reached = 0;
	f->ack.flight.tx_in_flight = 300;
	bbr_update_cycle_phase(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 200);
	f->b.full_bw_reached = 1;
	f->b.mode = BBR_DRAIN;
	f->b.rounds_since_probe = 63;
	bbr_update_cycle_phase(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 300);
	assert_int_equal(f->b.steps, 0);
	f->b.mode = BBR_PROBE_BW;
	bbr_update_cycle_phase(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.steps, STEP(WAITED_ROUNDS));
}

/* The refill that begins must not end at once, as it would on the first ACK of a round. */
TEST(what_begins_now_is_not_ended_now)
{
	FIXTURE;

	stopping(f);
	f->b.stopped_risky_probe = 1;
	bbr_update_cycle_phase(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.cycle_idx, BBR_REFILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(wait_is_drawn),
		T(down_begins),
		T(cruise_begins_within_the_bound),
		T(refill_begins),
		T(slope_doubles_each_round),
		T(up_begins_after_a_round_of_refill),
		T(inflight_hi_grows_while_it_limits),
		T(inflight_hi_grows_faster_each_round),
		T(inflight_hi_that_does_not_limit_stays),
		T(safe_inflight_raises_the_bound_in_each_phase),
		T(up_raises_the_bound),
		T(too_much_ends_the_probe),
		T(too_much_leaves_seven_tenths_of_the_target),
		T(too_much_of_an_app_limited_flow_is_no_bound),
		T(feedback_begins_a_round_after_up),
		T(feedback_ends_a_round_after_up),
		T(maximum_of_bandwidth_is_kept_while_the_application_limits),
		T(risk_that_was_none_is_taken_again),
		T(losses_end_the_probe_once),
		T(marks_end_the_probe),
		T(only_safe_inflight_raises_the_bound),
		T(probe_waits_for_the_clock),
		T(probe_waits_as_long_as_reno),
		T(probe_follows_marks_that_have_ceased),
		T(not_if_there_were_losses),
		T(reprobe_grows_by_a_power_of_two),
		T(cruise_probes_when_it_is_time),
		T(down_ends_with_headroom_and_without_a_queue),
		T(bdp_of_down_is_of_what_the_path_carries),
		T(down_may_end_in_a_probe),
		T(up_stops_where_it_was_too_much),
		T(up_goes_on_where_nothing_was_too_much),
		T(up_stops_at_a_plateau),
		T(plateau_under_the_bound_is_none),
		T(plateau_of_a_flow_that_the_window_does_not_limit_is_one),
		T(what_waits_in_fq_is_not_what_is_too_much),
		T(bounds_are_of_a_full_pipe),
		T(what_begins_now_is_not_ended_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
