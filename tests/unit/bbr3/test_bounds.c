/* SPDX-License-Identifier: GPL-2.0-only */
/* The bounds around the model. */
#include "fixture.h"

TEST(probing_is_startup_refill_and_up)
{
	FIXTURE;

	for (int phase = BBR_UP; phase < BBR_PHASES; phase++) {
		fixture_phase(f, phase);
		assert_int_equal(bbr_is_probing_bw(&f->b, &f->sk),
				 phase == BBR_UP || phase == BBR_REFILL);
	}
	f->b.cycle_idx = BBR_UP;
	f->b.mode = BBR_DRAIN;
	assert_false(bbr_is_probing_bw(&f->b, &f->sk));
	f->b.mode = BBR_PROBE_RTT;
	assert_false(bbr_is_probing_bw(&f->b, &f->sk));
	f->b.mode = BBR_STARTUP;
	f->b.cycle_idx = BBR_DOWN;
	assert_true(bbr_is_probing_bw(&f->b, &f->sk));
}

TEST(loss_cuts_by_three_tenths)
{
	FIXTURE;

	f->b.loss_in_round = 1;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, BW * 180 / 256);
	assert_int_equal(f->b.inflight_lo, 70); /* of cwnd: 70.3 */
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, BW * 180 / 256 * 180 / 256);
	assert_int_equal(f->b.inflight_lo, 49); /* of 70 */
}

TEST(loss_does_not_cut_below_what_was_delivered)
{
	FIXTURE;

	f->b.loss_in_round = 1;
	f->b.bw_latest = BW - 1;
	f->b.inflight_latest = 95;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, BW - 1);
	assert_int_equal(f->b.inflight_lo, 95);
}

TEST(beta_0_cuts_nothing)
{
	FIXTURE;

	f->p.beta[0] = 0;
	assert_int_equal(bbr_cut(&f->sk, 0xfffffffe), 0xfffffffe);
	f->p.beta[0] = 256;
	assert_int_equal(bbr_cut(&f->sk, 0xfffffffe), 0);
}

TEST(no_signal_cuts_nothing)
{
	FIXTURE;

	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
}

TEST(bw_lo_is_not_0)
{
	FIXTURE;

	f->b.loss_in_round = 1;
	f->b.bw_lo = 1;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, 1);
}

TEST(probing_is_not_slowed_down)
{
	FIXTURE;

	f->b.loss_in_round = 1;
	fixture_phase(f, BBR_UP);
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
}

TEST(marks_cut_inflight_only)
{
	FIXTURE;

	fixture_ecn(f);
	f->more.ecn_in_round = 1;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
	assert_int_equal(f->b.inflight_lo, 83); /* 214 / 256 of cwnd */
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, 69); /* of 83 */
}

TEST(marks_can_be_ignored)
{
	FIXTURE;

	fixture_ecn(f);
	f->p.ecn_factor[0] = 0;
	f->more.ecn_in_round = 1;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
	f->p.ecn_factor[0] = 85;
	f->sk.more = NULL;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
}

/* Both are cuts of the same inflight: the lower one counts. */
TEST(marks_and_losses_do_not_add_up)
{
	FIXTURE;

	fixture_ecn(f);
	f->more.ecn_in_round = 1;
	f->b.loss_in_round = 1;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, 70);
	f->b.inflight_latest = 90;
	f->b.inflight_lo = 100;
	bbr_adapt_lower_bounds(&f->b, &f->sk);
	assert_int_equal(f->b.inflight_lo, 83);
}

TEST(lower_bounds_are_forgotten)
{
	FIXTURE;

	f->b.bw_lo = f->b.inflight_lo = 5;
	bbr_reset_lower_bounds(&f->b);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
	assert_int_equal(f->b.inflight_lo, BBR_COUNT_NONE);
}

TEST(signals_have_their_effect_once_a_loss_round)
{
	FIXTURE;

	f->rs.losses = 1;
	f->more.ecn_in_round = 1;
	f->s.bw = 2 * BW;
	bbr_update_congestion_signals(&f->b, &f->sk, &f->s);
	assert_true(f->b.loss_in_round);
	assert_true(f->more.ecn_in_round);
	assert_int_equal(f->b.bw_hi[1], 2 * BW);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
	f->rs.losses = 0;
	f->b.loss_round_start = 1;
	bbr_update_congestion_signals(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.bw_lo, 2 * BW * 180 / 256);
	assert_false(f->b.loss_in_round);
	assert_false(f->more.ecn_in_round);
}

/* The loss of an ACK cuts the bandwidth that the ACK itself shows. */
TEST(maximum_is_known_before_it_is_cut)
{
	FIXTURE;

	f->rs.losses = 1;
	f->b.loss_round_start = 1;
	f->s.bw = 2 * BW;
	bbr_update_congestion_signals(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.bw_lo, 2 * BW * 180 / 256);
}

TEST(signals_need_a_sample)
{
	FIXTURE;

	f->rs.acked_sacked = 0;
	f->rs.losses = 1;
	bbr_update_congestion_signals(&f->b, &f->sk, &f->s);
	assert_false(f->b.loss_in_round);
	f->rs.acked_sacked = 1;
	f->rs.losses = -1;
	f->sk.more = NULL;
	f->b.loss_round_start = 1;
	bbr_update_congestion_signals(&f->b, &f->sk, &f->s);
	assert_false(f->b.loss_in_round);
	assert_int_equal(f->b.bw_lo, BBR_BW_NONE);
}

TEST(two_percent_may_be_lost)
{
	FIXTURE;

	f->ack.flight.tx_in_flight = 102; /* 5 / 256 of it: 1.99 */
	f->ack.flight.lost = 1;
	assert_false(bbr_is_loss_too_high(&f->sk, &f->ack.flight));
	f->ack.flight.lost = 2;
	assert_true(bbr_is_loss_too_high(&f->sk, &f->ack.flight));
	f->ack.flight.tx_in_flight = 103;
	assert_false(bbr_is_loss_too_high(&f->sk, &f->ack.flight));
	f->ack.flight.lost = -1;
	assert_false(bbr_is_loss_too_high(&f->sk, &f->ack.flight));
	f->ack.flight.lost = 2;
	f->ack.flight.tx_in_flight = 0;
	assert_false(bbr_is_loss_too_high(&f->sk, &f->ack.flight));
	f->ack.flight.tx_in_flight = 0x40000000; /* 5 / 256 of it: 0x1400000 */
	f->ack.flight.lost = 0x500000;
	assert_false(bbr_is_loss_too_high(&f->sk, &f->ack.flight));
	f->ack.flight.tx_in_flight = 50;
	f->ack.flight.lost = 0;
	assert_false(bbr_is_loss_too_high(&f->sk, &f->ack.flight));
}

TEST(headroom_is_15_percent)
{
	FIXTURE;

	assert_int_equal(bbr_inflight_with_headroom(&f->b, &f->sk), 171); /* less 29 */
	f->b.inflight_hi = 6;
	assert_int_equal(bbr_inflight_with_headroom(&f->b, &f->sk), 5); /* at least 1 */
	f->b.inflight_hi = 5;
	assert_int_equal(bbr_inflight_with_headroom(&f->b, &f->sk), 4);
	f->b.inflight_hi = 1;
	assert_int_equal(bbr_inflight_with_headroom(&f->b, &f->sk), 4);
	f->b.inflight_hi = BBR_COUNT_NONE;
	assert_int_equal(bbr_inflight_with_headroom(&f->b, &f->sk), BBR_COUNT_NONE);
}

TEST(window_is_bound_by_the_phase)
{
	FIXTURE;

	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 171);
	for (int phase = BBR_UP; phase < BBR_PHASES; phase++) {
		fixture_phase(f, phase);
		assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300),
				 phase == BBR_CRUISE ? 171 : 200);
	}
	f->b.mode = BBR_PROBE_RTT;
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 171);
	f->b.mode = BBR_DRAIN;
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 300);
	f->b.mode = BBR_STARTUP;
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 300);
}

TEST(window_is_bound_by_inflight_lo)
{
	FIXTURE;

	f->b.inflight_lo = 50;
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 50);
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 49), 49);
	f->b.mode = BBR_STARTUP;
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 50);
	f->b.inflight_lo = 1;
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 4);
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 3), 3);
}

/* Nothing bounds a window of more than 24 bits either. */
TEST(window_without_bounds_is_as_it_is)
{
	FIXTURE;

	f->b.initialized = 1;
	f->b.inflight_hi = BBR_COUNT_NONE;
	f->b.inflight_lo = BBR_COUNT_NONE;
	for (u32 mode = BBR_STARTUP; mode <= BBR_PROBE_RTT; mode++) {
		f->b.mode = mode;
		assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, BBR_COUNT_NONE + 1),
				 BBR_COUNT_NONE + 1);
	}
}

TEST(what_was_never_begun_has_no_bounds)
{
	FIXTURE;

	f->b = (struct bbr){};
	assert_int_equal(bbr_bound_cwnd(&f->b, &f->sk, 300), 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(probing_is_startup_refill_and_up),
		T(loss_cuts_by_three_tenths),
		T(loss_does_not_cut_below_what_was_delivered),
		T(beta_0_cuts_nothing),
		T(no_signal_cuts_nothing),
		T(bw_lo_is_not_0),
		T(probing_is_not_slowed_down),
		T(marks_cut_inflight_only),
		T(marks_can_be_ignored),
		T(marks_and_losses_do_not_add_up),
		T(lower_bounds_are_forgotten),
		T(signals_have_their_effect_once_a_loss_round),
		T(maximum_is_known_before_it_is_cut),
		T(signals_need_a_sample),
		T(two_percent_may_be_lost),
		T(headroom_is_15_percent),
		T(window_is_bound_by_the_phase),
		T(window_is_bound_by_inflight_lo),
		T(window_without_bounds_is_as_it_is),
		T(what_was_never_begun_has_no_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
