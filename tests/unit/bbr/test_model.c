/* SPDX-License-Identifier: GPL-2.0-only */
/* Rounds and the bandwidth filter. */
#include "fixture.h"

TEST(a_round_ends_when_prior_delivered_reaches_the_mark)
{
	FIXTURE;

	f->b.packet_conservation = 1;
	f->rs.prior_delivered = 949;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_start, 0);
	assert_int_equal(f->b.round_count, 20);
	assert_int_equal(f->b.next_round_delivered, 950);
	assert_int_equal(f->b.packet_conservation, 1);

	f->rs.prior_delivered = 950;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_start, 1);
	assert_int_equal(f->b.round_count, 21);
	assert_int_equal(f->b.next_round_delivered, 1000);
}

TEST(packets_are_conserved_for_one_round)
{
	FIXTURE;

	f->b.packet_conservation = 1;
	fixture_start_round(f);
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.packet_conservation, 0);
}

TEST(rounds_survive_the_wrap_of_delivered)
{
	FIXTURE;

	f->b.next_round_delivered = 5;
	f->rs.prior_delivered = 0xfffffff0;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_start, 0);

	f->b.next_round_delivered = 0xfffffff0;
	f->rs.prior_delivered = 5;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_start, 1);
}

TEST(round_start_is_of_this_ack_only)
{
	FIXTURE;

	f->b.round_start = 1;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_start, 0);
	f->b.round_start = 1;
	f->rs.delivered = -1;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_start, 0);
}

static void assert_ignored(struct fixture *f)
{
	struct bbr before = f->b;

	fixture_start_round(f);
	f->rs.losses = 1; /* the policer's sampling would begin */
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_memory_equal(&f->b, &before, sizeof(before));
}

TEST(a_sample_of_negative_delivered_is_ignored)
{
	FIXTURE;

	f->rs.delivered = -1;
	assert_ignored(f);
}

TEST(a_sample_without_an_interval_is_ignored)
{
	FIXTURE;

	f->rs.interval_us = 0;
	assert_ignored(f);
	f->rs.interval_us = -1;
	assert_ignored(f);
}

TEST(a_sample_of_nothing_delivered_is_valid)
{
	FIXTURE;

	f->rs.delivered = 0;
	f->rs.interval_us = 1;
	fixture_start_round(f);
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_start, 1);
}

TEST(bw_of_a_sample_is_delivered_by_interval)
{
	FIXTURE;

	assert_int_equal(bbr_sample_bw(&f->rs), 131072);
	f->rs.delivered = 3;
	f->rs.interval_us = 7;
	assert_int_equal(bbr_sample_bw(&f->rs), 7190235); /* 50331648 / 7 = 7190235.43 */
	f->rs.delivered = 1000;
	f->rs.interval_us = 1;
	assert_int_equal(bbr_sample_bw(&f->rs), 16777216000); /* 64 bits */
}

TEST(interval_of_a_sample_is_cut_to_32_bits)
{
	FIXTURE;

	f->rs.interval_us = (1ll << 32) + 1280;
	assert_int_equal(bbr_sample_bw(&f->rs), 131072);
	f->rs.interval_us = 1ll << 32; /* mainline would divide by 0 */
	assert_int_equal(bbr_sample_bw(&f->rs), 0);
}

TEST(a_higher_sample_is_the_maximum)
{
	FIXTURE;

	f->rs.delivered = 11;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), 144179); /* 11 x 2^24 / 1280 */
}

TEST(an_app_limited_sample_below_the_maximum_is_ignored)
{
	FIXTURE;

	f->b.round_count = 31; /* the filter's samples are of round 20 */
	f->rs.is_app_limited = true;
	f->rs.delivered = 9;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), BW);
	assert_int_equal(f->b.bw.s[2].t, 20);
}

TEST(an_app_limited_sample_of_at_least_the_maximum_counts)
{
	FIXTURE;

	f->b.round_count = 25;
	f->rs.is_app_limited = true;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), BW);
	assert_int_equal(f->b.bw.s[0].t, 25);
	f->rs.delivered = 11;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), 144179);
}

TEST(app_limited_samples_are_compared_with_max_bw_not_with_the_policed_rate)
{
	FIXTURE;

	f->b.round_count = 31;
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 4;
	f->rs.is_app_limited = true;
	f->rs.delivered = 9;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), BW);
}

TEST(a_sample_that_is_not_app_limited_always_counts)
{
	FIXTURE;

	f->b.round_count = 31;
	f->rs.delivered = 5;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), BW / 2);
}

/* 300 packets a microsecond are compared in 64 bits, but 32 bits keep only 44, as in mainline. */
TEST(a_sample_is_compared_in_64_bits_and_kept_in_32)
{
	FIXTURE;

	fixture_set_max_bw(f, 100u << 24);
	f->b.round_count = 31;
	f->rs.is_app_limited = true;
	f->rs.delivered = 300;
	f->rs.interval_us = 1;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), 44u << 24);
}

TEST(bandwidth_is_kept_for_ten_rounds)
{
	FIXTURE;

	f->rs.delivered = 5;
	for (int round = 21; round <= 30; round++) {
		fixture_start_round(f);
		bbr_take_sample(&f->b, &f->sk, &f->rs);
		assert_int_equal(f->b.round_count, round);
		assert_int_equal(bbr_max_bw(&f->b), BW);
	}
	fixture_start_round(f);
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), BW / 2);
}

TEST(bw_win_is_the_length_of_the_window)
{
	FIXTURE;

	f->p.bw_win[0] = 2;
	f->rs.delivered = 5;
	f->b.round_count = 22;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), BW);
	f->b.round_count = 23;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_max_bw(&f->b), BW / 2);
}

TEST(a_sample_belongs_to_the_round_that_it_starts)
{
	FIXTURE;

	fixture_start_round(f);
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.bw.s[0].t, 21);
}

TEST(the_policer_sees_the_round_that_this_ack_starts)
{
	FIXTURE;

	f->b.lt_is_sampling = 1;
	f->b.lt_rtt_cnt = 1;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_rtt_cnt, 1);
	fixture_start_round(f);
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_rtt_cnt, 2);
}

TEST(the_policer_sees_the_losses_of_this_ack)
{
	FIXTURE;

	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_is_sampling, 0);
	f->rs.losses = 1;
	bbr_take_sample(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_is_sampling, 1);
}

TEST(bw_is_the_policed_rate_only_while_it_is_used)
{
	FIXTURE;

	f->b.lt_bw = 77;
	assert_int_equal(bbr_bw(&f->b), BW);
	f->b.lt_use_bw = 1;
	assert_int_equal(bbr_bw(&f->b), 77);
	assert_int_equal(bbr_max_bw(&f->b), BW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_round_ends_when_prior_delivered_reaches_the_mark),
		T(packets_are_conserved_for_one_round),
		T(rounds_survive_the_wrap_of_delivered),
		T(round_start_is_of_this_ack_only),
		T(a_sample_of_negative_delivered_is_ignored),
		T(a_sample_without_an_interval_is_ignored),
		T(a_sample_of_nothing_delivered_is_valid),
		T(bw_of_a_sample_is_delivered_by_interval),
		T(interval_of_a_sample_is_cut_to_32_bits),
		T(a_higher_sample_is_the_maximum),
		T(an_app_limited_sample_below_the_maximum_is_ignored),
		T(an_app_limited_sample_of_at_least_the_maximum_counts),
		T(a_sample_that_is_not_app_limited_always_counts),
		T(a_sample_is_compared_in_64_bits_and_kept_in_32),
		T(bandwidth_is_kept_for_ten_rounds),
		T(bw_win_is_the_length_of_the_window),
		T(a_sample_belongs_to_the_round_that_it_starts),
		T(the_policer_sees_the_round_that_this_ack_starts),
		T(the_policer_sees_the_losses_of_this_ack),
		T(bw_is_the_policed_rate_only_while_it_is_used),
		T(app_limited_samples_are_compared_with_max_bw_not_with_the_policed_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
