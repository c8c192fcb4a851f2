/* SPDX-License-Identifier: GPL-2.0-only */
/* Losses, recovery, timeouts, and what undoes them. */
#include "fixture.h"

TEST(loss_round_begins_with_its_first_loss)
{
	FIXTURE;

	bbr_note_loss(&f->b, &f->sk);
	assert_int_equal(f->b.loss_round_delivered, 1000);
	assert_true(f->b.loss_in_round);
	assert_true(f->b.loss_in_cycle);
	f->sk.delivered = 1100;
	bbr_note_loss(&f->b, &f->sk);
	assert_int_equal(f->b.loss_round_delivered, 1000);
}

static struct bbr_flight flight_of(u32 tx_in_flight, s32 lost)
{
	return (struct bbr_flight){ .tx_in_flight = tx_in_flight, .lost = lost };
}

TEST(too_much_begins_where_two_percent_were_lost)
{
	FIXTURE;
	struct bbr_flight flight = flight_of(100, 2);

	/* 99 before it: 1.93, so 2 may be lost, of which 1 was. 1 more: 256 / 251 of a packet. */
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 1), 100);
	flight = flight_of(1000, 10);
	/* 990 before it, none lost: 19.33, so 20 may be. 20 x 256 / 251 = 20.4 */
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 10), 1010);
	flight = flight_of(1000, 30);
	/* 10 of them before, 10 more: 10.2 */
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 20), 980 + 10);
	flight = flight_of(1000, 51);
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 1), 999); /* exceeded before */
	flight = flight_of(1000, 21);
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 1), 999); /* 20 of 20 */
	flight = flight_of(1000, 20);
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 1), 1000); /* 19 of 20 */
}

TEST(large_flights_do_not_overflow)
{
	FIXTURE;
	struct bbr_flight flight = flight_of(0x7fffffff, 1);

	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 1), 0x7ffffffeu + 42778558);
}

TEST(packet_of_more_than_its_flight_says_nothing)
{
	FIXTURE;
	struct bbr_flight flight = flight_of(9, 20);

	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 10), BBR_COUNT_NONE);
	flight = flight_of(20, 9);
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 10), BBR_COUNT_NONE);
	flight = flight_of(10, 10);
	assert_int_equal(bbr_inflight_of_lost(&f->sk, &flight, 10), 0);
}

TEST(loss_of_a_probe_ends_it)
{
	FIXTURE;
	struct bbr_flight flight = flight_of(150, 5);

	fixture_phase(f, BBR_UP);
	bbr_lose(&f->b, &f->sk, &flight, 1);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	assert_true(f->b.loss_in_round);
	f->b.probe_samples = 1;
	bbr_lose(&f->b, &f->sk, &flight, 1);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.inflight_hi, 149);
	assert_int_equal(f->b.steps, STEP(PROBE_LOSS));
}

TEST(few_losses_do_not_end_a_probe)
{
	FIXTURE;
	struct bbr_flight flight = flight_of(150, 2);

	fixture_phase(f, BBR_UP);
	f->b.probe_samples = 1;
	bbr_lose(&f->b, &f->sk, &flight, 1);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	flight = flight_of(0, 2); /* not known */
	bbr_lose(&f->b, &f->sk, &flight, 1);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
}

TEST(loss_of_an_app_limited_packet_is_no_bound)
{
	FIXTURE;
	struct bbr_flight flight = flight_of(150, 5);

	f->b.probe_samples = 1;
	flight.is_app_limited = true;
	bbr_lose(&f->b, &f->sk, &flight, 1);
	assert_int_equal(f->b.inflight_hi, 200);
	assert_true(f->b.prev_probe_too_high);
}

TEST(tail_loss_is_one_of_its_flight)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.inflight_latest = 20;
	bbr_lose_tail(&f->b, &f->sk, false);
	assert_true(f->b.loss_in_round);
	assert_int_equal(f->b.cycle_idx, BBR_UP);
	f->b.probe_samples = 1;
	bbr_lose_tail(&f->b, &f->sk, false);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.inflight_hi, 70); /* of the target */
	assert_int_equal(f->b.steps, STEP(PROBE_LOSS));
}

TEST(tail_loss_of_a_large_flight_is_chance)
{
	FIXTURE;

	f->b.probe_samples = 1;
	f->b.inflight_latest = 102; /* 5 / 256 of 103: 2 */
	bbr_lose_tail(&f->b, &f->sk, false);
	assert_int_equal(f->b.inflight_hi, 200);
	f->b.inflight_latest = 101; /* of 102: 1, which is not less */
	bbr_lose_tail(&f->b, &f->sk, false);
	assert_int_equal(f->b.inflight_hi, 200);
	f->b.inflight_latest = 50; /* of 51: 0 */
	bbr_lose_tail(&f->b, &f->sk, false);
	assert_int_equal(f->b.inflight_hi, 70);
}

TEST(tail_loss_has_the_flight_that_was_delivered)
{
	FIXTURE;

	f->b.probe_samples = 1;
	f->b.inflight_latest = 50;
	f->b.bw_hi[0] = f->b.bw_hi[1] = 1;
	bbr_lose_tail(&f->b, &f->sk, false);
	assert_int_equal(f->b.inflight_hi, 51);
	f->b.probe_samples = 1;
	f->b.inflight_latest = 40;
	bbr_lose_tail(&f->b, &f->sk, true);
	assert_int_equal(f->b.inflight_hi, 51);
}

TEST(tail_loss_can_be_ignored)
{
	FIXTURE;

	f->p.tail_loss[0] = 0;
	bbr_lose_tail(&f->b, &f->sk, false);
	assert_false(f->b.loss_in_round);
}

TEST(recovery_notes_what_to_come_back_to)
{
	FIXTURE;

	f->b.bw_lo = 5;
	f->b.inflight_lo = 6;
	f->sk.ssthresh = 77;
	assert_int_equal(bbr_enter_recovery(&f->b, &f->sk), 77);
	assert_int_equal(f->b.prior_cwnd, 100);
	assert_int_equal(f->more.undo_bw_lo, 5);
	assert_int_equal(f->more.undo_inflight_lo, 6);
	assert_int_equal(f->more.undo_inflight_hi, 200);
	f->sk.more = NULL;
	f->sk.cwnd = 120;
	bbr_enter_recovery(&f->b, &f->sk);
	assert_int_equal(f->b.prior_cwnd, 120);
}

TEST(undo_goes_back)
{
	FIXTURE;

	f->b.bw_lo = f->b.inflight_lo = f->b.inflight_hi = 50;
	f->more.undo_bw_lo = 60;
	f->more.undo_inflight_lo = 70;
	f->more.undo_inflight_hi = 80;
	f->b.prior_cwnd = 90;
	f->b.loss_in_round = f->b.try_fast_path = f->b.full_bw_now = 1;
	assert_int_equal(bbr_undo(&f->b, &f->sk), 90);
	assert_int_equal(f->b.bw_lo, 60);
	assert_int_equal(f->b.inflight_lo, 70);
	assert_int_equal(f->b.inflight_hi, 80);
	assert_int_equal(f->b.full_bw, 0);
	assert_int_equal(f->b.full_bw_now | f->b.loss_in_round | f->b.try_fast_path, 0);
}

TEST(undo_lowers_nothing)
{
	FIXTURE;

	f->b.bw_lo = f->b.inflight_lo = f->b.inflight_hi = 50;
	bbr_undo(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, 50);
	assert_int_equal(f->b.inflight_lo, 50);
	assert_int_equal(f->b.inflight_hi, 50);
	f->sk.more = NULL;
	bbr_undo(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_hi, 50);
}

TEST(timeout_cuts_from_the_window_before_it)
{
	FIXTURE;

	f->b.prior_cwnd = 150;
	f->b.full_bw_cnt = 2;
	bbr_change_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Loss);
	assert_int_equal(f->b.inflight_lo, 150);
	assert_int_equal(f->b.full_bw, 0);
	assert_int_equal(f->b.full_bw_cnt, 0);
	f->b.inflight_lo = 40;
	bbr_change_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.inflight_lo, 40);
	f->b.inflight_lo = BBR_COUNT_NONE;
	f->sk.cwnd = 170;
	bbr_change_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.inflight_lo, 170);
}

TEST(timeout_of_a_probe_is_no_bound)
{
	FIXTURE;

	fixture_phase(f, BBR_REFILL);
	bbr_change_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
}

TEST(window_is_back_after_a_timeout)
{
	FIXTURE;

	f->b.prev_ca_state = TCP_CA_Loss;
	f->b.try_fast_path = 1;
	f->b.prior_cwnd = 150;
	bbr_change_state(&f->b, &f->sk, TCP_CA_Open);
	assert_int_equal(f->sk.cwnd, 150);
	assert_false(f->b.try_fast_path);
	f->sk.cwnd = 170;
	bbr_change_state(&f->b, &f->sk, TCP_CA_Open);
	assert_int_equal(f->sk.cwnd, 170);
}

TEST(recovery_ends_without_that)
{
	FIXTURE;

	f->b.prev_ca_state = TCP_CA_Recovery;
	f->b.try_fast_path = 1;
	f->b.prior_cwnd = 150;
	bbr_change_state(&f->b, &f->sk, TCP_CA_Open);
	assert_int_equal(f->sk.cwnd, 100);
	assert_true(f->b.try_fast_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(loss_round_begins_with_its_first_loss),
		T(too_much_begins_where_two_percent_were_lost),
		T(large_flights_do_not_overflow),
		T(packet_of_more_than_its_flight_says_nothing),
		T(loss_of_a_probe_ends_it),
		T(few_losses_do_not_end_a_probe),
		T(loss_of_an_app_limited_packet_is_no_bound),
		T(tail_loss_is_one_of_its_flight),
		T(tail_loss_of_a_large_flight_is_chance),
		T(tail_loss_has_the_flight_that_was_delivered),
		T(tail_loss_can_be_ignored),
		T(recovery_notes_what_to_come_back_to),
		T(undo_goes_back),
		T(undo_lowers_nothing),
		T(timeout_cuts_from_the_window_before_it),
		T(timeout_of_a_probe_is_no_bound),
		T(window_is_back_after_a_timeout),
		T(recovery_ends_without_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
