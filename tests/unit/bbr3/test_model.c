/* SPDX-License-Identifier: GPL-2.0-only */
/* Rounds, the maximum of bandwidth, what was delivered in the latest round, and ACK aggregation. */
#include "fixture.h"

TEST(round_starts_with_a_packet_sent_in_it)
{
	FIXTURE;

	f->rs.prior_delivered = 949;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	assert_false(f->b.round_start);
	assert_int_equal(f->b.rounds_since_probe, 3);
	f->rs.prior_delivered = 950;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	assert_true(f->b.round_start);
	assert_int_equal(f->b.next_round_delivered, 1000);
	assert_int_equal(f->b.rounds_since_probe, 4);
	assert_int_equal(f->more.rounds, 0);
}

/* The two counts together count all rounds. */
TEST(rounds_that_one_count_cannot_hold_are_in_the_other)
{
	FIXTURE;

	fixture_start_round(f);
	f->b.rounds_since_probe = 254;
	for (u32 rounds = 255; rounds < 260; rounds++) {
		bbr_update_round(&f->b, &f->sk, &f->rs);
		f->b.next_round_delivered = f->rs.prior_delivered;
		assert_int_equal(f->b.rounds_since_probe, 255);
		assert_int_equal(f->more.rounds, rounds - 255);
	}
	f->sk.more = NULL;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->more.rounds, 4);
}

TEST(round_needs_a_sample)
{
	FIXTURE;

	fixture_start_round(f);
	f->rs.interval_us = 0;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	assert_false(f->b.round_start);
	f->rs.interval_us = 1;
	f->sk.more = NULL;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	assert_true(f->b.round_start);
}

TEST(rounds_since_the_probe_saturate)
{
	FIXTURE;

	fixture_start_round(f);
	f->b.rounds_since_probe = 255;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.rounds_since_probe, 255);
}

TEST(sample_is_rounded_up)
{
	FIXTURE;

	assert_int_equal(bbr_sample_bw(&f->sk, &f->rs), BW);
	f->rs.interval_us = 1281;
	assert_int_equal(bbr_sample_bw(&f->sk, &f->rs), 130970); /* 130969.68, rounded up */
	f->rs.delivered = 3;
	f->rs.interval_us = 4;
	assert_int_equal(bbr_sample_bw(&f->sk, &f->rs), 12582912);
}

TEST(sample_needs_time_and_data)
{
	FIXTURE;

	f->rs.interval_us = 0;
	assert_int_equal(bbr_sample_bw(&f->sk, &f->rs), 0);
	f->rs.interval_us = -1;
	f->rs.delivered = 1000;
	assert_int_equal(bbr_sample_bw(&f->sk, &f->rs), 0);
	f->rs.interval_us = 1;
	f->rs.delivered = -1;
	assert_int_equal(bbr_sample_bw(&f->sk, &f->rs), 0);
	f->rs.delivered = 0;
	assert_int_equal(bbr_sample_bw(&f->sk, &f->rs), 0);
}

TEST(what_is_valid)
{
	FIXTURE;

	assert_true(bbr_is_valid_sample(&f->sk, &f->rs));
	f->rs.acked_sacked = 0;
	assert_false(bbr_is_valid_sample(&f->sk, &f->rs));
	f->rs.acked_sacked = 1;
	f->rs.interval_us = 0;
	assert_false(bbr_is_valid_sample(&f->sk, &f->rs));
}

TEST(newer_maximum_grows)
{
	FIXTURE;

	f->b.bw_hi[1] = BW / 2;
	f->s.bw = BW - 1;
	bbr_update_max_bw(&f->b, &f->s);
	assert_int_equal(f->b.bw_hi[1], BW - 1);
	f->s.bw = BW - 2;
	bbr_update_max_bw(&f->b, &f->s);
	assert_int_equal(f->b.bw_hi[1], BW - 1);
	assert_int_equal(f->b.bw_hi[0], BW);
}

TEST(app_limited_sample_counts_if_it_is_the_maximum)
{
	FIXTURE;

	f->b.bw_hi[1] = BW / 2;
	f->ack.flight.is_app_limited = true;
	f->s.bw = BW - 1;
	bbr_update_max_bw(&f->b, &f->s);
	assert_int_equal(f->b.bw_hi[1], BW / 2);
	f->s.bw = BW;
	bbr_update_max_bw(&f->b, &f->s);
	assert_int_equal(f->b.bw_hi[1], BW);
}

TEST(maximum_of_a_probe_lasts_for_the_next)
{
	FIXTURE;

	f->b.bw_hi[1] = 5;
	bbr_advance_max_bw(&f->b);
	assert_int_equal(f->b.bw_hi[0], 5);
	assert_int_equal(f->b.bw_hi[1], 0);
	bbr_advance_max_bw(&f->b);
	assert_int_equal(f->b.bw_hi[0], 5);
}

TEST(latest_delivery_is_a_maximum)
{
	FIXTURE;

	f->rs.prior_delivered = 949;
	bbr_update_latest_delivery(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.bw_latest, BW);
	assert_int_equal(f->b.inflight_latest, 10);
	assert_false(f->b.loss_round_start);
	f->s.bw = BW - 1;
	f->rs.delivered = 9;
	bbr_update_latest_delivery(&f->b, &f->sk, &f->s);
	assert_int_equal(f->b.bw_latest, BW);
	assert_int_equal(f->b.inflight_latest, 10);
}

TEST(loss_round_starts_with_a_packet_sent_in_it)
{
	FIXTURE;

	f->rs.prior_delivered = 950;
	bbr_update_latest_delivery(&f->b, &f->sk, &f->s);
	assert_true(f->b.loss_round_start);
	assert_int_equal(f->b.loss_round_delivered, 1000);
}

TEST(ack_of_nothing_starts_no_loss_round)
{
	FIXTURE;

	f->rs.prior_delivered = 950;
	f->rs.acked_sacked = 0;
	bbr_update_latest_delivery(&f->b, &f->sk, &f->s);
	assert_false(f->b.loss_round_start);
	assert_int_equal(f->b.bw_latest, 0);
}

TEST(loss_round_forgets_the_one_before)
{
	FIXTURE;

	f->b.bw_latest = 3 * BW;
	f->b.inflight_latest = 77;
	bbr_advance_latest_delivery(&f->b, &f->s);
	assert_int_equal(f->b.inflight_latest, 77);
	f->b.loss_round_start = 1;
	f->ack.acks_tlp = true;
	bbr_advance_latest_delivery(&f->b, &f->s);
	assert_int_equal(f->b.inflight_latest, 77);
	f->ack.acks_tlp = false;
	bbr_advance_latest_delivery(&f->b, &f->s);
	assert_int_equal(f->b.bw_latest, BW);
	assert_int_equal(f->b.inflight_latest, 10);
}

TEST(signals_are_reset)
{
	FIXTURE;

	f->b.loss_in_round = f->b.loss_in_cycle = 1;
	f->b.bw_latest = f->b.inflight_latest = 5;
	f->more.ecn_in_round = f->more.ecn_in_cycle = 1;
	bbr_reset_congestion_signals(&f->b, &f->sk);
	assert_int_equal(f->b.loss_in_round | f->b.loss_in_cycle | f->b.bw_latest, 0);
	assert_int_equal(f->b.inflight_latest, 0);
	assert_int_equal(f->more.ecn_in_round | f->more.ecn_in_cycle, 0);
	f->sk.more = NULL;
	f->b.loss_in_round = 1;
	bbr_reset_congestion_signals(&f->b, &f->sk);
	assert_false(f->b.loss_in_round);
}

TEST(search_for_the_plateau_begins_anew)
{
	FIXTURE;

	f->b.full_bw_cnt = 2;
	f->b.full_bw_now = 1;
	bbr_reset_full_bw(&f->b, 9);
	assert_int_equal(f->b.full_bw, 9);
	assert_int_equal(f->b.full_bw_cnt, 0);
	assert_false(f->b.full_bw_now);
}

/* 10 packets at once, where none were expected. */
TEST(aggregation_is_measured)
{
	FIXTURE;

	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->b.ack_epoch_acked, 10);
	assert_int_equal(f->b.extra_acked[0], 10);
}

TEST(aggregation_is_against_the_bw_in_use)
{
	FIXTURE;

	f->b.ack_epoch_acked = 20;
	f->b.ack_epoch_mstamp = NOW_US - 1280;
	f->b.bw_lo = BW / 2;
	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->b.extra_acked[0], 25);
}

TEST(aggregation_needs_a_sample)
{
	FIXTURE;

	f->rs.acked_sacked = 0;
	f->b.round_start = 1;
	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->b.ack_epoch_acked, 0);
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
}

TEST(slots_of_aggregation_last_five_rounds_or_one_in_startup)
{
	FIXTURE;

	f->b.round_start = 1;
	f->b.extra_acked_win_rtts = 3;
	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->b.extra_acked_win_rtts, 4);
	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
	f->b.full_bw_reached = 0;
	f->b.extra_acked[0] = 50;
	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
	assert_int_equal(f->b.extra_acked[1], 50);
	f->b.round_start = 0;
	f->b.extra_acked[1] = 60;
	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
	assert_int_equal(f->b.extra_acked[1], 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(round_starts_with_a_packet_sent_in_it),
		T(rounds_that_one_count_cannot_hold_are_in_the_other),
		T(round_needs_a_sample),
		T(rounds_since_the_probe_saturate),
		T(sample_is_rounded_up),
		T(sample_needs_time_and_data),
		T(what_is_valid),
		T(newer_maximum_grows),
		T(app_limited_sample_counts_if_it_is_the_maximum),
		T(maximum_of_a_probe_lasts_for_the_next),
		T(latest_delivery_is_a_maximum),
		T(loss_round_starts_with_a_packet_sent_in_it),
		T(ack_of_nothing_starts_no_loss_round),
		T(loss_round_forgets_the_one_before),
		T(signals_are_reset),
		T(search_for_the_plateau_begins_anew),
		T(aggregation_is_measured),
		T(aggregation_is_against_the_bw_in_use),
		T(aggregation_needs_a_sample),
		T(slots_of_aggregation_last_five_rounds_or_one_in_startup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
