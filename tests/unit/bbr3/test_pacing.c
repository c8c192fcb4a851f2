/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast to send, and in which bursts. */
#include "fixture.h"

TEST(rate_is_bw_times_gain_less_one_percent)
{
	FIXTURE;

	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), RATE);
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 320), 9667968); /* 9667968.75 */
	f->p.pacing_margin[0] = 0;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 7812500);
}

TEST(no_rate_is_0)
{
	FIXTURE;

	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, 0, 256), 1);
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, 0, BBR_LEAST_PACING_GAIN), 1);
}

/* Zeros in the map of parameters give a gain of 0: the connection must go on. */
TEST(gain_of_no_parameter_paces_nothing)
{
	FIXTURE;

	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 0), f->sk.max_pacing_rate);
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 15), f->sk.max_pacing_rate);
	assert_true(bbr_bw_to_pacing_rate(&f->sk, BW, 16) < RATE / 15);
}

TEST(margin_of_no_parameter_paces_nothing)
{
	FIXTURE;

	f->p.pacing_margin[0] = 100;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), f->sk.max_pacing_rate);
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, 0, 256), 1);
}

TEST(rate_is_capped_at_the_sockets_maximum)
{
	FIXTURE;

	f->sk.max_pacing_rate = RATE - 1;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), RATE - 1);
	f->sk.max_pacing_rate = 0;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 0);
}

TEST(rate_is_capped_by_max_pacing_rate)
{
	FIXTURE;

	f->p.max_pacing_rate[0] = 8000; /* kbit/s: a million bytes */
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 1000000);
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 0), 1000000);
	f->p.max_pacing_rate[0] = 80000;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), RATE);
	f->sk.max_pacing_rate = 5;
	assert_int_equal(bbr_bw_to_pacing_rate(&f->sk, BW, 256), 5);
}

/* A bound that is newer than the rate holds before the pipe is full, too. */
TEST(new_bound_lowers_the_rate_at_once)
{
	FIXTURE;

	f->b.full_bw_reached = 0;
	f->sk.pacing_rate = RATE + 1;
	f->p.max_pacing_rate[0] = 8000;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	f->sk.pacing_rate = 999999;
	bbr_set_pacing_rate(&f->b, &f->sk, 1, 256);
	assert_int_equal(f->sk.pacing_rate, 999999);
}

TEST(first_rate_is_of_cwnd_and_srtt)
{
	FIXTURE;

	f->b.has_seen_rtt = 0;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	/* 100 packets in 12800 us is BW: x 1000 x 710 / 256 x 0.99 */
	assert_int_equal(f->sk.pacing_rate, 21450805);
	assert_true(f->b.has_seen_rtt);
}

/* 256 packets a microsecond are 2^32. */
TEST(first_rate_has_no_more_than_32_bits_of_bw)
{
	FIXTURE;

	f->sk.cwnd = 10240;
	f->sk.srtt_us = 40 << 3;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_true(f->sk.pacing_rate > 100000000000);
}

TEST(first_rate_without_rtt_is_of_1_ms)
{
	FIXTURE;

	f->b.has_seen_rtt = 0;
	f->sk.srtt_us = 0;
	bbr_init_pacing_rate_from_rtt(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 274570214);
	assert_false(f->b.has_seen_rtt);
}

TEST(rate_follows_bw_once_the_pipe_is_full)
{
	FIXTURE;

	f->sk.pacing_rate = RATE + 1;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE);
}

TEST(rate_only_grows_before)
{
	FIXTURE;

	f->b.full_bw_reached = 0;
	f->sk.pacing_rate = RATE + 1;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE + 1);
	f->sk.pacing_rate = RATE - 1;
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
	assert_int_equal(f->sk.pacing_rate, RATE);
}

TEST(rate_starts_anew_with_the_first_rtt)
{
	FIXTURE;

	f->b.full_bw_reached = 0;
	f->b.has_seen_rtt = 0;
	f->sk.srtt_us = 0;
	bbr_set_pacing_rate(&f->b, &f->sk, 1, 256);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	f->sk.srtt_us = MIN_RTT << 3;
	bbr_set_pacing_rate(&f->b, &f->sk, 1, 256);
	assert_int_equal(f->sk.pacing_rate, 21450805);
	f->sk.pacing_rate = 1000;
	bbr_set_pacing_rate(&f->b, &f->sk, 1, 256);
	assert_int_equal(f->sk.pacing_rate, 1000);
}

TEST(burst_is_what_the_rate_sends_in_a_millisecond)
{
	FIXTURE;

	f->sk.pacing_rate = 10240000;
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 10);
	f->sk.pacing_shift = 9;
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 20);
	f->sk.mss = 2000;
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 10);
}

TEST(burst_has_min_tso_segs)
{
	FIXTURE;

	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 2);
	f->sk.min_tso_segs = 5;
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 5);
}

TEST(burst_is_larger_on_a_short_path)
{
	FIXTURE;

	f->sk.pacing_rate = 0;
	f->b.min_rtt_us = 1024; /* two halvings */
	assert_int_equal(bbr_burst_of_rtt(&f->b, &f->sk), 16384);
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 16);
	f->b.min_rtt_us = 1023;
	assert_int_equal(bbr_burst_of_rtt(&f->b, &f->sk), 32768);
	f->b.min_rtt_us = 31 * 512;
	assert_int_equal(bbr_burst_of_rtt(&f->b, &f->sk), 0);
	f->b.min_rtt_us = 32 * 512;
	assert_int_equal(bbr_burst_of_rtt(&f->b, &f->sk), 0);
	f->b.min_rtt_us = 0;
	f->p.tso_rtt[0] = 0;
	assert_int_equal(bbr_burst_of_rtt(&f->b, &f->sk), 0);
}

TEST(both_make_the_burst)
{
	FIXTURE;

	f->sk.pacing_rate = 10240000;
	f->b.min_rtt_us = 1024;
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 26);
}

TEST(burst_fits_the_device)
{
	FIXTURE;

	f->sk.pacing_rate = 1u << 30;
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 65); /* 65536 - 321 */
	f->sk.mss = 1;
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 65215);
	assert_int_equal(bbr_tso_segs(&f->b, &f->sk, 20000), 19679);
}

#define BEHIND(f) (f)->more.behind
#define GAIN_TO_PACE(f) bbr_gain_to_pace(&(f)->b, &(f)->sk, BW, bbr_pacing_gain(&(f)->b, &(f)->sk))
#define RAISE_GAIN(f) (f)->b.cycle_idx = BBR_UP
#define CRUISE(f) (f)->b.cycle_idx = BBR_CRUISE

#include "../short_of_cpu.h"

TEST(without_a_second_part_no_sender_is_behind)
{
	FIXTURE;

	make_late(f);
	CRUISE(f);
	f->sk.more = NULL;
	bbr_min_tso_segs(&f->b, &f->sk);
	assert_false(f->more.behind);
	f->more.behind = 1;
	assert_int_equal(gain_with(f, 0), 256);
	assert_true(f->more.behind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHORT_OF_CPU_TESTS,
		T(without_a_second_part_no_sender_is_behind),
		T(rate_is_bw_times_gain_less_one_percent),
		T(no_rate_is_0),
		T(gain_of_no_parameter_paces_nothing),
		T(margin_of_no_parameter_paces_nothing),
		T(rate_is_capped_at_the_sockets_maximum),
		T(rate_is_capped_by_max_pacing_rate),
		T(new_bound_lowers_the_rate_at_once),
		T(first_rate_is_of_cwnd_and_srtt),
		T(first_rate_has_no_more_than_32_bits_of_bw),
		T(first_rate_without_rtt_is_of_1_ms),
		T(rate_follows_bw_once_the_pipe_is_full),
		T(rate_only_grows_before),
		T(rate_starts_anew_with_the_first_rtt),
		T(burst_is_what_the_rate_sends_in_a_millisecond),
		T(burst_has_min_tso_segs),
		T(burst_is_larger_on_a_short_path),
		T(both_make_the_burst),
		T(burst_fits_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
