/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter of ACK aggregation and what it adds to the window. */
#include "fixture.h"

/* An epoch of 1280 us, in which bw explains 10 packets; `acked` came before this ACK's 10. */
static void epoch(struct fixture *f, u32 acked)
{
	f->b.ack_epoch_mstamp = NOW_US - 1280;
	f->b.ack_epoch_acked = acked;
}

static void update(struct fixture *f)
{
	bbr_update_ack_aggregation(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
}

/* The same with an ACK that starts a round. */
static void update_in_new_round(struct fixture *f)
{
	f->b.next_round_delivered = f->rs.prior_delivered;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	update(f);
}

TEST(extra_acked_is_what_bw_does_not_explain)
{
	FIXTURE;

	epoch(f, 30);
	update(f);
	assert_int_equal(f->b.extra_acked[0], 30); /* 30 + 10 - 10 */
	assert_int_equal(f->b.ack_epoch_acked, 40);
	assert_int_equal(f->b.ack_epoch_mstamp, NOW_US - 1280);
}

TEST(an_epoch_ends_when_acks_are_not_ahead_of_bw)
{
	FIXTURE;

	epoch(f, 11);
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 21);
	assert_int_equal(f->b.extra_acked[0], 11);

	f->b.extra_acked[0] = 0;
	epoch(f, 10);
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 10);
	assert_int_equal(f->b.ack_epoch_mstamp, NOW_US);
	assert_int_equal(f->b.extra_acked[0], 10); /* nothing is expected of a new epoch */
}

TEST(what_is_expected_is_rounded_down)
{
	FIXTURE;

	epoch(f, 10);
	f->b.ack_epoch_mstamp++; /* 1279 us: 9.99 */
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 20);
	assert_int_equal(f->b.extra_acked[0], 11);
}

TEST(what_is_expected_is_of_the_policed_rate)
{
	FIXTURE;

	epoch(f, 10);
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 2; /* 5 */
	update(f);
	assert_int_equal(f->b.extra_acked[0], 15);
}

TEST(what_is_expected_is_reckoned_in_64_bits)
{
	FIXTURE;

	fixture_set_max_bw(f, 100u << 24);
	epoch(f, 30);
	f->b.ack_epoch_mstamp = NOW_US - (1 << 20); /* 104857600 packets */
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 10);
}

TEST(an_epoch_ends_at_2_to_the_20_packets)
{
	FIXTURE;

	epoch(f, 1048565);
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 1048575);
	assert_int_equal(f->b.ack_epoch_mstamp, NOW_US - 1280);
	epoch(f, 1048566);
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 10);
	assert_int_equal(f->b.ack_epoch_mstamp, NOW_US);
}

TEST(ack_epoch_max_ends_an_epoch)
{
	FIXTURE;

	f->p.ack_epoch_max[0] = 50;
	epoch(f, 39);
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 49);
	epoch(f, 40);
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 10);
}

/* The counter has 20 bits; a single ACK may cover more. */
TEST(the_count_of_an_epoch_saturates)
{
	FIXTURE;

	f->rs.acked_sacked = 1 << 21;
	update(f);
	assert_int_equal(f->b.ack_epoch_acked, 1048575);
	assert_int_equal(f->b.extra_acked[0], 100);
}

TEST(extra_acked_is_capped_at_cwnd)
{
	FIXTURE;

	epoch(f, 99);
	update(f);
	assert_int_equal(f->b.extra_acked[0], 99);
	epoch(f, 101);
	update(f);
	assert_int_equal(f->b.extra_acked[0], 100);
}

TEST(extra_acked_is_a_maximum)
{
	FIXTURE;

	f->b.extra_acked[0] = 31;
	epoch(f, 30);
	update(f);
	assert_int_equal(f->b.extra_acked[0], 31);
}

/* Mainline compares 32 bits and keeps 16. */
TEST(extra_acked_is_cut_to_16_bits)
{
	FIXTURE;

	f->sk.cwnd = 100000;
	f->b.extra_acked[0] = 65535;
	epoch(f, 70000);
	update(f);
	assert_int_equal(f->b.extra_acked[0], 4464);
}

TEST(the_current_slot_is_the_one_that_grows)
{
	FIXTURE;

	f->b.extra_acked[0] = 29;
	f->b.extra_acked[1] = 5;
	epoch(f, 30);
	update(f);
	assert_int_equal(f->b.extra_acked[0], 30);
	assert_int_equal(f->b.extra_acked[1], 5);
	f->b.extra_acked[0] = 31;
	epoch(f, 30);
	update(f);
	assert_int_equal(f->b.extra_acked[0], 31);
}

TEST(slots_rotate_every_5_rounds)
{
	FIXTURE;

	f->b.extra_acked[0] = 50;
	f->b.extra_acked[1] = 60;
	for (u32 i = 1; i < 5; i++) {
		epoch(f, 30);
		update_in_new_round(f);
		assert_int_equal(f->b.extra_acked_win_rtts, i);
		assert_int_equal(f->b.extra_acked[0], 50);
		assert_int_equal(f->b.extra_acked[1], 60);
	}
	epoch(f, 30);
	update_in_new_round(f);
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
	assert_int_equal(f->b.extra_acked[0], 30); /* emptied first, then this ACK's */
	assert_int_equal(f->b.extra_acked[1], 50);

	f->b.extra_acked_win_rtts = 4;
	epoch(f, 20);
	update_in_new_round(f);
	assert_int_equal(f->b.extra_acked[0], 20);
	assert_int_equal(f->b.extra_acked[1], 30);
}

TEST(a_slot_is_empty_when_its_turn_comes)
{
	FIXTURE;

	f->b.extra_acked[0] = 50;
	f->b.extra_acked[1] = 60;
	f->b.extra_acked_win_rtts = 4;
	bbr_rotate_extra_acked(&f->b, f->p.extra_acked_win[0]);
	assert_int_equal(f->b.extra_acked[0], 0);
	assert_int_equal(f->b.extra_acked[1], 50);
	f->b.extra_acked_win_rtts = 4;
	bbr_rotate_extra_acked(&f->b, f->p.extra_acked_win[0]);
	assert_int_equal(f->b.extra_acked[1], 0);
}

TEST(slots_rotate_at_the_start_of_a_round_only)
{
	FIXTURE;

	f->b.extra_acked_win_rtts = 4;
	epoch(f, 30);
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.extra_acked_win_rtts, 4);
}

TEST(extra_acked_win_is_the_life_of_a_slot)
{
	FIXTURE;

	f->p.extra_acked_win[0] = 10;
	f->b.extra_acked_win_rtts = 8;
	update_in_new_round(f);
	assert_int_equal(f->b.extra_acked_win_rtts, 9);
	update_in_new_round(f);
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
}

/* The age has 5 bits. It can be beyond a window that has just been shortened. */
TEST(the_age_of_a_slot_saturates)
{
	FIXTURE;

	f->p.extra_acked_win[0] = 31;
	f->b.extra_acked_win_rtts = 31;
	f->b.extra_acked[0] = 50;
	update_in_new_round(f);
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
	assert_int_equal(f->b.extra_acked[1], 50);
}

static void assert_ignored(struct fixture *f)
{
	struct bbr before;

	f->b.extra_acked_win_rtts = 4;
	epoch(f, 30);
	before = f->b;
	update(f);
	assert_memory_equal(&f->b, &before, sizeof(before));
	f->rs.prior_delivered = f->b.next_round_delivered;
	bbr_update_round(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.extra_acked_win_rtts, 4);
}

TEST(an_ack_of_nothing_is_ignored)
{
	FIXTURE;

	f->rs.acked_sacked = 0;
	assert_ignored(f);
}

static void assert_nothing_taken(struct fixture *f)
{
	struct bbr before;

	epoch(f, 30);
	before = f->b;
	assert_int_equal(bbr_take_sample(&f->b, &f->sk, &f->rs), bbr_bw(&before));
	assert_memory_equal(&f->b, &before, sizeof(before));
}

TEST(an_invalid_sample_is_ignored)
{
	FIXTURE;

	f->rs.delivered = -1;
	assert_nothing_taken(f);
	f->rs.delivered = 10;
	f->rs.interval_us = 0;
	assert_nothing_taken(f);
}

TEST(with_a_gain_of_0_nothing_is_added)
{
	FIXTURE;

	f->p.extra_acked_gain[0] = 0;
	f->b.full_bw_reached = 1;
	f->b.extra_acked[0] = 50;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 0);
}

TEST(the_larger_slot_is_added_to_cwnd)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.extra_acked[0] = 40;
	f->b.extra_acked[1] = 30;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 40);
	f->b.extra_acked[1] = 41;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 41);
}

TEST(nothing_is_added_before_the_pipe_is_full)
{
	FIXTURE;

	f->b.extra_acked[0] = 40;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 0);
}

/* 100 ms at 1/128 packet a microsecond: 781.25 */
TEST(at_most_100_ms_of_bw_are_added)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.extra_acked[0] = 781;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 781);
	f->b.extra_acked[0] = 782;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 781);
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 2;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 390);
}

TEST(the_cap_of_what_is_added_is_reckoned_in_64_bits)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.extra_acked[0] = 65535;
	fixture_set_max_bw(f, 128u << 24);
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 65535);
}

TEST(extra_acked_max_is_the_time_that_caps)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.extra_acked[0] = 900;
	f->p.extra_acked_max[0] = 12800;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 100);
	f->p.extra_acked_max[0] = 0;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 0);
}

TEST(extra_acked_gain_scales_what_is_added)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.extra_acked[1] = 41;
	f->p.extra_acked_gain[0] = 128;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 20);
	f->p.extra_acked_gain[0] = 512;
	assert_int_equal(bbr_ack_aggregation_cwnd(&f->b, &f->sk, bbr_bw(&f->b)), 82);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(extra_acked_is_what_bw_does_not_explain),
		T(an_epoch_ends_when_acks_are_not_ahead_of_bw),
		T(what_is_expected_is_rounded_down),
		T(what_is_expected_is_of_the_policed_rate),
		T(what_is_expected_is_reckoned_in_64_bits),
		T(an_epoch_ends_at_2_to_the_20_packets),
		T(ack_epoch_max_ends_an_epoch),
		T(the_count_of_an_epoch_saturates),
		T(extra_acked_is_capped_at_cwnd),
		T(extra_acked_is_a_maximum),
		T(extra_acked_is_cut_to_16_bits),
		T(the_current_slot_is_the_one_that_grows),
		T(slots_rotate_every_5_rounds),
		T(a_slot_is_empty_when_its_turn_comes),
		T(slots_rotate_at_the_start_of_a_round_only),
		T(extra_acked_win_is_the_life_of_a_slot),
		T(the_age_of_a_slot_saturates),
		T(an_ack_of_nothing_is_ignored),
		T(an_invalid_sample_is_ignored),
		T(with_a_gain_of_0_nothing_is_added),
		T(the_larger_slot_is_added_to_cwnd),
		T(nothing_is_added_before_the_pipe_is_full),
		T(at_most_100_ms_of_bw_are_added),
		T(the_cap_of_what_is_added_is_reckoned_in_64_bits),
		T(extra_acked_max_is_the_time_that_caps),
		T(extra_acked_gain_scales_what_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
