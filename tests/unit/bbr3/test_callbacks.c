/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection begins, restarts, and gets ACKs. */
#include "fixture.h"

#define ACKED() bbr_acked(&f->b, &f->sk, &f->rs, &f->ack)

TEST(connection_begins)
{
	FIXTURE;
	struct bbr begun = {
		.min_rtt_us = MIN_RTT,
		.min_rtt_stamp = NOW_MS,
		.probe_rtt_min_us = MIN_RTT,
		.probe_rtt_min_stamp = NOW_MS,
		.next_round_delivered = 1000,
		.loss_round_delivered = 1001,
		.bw_lo = BBR_BW_NONE,
		.inflight_hi = BBR_COUNT_NONE,
		.init_cwnd = 100,
		.initialized = 1,
		.probe_up_cnt = BBR_COUNT_NONE,
		.inflight_lo = BBR_COUNT_NONE,
		.prior_cwnd = 33,
		.has_seen_rtt = 1,
		.ack_epoch_mstamp = NOW_US + 500,
	};

	memset(&f->b, 0xff, sizeof(f->b));
	memset(&f->more, 0xff, sizeof(f->more));
	f->sk.stack_prior_cwnd = 33;
	f->sk.ssthresh = 7;
	bbr_start(&f->b, &f->sk);
	/* What the shell and the first ACK set. */
	begun.profile = 0xff;
	begun.watched = 1;
	begun.steps = 0xffff;
	begun.last_lost = begun.app_limited_mark = 0xfffff;
	begun.drain_rounds = 3;
	begun.raising = 1;
	begun.in_order = 1;
	begun.new_gains = 1; /* of UP, the phase that it seems to be in */
	assert_memory_equal(&f->b, &begun, sizeof(begun));
	assert_int_equal(f->sk.ssthresh, 0x7fffffff);
	assert_int_equal(f->sk.pacing_rate, 21450805);
	assert_true(f->sk.fast_ack_mode);
	assert_false(f->sk.ect_permanent);
	assert_int_equal(f->more.rounds, 0);
	assert_int_equal(f->more.undo_bw_lo, 0);
	assert_int_equal(f->more.undo_inflight_lo, 0);
	assert_int_equal(f->more.undo_inflight_hi, 0);
	assert_int_equal(f->more.ecn_alpha, 256);
	assert_int_equal(f->more.ecn_in_round | f->more.ecn_in_cycle, 0);
}

TEST(connection_begins_without_an_rtt)
{
	FIXTURE;

	f->sk.srtt_us = 0;
	f->sk.cwnd = 128;
	f->sk.uses_ecn = true;
	f->sk.more = NULL;
	bbr_start(&f->b, &f->sk);
	assert_false(f->b.has_seen_rtt);
	assert_int_equal(f->b.init_cwnd, 127);
	assert_true(f->sk.ect_permanent);
}

/* start_cwnd: the cases of test_options.c of version 1, which has the same function. */
TEST(connection_begins_with_start_cwnd)
{
	FIXTURE;

	f->sk.delivered = 1;
	f->sk.inflight = 0;
	f->sk.cwnd = 10;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 10);
	f->p.start_cwnd[0] = 50;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 50);
	assert_int_equal(f->b.init_cwnd, 50);
	assert_int_equal(f->sk.pacing_rate, 21450805 / 2);
	f->sk.cwnd = 1;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 1);
	f->sk.cwnd = 2;
	f->sk.snd_cwnd_clamp = 20;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 20);
	f->sk.inflight = 1;
	f->sk.cwnd = 10;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 10);
	f->sk.inflight = 0;
	f->sk.delivered = 2;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 10);
}

TEST(restart_of_a_limited_flow_paces_at_bw)
{
	FIXTURE;

	f->sk.app_limited = 1;
	f->b.ack_epoch_acked = 5;
	f->sk.pacing_rate = 99;
	bbr_restart(&f->b, &f->sk);
	assert_true(f->b.idle_restart);
	assert_int_equal(f->b.ack_epoch_acked, 0);
	assert_int_equal(f->b.ack_epoch_mstamp, NOW_US + 500);
	assert_int_equal(f->sk.pacing_rate, RATE);
	f->p.idle_restart_gain[0] = 512;
	bbr_restart(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 15468750);
}

TEST(restart_in_other_modes_leaves_the_rate)
{
	FIXTURE;

	f->sk.app_limited = 1;
	f->b.mode = BBR_DRAIN;
	bbr_restart(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	f->b.mode = BBR_PROBE_RTT;
	bbr_restart(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	bbr_restart(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(pause_of_the_network_is_no_restart)
{
	FIXTURE;

	bbr_restart(&f->b, &f->sk);
	assert_false(f->b.idle_restart);
	assert_int_equal(f->sk.pacing_rate, 1000000);
}

TEST(gains_are_of_mode_and_phase)
{
	static const u32 pacing[] = { 320, 232, 256, 256 };
	FIXTURE;

	for (int phase = BBR_UP; phase < BBR_PHASES; phase++) {
		fixture_phase(f, phase);
		assert_int_equal(bbr_pacing_gain(&f->b, &f->sk), pacing[phase]);
		assert_int_equal(bbr_cwnd_gain(&f->b, &f->sk), phase == BBR_UP ? 576 : 512);
	}
	f->b.mode = BBR_STARTUP;
	assert_int_equal(bbr_pacing_gain(&f->b, &f->sk), 710);
	f->p.startup_cwnd_gain[0] = 500;
	assert_int_equal(bbr_cwnd_gain(&f->b, &f->sk), 500);
	f->b.mode = BBR_DRAIN;
	assert_int_equal(bbr_pacing_gain(&f->b, &f->sk), 88);
	assert_int_equal(bbr_cwnd_gain(&f->b, &f->sk), 500);
	f->b.mode = BBR_PROBE_RTT;
	assert_int_equal(bbr_pacing_gain(&f->b, &f->sk), 256);
	assert_int_equal(bbr_cwnd_gain(&f->b, &f->sk), 256);
}

static u32 towards(struct fixture *f)
{
	return bbr_cwnd_towards_target(&f->b, &f->sk, &f->rs, BW, 512);
}

TEST(window_grows_to_the_target)
{
	FIXTURE;

	assert_int_equal(towards(f), 110);
	assert_false(f->b.try_fast_path);
	f->sk.cwnd = 190;
	assert_int_equal(towards(f), 200);
	assert_true(f->b.try_fast_path);
	f->sk.cwnd = 189;
	assert_int_equal(towards(f), 199);
	assert_false(f->b.try_fast_path);
	f->sk.cwnd = 250;
	assert_int_equal(towards(f), 200);
	assert_true(f->b.try_fast_path);
}

TEST(window_has_room_for_aggregation)
{
	FIXTURE;

	f->sk.cwnd = 250;
	f->b.extra_acked[1] = 7;
	assert_int_equal(towards(f), 207);
	f->p.extra_acked_gain[0] = 512;
	assert_int_equal(towards(f), 214);
	f->p.extra_acked_max[0] = 1280;
	assert_int_equal(towards(f), 210);
}

TEST(window_of_startup_is_not_cut)
{
	FIXTURE;

	fixture_startup(f);
	f->sk.cwnd = 199;
	f->b.try_fast_path = 1;
	assert_int_equal(towards(f), 209);
	assert_false(f->b.try_fast_path);
	f->sk.cwnd = 200;
	assert_int_equal(towards(f), 200);
	assert_true(f->b.try_fast_path);
	f->b.bw_hi[0] = f->b.bw_hi[1] = 0;
	f->b.min_rtt_us = 0;
	f->p.tso_rtt[0] = 0;
	f->sk.cwnd = 19;
	assert_int_equal(towards(f), 29); /* below 2 x 10 */
	f->sk.cwnd = 20;
	assert_int_equal(towards(f), 20);
}

TEST(window_is_never_less_than_four)
{
	FIXTURE;

	f->rs.acked_sacked = 1;
	f->sk.cwnd = 1;
	assert_int_equal(towards(f), 4);
}

static void set_cwnd(struct fixture *f)
{
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW, 512);
}

TEST(ack_of_nothing_has_the_caps)
{
	FIXTURE;

	f->rs.acked_sacked = 0;
	f->b.try_fast_path = 1;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 100);
	assert_true(f->b.try_fast_path);
	f->sk.cwnd = 300;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 171);
	f->sk.snd_cwnd_clamp = 50;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 50);
	f->b.mode = BBR_PROBE_RTT;
	f->sk.snd_cwnd_clamp = NO_LIMIT;
	f->sk.cwnd = 90;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 50);
}

TEST(window_is_never_0)
{
	FIXTURE;

	f->sk.snd_cwnd_clamp = 0;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 1);
	f->sk.snd_cwnd_clamp = NO_LIMIT;
	f->sk.cwnd = 0x80000000;
	f->rs.acked_sacked = 0;
	f->b.initialized = 0;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 1);
}

TEST(control_follows_the_phase)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	bbr_update_control(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_false(f->b.raising); /* the phase did not begin now */
	assert_int_equal(f->more.pacing_gain, 0);
	f->b.new_gains = 1;
	f->sk.cwnd = 100;
	bbr_update_control(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_true(f->b.raising);
	assert_false(f->b.new_gains);
	assert_int_equal(f->more.pacing_gain, 320);
	assert_int_equal(f->more.cwnd_gain, 576);
	assert_int_equal(f->sk.pacing_rate, 9667968);
	assert_int_equal(f->sk.cwnd, 110);
	f->sk.more = NULL;
	fixture_phase(f, BBR_REFILL);
	f->b.new_gains = 1;
	bbr_update_control(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_false(f->b.raising);
	assert_int_equal(f->more.pacing_gain, 320);
	f->b.bw_lo = BW / 2;
	bbr_update_control(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->sk.pacing_rate, RATE / 2);
}

TEST(window_has_room_for_bursts_of_the_new_rate)
{
	FIXTURE;

	f->b.min_rtt_us = 1024; /* adds 16384 bytes to a burst */
	f->sk.pacing_rate = 50000000;
	bbr_update_control(&f->b, &f->sk, &f->rs, BW);
	assert_int_equal(f->sk.pacing_rate, RATE);
	assert_int_equal(f->sk.cwnd, 3 * 23);
}

/* An app-limited flow at its target, below the known bandwidth. */
static void fast(struct fixture *f)
{
	f->b.try_fast_path = 1;
	f->ack.flight.is_app_limited = true;
	f->rs.interval_us = 1281;
	f->s.bw = BW - 1;
}

TEST(what_the_fast_path_takes)
{
	FIXTURE;

	fast(f);
	assert_true(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->s.bw = BW;
	assert_false(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->s.bw = BW - 1;
	f->ack.flight.is_app_limited = false;
	assert_false(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->ack.flight.is_app_limited = true;
	f->b.try_fast_path = 0;
	assert_false(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->b.try_fast_path = 1;
	f->p.fast_path[0] = 0;
	assert_false(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->p.fast_path[0] = 1;
	f->b.loss_in_round = 1;
	assert_false(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->b.loss_in_round = 0;
	f->more.ecn_in_round = 1;
	assert_false(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->sk.more = NULL;
	assert_true(bbr_is_fast_path(&f->b, &f->sk, &f->s));
	f->p.max_pacing_rate[0] = 1000; /* perhaps newer than the rate */
	assert_false(bbr_is_fast_path(&f->b, &f->sk, &f->s));
}

TEST(fast_path_leaves_model_and_control)
{
	FIXTURE;

	fast(f);
	f->rs.losses = 1;
	ACKED();
	assert_int_equal(f->sk.cwnd, 100);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	assert_false(f->b.loss_in_round);
	assert_int_equal(f->b.ack_epoch_acked, 0);
	assert_true(f->b.try_fast_path);
}

TEST(fast_path_ends_with_a_new_minimum)
{
	FIXTURE;

	fast(f);
	f->rs.rtt_us = MIN_RTT - 1;
	ACKED();
	assert_int_equal(f->sk.pacing_rate, RATE);
	assert_int_equal(f->b.ack_epoch_acked, 0); /* the model is as it was */
}

TEST(fast_path_ends_with_a_new_mode)
{
	FIXTURE;

	fast(f);
	f->b.probe_rtt_min_stamp = NOW_MS - 5001;
	f->rs.is_ack_delayed = true;
	ACKED();
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->sk.pacing_rate, RATE);
	assert_int_equal(f->sk.cwnd, 50);
}

TEST(fast_path_ends_with_a_new_phase)
{
	FIXTURE;

	fast(f);
	f->b.rounds_since_probe = 63;
	ACKED();
	assert_int_equal(f->b.cycle_idx, BBR_REFILL);
	assert_int_equal(f->sk.pacing_rate, RATE);
}

TEST(drain_ends_on_the_fast_path_too)
{
	FIXTURE;

	fast(f);
	f->b.mode = BBR_DRAIN;
	f->rs.prior_in_flight = 100;
	ACKED();
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.cycle_idx, BBR_CRUISE);
	assert_int_equal(f->b.steps, STEP(DRAINED) | STEP(HEADROOM));
}

TEST(ack_updates_everything)
{
	FIXTURE;

	fixture_start_round(f);
	f->rs.losses = 1;
	f->rs.delivered = 11;
	f->sk.ca_state = TCP_CA_Disorder;
	ACKED();
	assert_true(f->b.round_start);
	assert_true(f->b.loss_round_start);
	assert_int_equal(f->b.bw_hi[1], 144180); /* 11 in 1280 us, rounded up */
	assert_int_equal(f->b.bw_lo, 144180);
	assert_int_equal(f->b.inflight_latest, 11);
	assert_int_equal(f->b.ack_epoch_acked, 10);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Disorder);
	assert_false(f->b.loss_in_cycle);
	assert_int_equal(f->sk.pacing_rate, 8507859);
}

TEST(bounds_are_of_the_round_before)
{
	FIXTURE;

	/* Losses so far cut the bounds before the maxima of the round are forgotten. */
	fixture_start_round(f);
	f->b.loss_in_round = 1;
	f->b.inflight_latest = 90;
	ACKED();
	assert_int_equal(f->b.inflight_lo, 90);
	assert_int_equal(f->b.inflight_latest, 10);
}

TEST(losses_and_marks_of_the_cycle_are_noted)
{
	FIXTURE;

	f->ack.flight.lost = 1;
	ACKED();
	assert_true(f->b.loss_in_cycle);
	assert_false(f->more.ecn_in_cycle);
	f->b.loss_in_cycle = 0;
	f->ack.flight.lost = -1;
	f->ack.delivered_ce = 1;
	ACKED();
	assert_false(f->b.loss_in_cycle);
	assert_true(f->more.ecn_in_cycle);
	f->more.ecn_in_cycle = 0;
	f->ack.delivered_ce = -1;
	ACKED();
	assert_false(f->more.ecn_in_cycle);
	f->sk.more = NULL;
	f->ack.delivered_ce = 1;
	ACKED();
	assert_false(f->more.ecn_in_cycle);
}

TEST(marks_are_taken_on_an_ack)
{
	FIXTURE;

	fixture_ecn(f);
	f->ack.is_ece = true;
	ACKED();
	assert_true(f->more.ecn_in_round);
	assert_int_equal(f->more.alpha_last_delivered, 0);
	fixture_start_round(f);
	ACKED();
	assert_int_equal(f->more.alpha_last_delivered, 1000);
	assert_int_equal(f->b.inflight_lo, 93); /* alpha is 120: 217 / 256 of 110 */
	assert_false(f->more.ecn_in_round);
}

TEST(losses_end_startup_on_the_same_ack)
{
	FIXTURE;

	fixture_startup(f);
	fixture_lossy(f);
	fixture_start_round(f);
	f->b.loss_events_in_round = 5;
	f->rs.losses = 1;
	f->sk.ca_state = TCP_CA_Recovery;
	f->sk.inflight = 150;
	ACKED();
	assert_int_equal(f->b.mode, BBR_DRAIN);
	assert_int_equal(f->b.steps, STEP(STARTUP_LOSS));
	assert_int_equal(f->more.pacing_gain, 88);
}

TEST(plateau_ends_startup_on_the_same_ack)
{
	FIXTURE;

	fixture_startup(f);
	fixture_start_round(f);
	f->b.full_bw_cnt = 2;
	f->sk.inflight = 150;
	ACKED();
	assert_int_equal(f->b.mode, BBR_DRAIN);
	assert_int_equal(f->b.steps, STEP(FULL_BW));
}

TEST(ack_before_the_beginning_does_no_harm)
{
	FIXTURE;

	f->b = (struct bbr){};
	f->more = (struct bbr_more){};
	ACKED();
	assert_true(f->sk.cwnd > 0);
	bbr_start(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_STARTUP);
}

/* A probe whose last flight, of 100 packets, lost 10: the 100th was one too many. A round would end. */
TEST(losses_are_handled_before_the_ack_that_reports_them)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.probe_samples = 1;
	f->rs.prior_delivered = 950;
	f->ack.flight.tx_in_flight = 90;
	f->ack.lost = (struct bbr_lost){ .marked = 2, .packets = 1, .flight = { 100, 10, false } };
	bbr_acked(&f->b, &f->sk, &f->rs, &f->ack);
	assert_int_equal(f->b.inflight_hi, 99);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_true(f->b.prev_probe_too_high);
	assert_false(f->b.round_start); /* a new one has just begun */
	assert_false(bbr_round_start(&f->b));
}

TEST(no_report_is_no_loss)
{
	FIXTURE;

	f->ack.lost.flight = (struct bbr_flight){ 100, 10, false };
	f->rs.prior_delivered = 940;
	bbr_acked(&f->b, &f->sk, &f->rs, &f->ack);
	assert_false(f->b.loss_in_cycle);
	f->rs.prior_delivered = 950;
	bbr_acked(&f->b, &f->sk, &f->rs, &f->ack);
	assert_true(bbr_round_start(&f->b));
}

/* Without the second part of the state any loss is too much. */
TEST(losses_since_the_last_callback_end_a_probe)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.probe_samples = 1;
	f->sk.more = NULL;
	f->sk.lost++;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_true(f->b.prev_probe_too_high);
}

TEST(undo_restores_the_window)
{
	FIXTURE;

	f->b.prior_cwnd = 77;
	assert_int_equal(bbr_undo_cwnd(&f->b, &f->sk), 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(connection_begins),
		T(connection_begins_without_an_rtt),
		T(connection_begins_with_start_cwnd),
		T(restart_of_a_limited_flow_paces_at_bw),
		T(restart_in_other_modes_leaves_the_rate),
		T(pause_of_the_network_is_no_restart),
		T(gains_are_of_mode_and_phase),
		T(window_grows_to_the_target),
		T(window_has_room_for_aggregation),
		T(window_of_startup_is_not_cut),
		T(window_is_never_less_than_four),
		T(ack_of_nothing_has_the_caps),
		T(window_is_never_0),
		T(control_follows_the_phase),
		T(window_has_room_for_bursts_of_the_new_rate),
		T(what_the_fast_path_takes),
		T(fast_path_leaves_model_and_control),
		T(fast_path_ends_with_a_new_minimum),
		T(fast_path_ends_with_a_new_mode),
		T(fast_path_ends_with_a_new_phase),
		T(drain_ends_on_the_fast_path_too),
		T(ack_updates_everything),
		T(bounds_are_of_the_round_before),
		T(losses_and_marks_of_the_cycle_are_noted),
		T(marks_are_taken_on_an_ack),
		T(losses_end_startup_on_the_same_ack),
		T(plateau_ends_startup_on_the_same_ack),
		T(ack_before_the_beginning_does_no_harm),
		T(losses_are_handled_before_the_ack_that_reports_them),
		T(no_report_is_no_loss),
		T(losses_since_the_last_callback_end_a_probe),
		T(undo_restores_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
