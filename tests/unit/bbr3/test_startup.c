/* SPDX-License-Identifier: GPL-2.0-only */
/* The ends of STARTUP by a plateau, by losses and by marks; and DRAIN. */
#include "fixture.h"

TEST(growth_by_a_quarter_goes_on)
{
	FIXTURE;

	fixture_startup(f);
	f->b.full_bw_cnt = 2;
	f->b.round_start = 0;
	f->b.full_bw = 1u << 28; /* times 320 */
	f->s.bw = BW;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.full_bw, 1u << 28);
	f->b.round_start = 1;
	f->b.full_bw = BW;
	f->s.bw = BW * 5 / 4;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.full_bw, BW * 5 / 4);
	assert_int_equal(f->b.full_bw_cnt, 0);
	assert_false(f->b.full_bw_reached);
}

TEST(three_rounds_without_are_a_plateau)
{
	FIXTURE;

	fixture_startup(f);
	f->s.bw = BW * 5 / 4 - 1;
	f->b.round_start = 1;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	f->b.round_start = 0;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.full_bw_cnt, 1);
	f->b.round_start = 1;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_false(f->b.full_bw_now);
	assert_false(f->b.full_bw_reached);
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_true(f->b.full_bw_now);
	assert_true(f->b.full_bw_reached);
	assert_int_equal(f->b.full_bw, BW);
	f->s.bw = 2 * BW;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_true(f->b.full_bw_now);
}

TEST(growth_within_a_round_counts)
{
	FIXTURE;

	f->s.bw = 2 * BW;
	f->p.full_bw_by_round[0] = 1;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.full_bw, BW);
	f->b.round_start = 1;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.full_bw, 2 * BW);
	f->p.full_bw_by_round[0] = 0;
	f->b.round_start = 0;
	f->s.bw = 4 * BW;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.full_bw, 4 * BW);
}

TEST(app_limited_samples_say_nothing_of_a_plateau)
{
	FIXTURE;

	f->b.round_start = 1;
	f->s.bw = 1;
	f->ack.flight.is_app_limited = true;
	bbr_check_full_bw(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.full_bw_cnt, 0);
}

/* 6 ACKs with losses in a round, in recovery, and too much lost. */
static void lossy_startup(struct fixture *f)
{
	fixture_startup(f);
	fixture_lossy(f);
	f->b.loss_round_start = 1;
	f->b.loss_events_in_round = 6;
	f->sk.ca_state = TCP_CA_Recovery;
}

TEST(losses_end_startup)
{
	FIXTURE;

	lossy_startup(f);
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_true(f->b.full_bw_reached);
	assert_int_equal(f->b.inflight_hi, 100);
	assert_int_equal(f->b.steps, STEP(STARTUP_LOSS));
	assert_int_equal(f->b.loss_events_in_round, 6);
	f->rs.losses = 1;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s); /* STARTUP is over */
	assert_int_equal(f->b.loss_events_in_round, 6);
}

TEST(what_was_delivered_at_once_fits)
{
	FIXTURE;

	lossy_startup(f);
	f->b.inflight_latest = 150;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.inflight_hi, 150);
}

TEST(losses_of_probe_rtt_are_no_transition)
{
	FIXTURE;

	lossy_startup(f);
	f->b.mode = BBR_PROBE_RTT;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_true(f->b.full_bw_reached);
	assert_int_equal(f->b.steps, 0);
}

TEST(few_losses_are_chance)
{
	FIXTURE;

	lossy_startup(f);
	f->b.loss_events_in_round = 5;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_false(f->b.full_bw_reached);
	assert_int_equal(f->b.loss_events_in_round, 0);
	lossy_startup(f);
	f->ack.flight.lost = 1;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_false(f->b.full_bw_reached);
	lossy_startup(f);
	f->sk.ca_state = TCP_CA_Loss;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_false(f->b.full_bw_reached);
	lossy_startup(f);
	f->p.full_loss_cnt[0] = 0;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_false(f->b.full_bw_reached);
}

TEST(losses_are_judged_at_the_end_of_their_round)
{
	FIXTURE;

	lossy_startup(f);
	f->b.loss_round_start = 0;
	f->b.loss_events_in_round = 14;
	f->rs.losses = 3;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.loss_events_in_round, 15);
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.loss_events_in_round, 15);
	assert_false(f->b.full_bw_reached);
	f->rs.losses = 0;
	f->b.loss_events_in_round = 2;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.loss_events_in_round, 2);
}

TEST(marks_end_startup_with_losses)
{
	FIXTURE;

	lossy_startup(f);
	fixture_ecn(f);
	f->ack.flight.lost = 0;
	f->ack.delivered_ce = 6;
	bbr_check_startup_loss(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.steps, STEP(STARTUP_ECN));
	assert_true(f->b.full_bw_reached);
}

static void marked_startup(struct fixture *f)
{
	fixture_startup(f);
	fixture_ecn(f);
	f->more.startup_ecn_rounds = 1;
	f->more.alpha_last_delivered = 900;
	f->more.alpha_last_delivered_ce = 0;
	f->sk.delivered_ce = 50;
}

TEST(marks_end_startup)
{
	FIXTURE;

	marked_startup(f);
	bbr_update_ecn(&f->b, &f->sk);
	assert_true(f->b.full_bw_reached);
	assert_int_equal(f->b.inflight_hi, 100);
	assert_int_equal(f->b.steps, STEP(STARTUP_ECN));
}

TEST(marks_do_not_end_what_is_over)
{
	FIXTURE;

	marked_startup(f);
	f->b.full_bw_reached = 1;
	bbr_update_ecn(&f->b, &f->sk);
	assert_int_equal(f->b.steps, 0);
	assert_int_equal(f->more.startup_ecn_rounds, 1);
	marked_startup(f);
	f->sk.delivered_ce = 49;
	bbr_update_ecn(&f->b, &f->sk);
	assert_false(f->b.full_bw_reached);
	marked_startup(f);
	f->sk.delivered = 900;
	bbr_update_ecn(&f->b, &f->sk);
	assert_int_equal(f->more.startup_ecn_rounds, 1);
	marked_startup(f);
	f->sk.more = NULL;
	bbr_update_ecn(&f->b, &f->sk);
	assert_false(f->b.full_bw_reached);
}

TEST(full_pipe_is_drained)
{
	FIXTURE;

	fixture_startup(f);
	f->b.full_bw_reached = 1;
	f->b.loss_in_round = 1;
	f->b.drain_rounds = 3;
	f->sk.inflight = 101;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	assert_int_equal(f->b.steps, STEP(FULL_BW));
	assert_int_equal(f->sk.ssthresh, 100);
	assert_false(f->b.loss_in_round);
	assert_int_equal(f->b.drain_rounds, 0);
}

TEST(reason_of_startups_end_is_reported)
{
	FIXTURE;

	fixture_startup(f);
	f->b.full_bw_reached = 1;
	f->b.steps = STEP(STARTUP_LOSS);
	f->sk.inflight = 101;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.steps, STEP(STARTUP_LOSS));
}

TEST(startup_goes_on_until_the_pipe_is_full)
{
	FIXTURE;

	fixture_startup(f);
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	fixture_phase(f, BBR_CRUISE);
	f->b.full_bw_reached = 1;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.steps, 0);
}

TEST(drain_ends_at_the_bdp)
{
	FIXTURE;

	fixture_startup(f);
	f->b.full_bw_reached = 1;
	f->sk.inflight = 100;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.steps, STEP(FULL_BW) | STEP(DRAINED));
	assert_int_equal(f->b.acks, BBR_ACKS_PROBE_STOPPING);
}

TEST(drain_may_end_after_rounds)
{
	FIXTURE;

	f->b.round_start = 1;
	f->p.drain_max_rounds[0] = 3;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.drain_rounds, 0);
	f->b.mode = BBR_PROBE_RTT;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.drain_rounds, 0);
	f->p.drain_max_rounds[0] = 0;
	f->b.mode = BBR_DRAIN;
	f->sk.inflight = 101;
	for (int i = 0; i < 5; i++)
		bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	f->p.drain_max_rounds[0] = 3;
	for (int i = 0; i < 3; i++)
		bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	f->b.round_start = 0;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	f->b.round_start = 1;
	bbr_check_drain(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(growth_by_a_quarter_goes_on),
		T(three_rounds_without_are_a_plateau),
		T(growth_within_a_round_counts),
		T(app_limited_samples_say_nothing_of_a_plateau),
		T(losses_end_startup),
		T(what_was_delivered_at_once_fits),
		T(losses_of_probe_rtt_are_no_transition),
		T(few_losses_are_chance),
		T(losses_are_judged_at_the_end_of_their_round),
		T(marks_end_startup_with_losses),
		T(marks_end_startup),
		T(marks_do_not_end_what_is_over),
		T(full_pipe_is_drained),
		T(reason_of_startups_end_is_reported),
		T(startup_goes_on_until_the_pipe_is_full),
		T(drain_ends_at_the_bdp),
		T(drain_may_end_after_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
