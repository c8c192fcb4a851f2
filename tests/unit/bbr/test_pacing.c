/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast to send, and in which bursts. */
#include "fixture.h"

TEST(pacing_rate_is_bw_times_mss_times_gain_less_one_percent)
{
	FIXTURE;

	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 7734375);
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 320), 9667968); /* 9667968.75 */
	f->sk.mss = 2000;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 15468750);
}

/* 4351 >> 8 is 16, and 16 x 990000 >> 24 is 0; had the gain's shift come last, it would be 1. */
TEST(pacing_rate_rounds_after_the_gain)
{
	FIXTURE;

	f->sk.mss = 1;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, 4351, 1), 0);
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, 17, 256), 1);
}

/* 2^28 x 9000 x 739 needs 51 bits before it is shifted, and 63 with the margin's factor. */
TEST(pacing_rate_is_of_64_bits)
{
	FIXTURE;

	f->sk.mss = 9000;
	/* 16 x 9000 x 739 / 256 x 990000 */
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, 1u << 28, 739), 411530625000);
}

TEST(pacing_margin_is_taken_off_the_rate)
{
	FIXTURE;

	f->p.pacing_margin[0] = 0;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 7812500);
	f->p.pacing_margin[0] = 50;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 3906250);
}

TEST(pacing_rate_is_capped_at_the_sockets_maximum)
{
	FIXTURE;

	f->sk.max_pacing_rate = 7734374;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 7734374);
	f->sk.max_pacing_rate = 7734376;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 7734375);
}

TEST(first_rate_is_cwnd_per_srtt_times_high_gain)
{
	FIXTURE;

	f->b.has_seen_rtt = 0;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 22326965);
	assert_int_equal(f->b.has_seen_rtt, 1);
}

TEST(first_rate_is_written_even_if_lower)
{
	FIXTURE;

	f->sk.pacing_rate = 1ull << 40;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 22326965);
}

/* srtt is kept times 8. Below 8 it is less than a microsecond, and counts as one. */
TEST(first_rate_takes_an_rtt_of_at_least_one_microsecond)
{
	FIXTURE;

	f->sk.cwnd = 10;
	f->sk.srtt_us = 7;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 28578515625); /* 10 x 1000 x 739 / 256 x 990000 */
	f->sk.srtt_us = 15;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 28578515625);
	f->sk.srtt_us = 16;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 14289257812);
}

/* 10 packets a millisecond: 10 x 2^24 / 1000 = 167772. */
TEST(first_rate_takes_one_millisecond_for_an_unknown_rtt)
{
	FIXTURE;

	f->b.has_seen_rtt = 0;
	f->sk.srtt_us = 0;
	f->sk.cwnd = 10;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 28578488);
	assert_int_equal(f->b.has_seen_rtt, 0);
}

TEST(init_rtt_is_what_an_unknown_rtt_counts_as)
{
	FIXTURE;

	f->sk.srtt_us = 0;
	f->sk.cwnd = 10;
	f->p.init_rtt[0] = 2000;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 14289244);
}

TEST(high_gain_scales_the_first_rate)
{
	FIXTURE;

	f->p.high_gain[0] = 768;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 23203125);
}

TEST(first_rate_is_capped_as_well)
{
	FIXTURE;

	f->sk.max_pacing_rate = 12345;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 12345);
}

/* 300 packets a microsecond do not fit into 32 bits of bandwidth: 44 are left, as in mainline. */
TEST(first_rate_truncates_bw_to_32_bits)
{
	FIXTURE;

	f->sk.cwnd = 300;
	f->sk.srtt_us = 8;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 125745468750); /* 44 x 1000 x 739 / 256 x 990000 */
}

TEST(rate_only_grows_before_the_pipe_is_full)
{
	FIXTURE;

	f->sk.pacing_rate = RATE + 1;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE + 1);
	f->sk.pacing_rate = RATE - 1;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE);
}

TEST(rate_falls_once_the_pipe_is_full)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->sk.pacing_rate = RATE + 1;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE);
}

TEST(rate_starts_anew_with_the_first_rtt_sample)
{
	FIXTURE;

	f->b.has_seen_rtt = 0;
	f->sk.pacing_rate = 1ull << 40; /* from the assumed RTT of 1 ms */
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, 22326965);
	assert_int_equal(f->b.has_seen_rtt, 1);
}

/* A measured rate still replaces it on the same ACK, if it is higher. */
TEST(rate_of_the_first_rtt_sample_yields_to_a_higher_one)
{
	FIXTURE;

	f->b.has_seen_rtt = 0;
	f->sk.pacing_rate = 1ull << 40;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 768);
	assert_int_equal(f->sk.pacing_rate, 23203125);
}

TEST(rate_starts_anew_only_once)
{
	FIXTURE;

	f->sk.pacing_rate = RATE + 5;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE + 5);
}

TEST(rate_does_not_start_anew_without_an_rtt_sample)
{
	FIXTURE;

	f->b.has_seen_rtt = 0;
	f->sk.srtt_us = 0;
	f->sk.pacing_rate = RATE + 5;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE + 5);
	assert_int_equal(f->b.has_seen_rtt, 0);
}

TEST(min_tso_segs_is_one_below_1200_kbit_and_two_from_there)
{
	FIXTURE;

	f->sk.pacing_rate = 149999;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 1);
	f->sk.pacing_rate = 150000;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 2);
}

TEST(min_tso_rate_is_where_bursts_begin)
{
	FIXTURE;

	f->p.min_tso_rate[0] = 8000000;
	f->sk.pacing_rate = 999999;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 1);
	f->sk.pacing_rate = 1000000;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 2);
	f->p.min_tso_rate[0] = 0;
	f->sk.pacing_rate = 0;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 2);
}

TEST(param_min_tso_segs_is_the_least_burst)
{
	FIXTURE;

	f->p.min_tso_segs[0] = 7;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 7);
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 7);
	f->sk.pacing_rate = 149999;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 1);
}

TEST(tso_goal_is_the_rate_shifted_by_mss)
{
	FIXTURE;

	f->sk.pacing_rate = 10240000; /* >> 10 is 10000 */
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 10);
	f->sk.pacing_shift = 11;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 5);
	f->sk.mss = 1001;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 4);
}

TEST(tso_goal_is_at_least_min_tso_segs)
{
	FIXTURE;

	f->sk.pacing_rate = 2999 << 10;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 2);
	f->sk.pacing_rate = 3000 << 10;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 3);
	f->sk.pacing_rate = 150000;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 2);
	f->sk.pacing_rate = 149999;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 1);
}

TEST(tso_goal_is_at_most_127_segments)
{
	FIXTURE;

	f->sk.mss = 100;
	f->sk.pacing_rate = 12600 << 10;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 126);
	f->sk.pacing_rate = 12700 << 10;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 127);
	f->sk.pacing_rate = 12800 << 10;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 127);
}

/* 65535 - 320 = 65215 = 5 x 13043; one more would be 8 x 8152. */
TEST(tso_goal_counts_bursts_of_64_kilobytes_less_the_headers)
{
	FIXTURE;

	f->sk.pacing_rate = 1ull << 40;
	f->sk.mss = 13043;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 5);
	f->sk.mss = 8152;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 7);
	f->sk.pacing_rate = 65216 << 10; /* one more than the cap */
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 7);
	f->sk.pacing_rate = 65215 << 10; /* the cap itself */
	f->sk.mss = 13043;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 5);
}

/* Shifted, the rate is 2^33 + 3000. Cut to 32 bits too early, it would leave three segments. */
TEST(tso_goal_is_capped_before_it_is_cut_to_32_bits)
{
	FIXTURE;

	f->sk.pacing_rate = (1ull << 43) + (3000 << 10);
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 65);
}

TEST(tso_segs_max_caps_the_goal)
{
	FIXTURE;

	f->sk.pacing_rate = 10240000;
	f->p.tso_segs_max[0] = 5;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 5);
	f->p.min_tso_segs[0] = 7; /* the cap is stronger than the floor */
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 5);
}

TEST(tso_goal_without_an_mss_is_min_tso_segs)
{
	FIXTURE;

	f->sk.mss = 0;
	assert_int_equal(bbr_tso_segs_goal(&f->sk), 2);
}

#define BEHIND(f) (f)->b.behind
#define GAIN_TO_PACE(f) bbr_gain_to_pace(&(f)->b, &(f)->sk, BW)
#define RAISE_GAIN(f) (f)->b.pacing_gain = 320
#define CRUISE(f) fixture_full_pipe(f, BBR_PROBE_BW)

#include "../short_of_cpu.h"

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHORT_OF_CPU_TESTS,
		T(pacing_rate_is_bw_times_mss_times_gain_less_one_percent),
		T(pacing_rate_rounds_after_the_gain),
		T(pacing_rate_is_of_64_bits),
		T(pacing_margin_is_taken_off_the_rate),
		T(pacing_rate_is_capped_at_the_sockets_maximum),
		T(first_rate_is_cwnd_per_srtt_times_high_gain),
		T(first_rate_is_written_even_if_lower),
		T(first_rate_takes_an_rtt_of_at_least_one_microsecond),
		T(first_rate_takes_one_millisecond_for_an_unknown_rtt),
		T(init_rtt_is_what_an_unknown_rtt_counts_as),
		T(high_gain_scales_the_first_rate),
		T(first_rate_is_capped_as_well),
		T(first_rate_truncates_bw_to_32_bits),
		T(rate_only_grows_before_the_pipe_is_full),
		T(rate_falls_once_the_pipe_is_full),
		T(rate_starts_anew_with_the_first_rtt_sample),
		T(rate_of_the_first_rtt_sample_yields_to_a_higher_one),
		T(rate_starts_anew_only_once),
		T(rate_does_not_start_anew_without_an_rtt_sample),
		T(min_tso_segs_is_one_below_1200_kbit_and_two_from_there),
		T(min_tso_rate_is_where_bursts_begin),
		T(param_min_tso_segs_is_the_least_burst),
		T(tso_goal_is_the_rate_shifted_by_mss),
		T(tso_goal_is_at_least_min_tso_segs),
		T(tso_goal_is_at_most_127_segments),
		T(tso_goal_counts_bursts_of_64_kilobytes_less_the_headers),
		T(tso_goal_is_capped_before_it_is_cut_to_32_bits),
		T(tso_segs_max_caps_the_goal),
		T(tso_goal_without_an_mss_is_min_tso_segs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
