/* SPDX-License-Identifier: GPL-2.0-only */
/* How much may be in flight, and how much of it is in the network. */
#include "fixture.h"

TEST(bdp_is_bw_times_min_rtt_times_gain_rounded_up)
{
	FIXTURE;

	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 256), 100);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW + 1, 256), 101);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 512), 200);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 1u << 30, 256), 819200); /* 64 packets in a us */
}

TEST(bdp_without_rtt_is_the_initial_window)
{
	FIXTURE;

	f->b.min_rtt_us = BBR_RTT_NONE;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 256), 10);
}

TEST(window_holds_three_bursts)
{
	FIXTURE;

	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 5), 6);
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 7), 7);
	f->p.tso_budget[0] = 4;
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 5), 8);
}

/*
 * The code first checks whether a window is so large that no burst can matter. Three bursts of 64
 * KB are 196.6 packets.
 */
TEST(window_holds_three_bursts_of_any_length)
{
	FIXTURE;

	f->sk.pacing_rate = 1u << 30; /* bursts of 65 packets */
	assert_int_equal(bbr_tso_segs_goal(&f->b, &f->sk), 65);
	for (u32 cwnd = 1; cwnd < 300; cwnd++)
		assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, cwnd), max_u32(cwnd, 195));
	f->sk.mss = 100000; /* no burst holds one packet */
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 5), 6);
	f->sk.min_tso_segs = 255;
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 300), 765);
}

TEST(window_is_four_at_least)
{
	FIXTURE;

	f->p.tso_budget[0] = 0;
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 1), 4);
}

TEST(up_has_two_more)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 5), 8);
	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 102);
	f->b.mode = BBR_STARTUP;
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 5), 6);
}

TEST(target_is_the_bdp_or_the_window)
{
	FIXTURE;

	f->sk.cwnd = 120;
	assert_int_equal(bbr_target_inflight(&f->b, &f->sk), 100);
	f->sk.cwnd = 90;
	assert_int_equal(bbr_target_inflight(&f->b, &f->sk), 90);
	f->b.bw_lo = BW / 2;
	assert_int_equal(bbr_target_inflight(&f->b, &f->sk), 50);
}

TEST(what_waits_in_fq_is_not_in_the_network)
{
	FIXTURE;

	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 50), 40);
	f->b.raising = 1;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 50), 42);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache - 1;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 50), 52);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 12800000;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 50), 0);
}

/* 20 bits of a counter are enough to identify it if it is near another one. */
TEST(mark_of_app_limited_is_kept_in_20_bits)
{
	FIXTURE;

	assert_int_equal(bbr_app_limited_until(&f->b), 0);
	bbr_set_app_limited_until(&f->b, &f->sk, 1100);
	assert_int_equal(bbr_app_limited_until(&f->b), 1100);
	f->b.next_round_delivered = 0x12345678;
	f->b.app_limited_mark = 0;
	assert_int_equal(bbr_app_limited_until(&f->b), 0);
	bbr_set_app_limited_until(&f->b, &f->sk, 0x12345678 + 0x7ffff);
	assert_int_equal(bbr_app_limited_until(&f->b), 0x12345678 + 0x7ffff);
	bbr_set_app_limited_until(&f->b, &f->sk, 0x12345678 - 0x80000);
	assert_int_equal(bbr_app_limited_until(&f->b), 0x12345678 - 0x80000);
	f->b.next_round_delivered = 0xfffffff0;
	bbr_set_app_limited_until(&f->b, &f->sk, 16);
	assert_int_equal(bbr_app_limited_until(&f->b), 16);
	bbr_set_app_limited_until(&f->b, &f->sk,
				  0x100000); /* its low bits are 0, which means none */
	assert_int_equal(f->b.app_limited_mark, 1);
	bbr_set_app_limited_until(&f->b, &f->sk, 0);
	assert_int_equal(bbr_app_limited_until(&f->b), 0);
}

/* What is sent between two marks is not app-limited, and nothing is before the first one. */
TEST(gap_between_two_marks_is_kept)
{
	FIXTURE;

	f->sk.delivered = 1000;
	bbr_set_app_limited_until(&f->b, &f->sk, 1100);
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 999));
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 1000 - 0x10000000));
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 1000));

	f->sk.delivered = 1100; /* the mark still holds: no gap */
	bbr_set_app_limited_until(&f->b, &f->sk, 1150);
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 999));
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 1000));
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 1150));

	f->sk.delivered = 1200;
	bbr_set_app_limited_until(&f->b, &f->sk, 1250);
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 1150));
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 1151));
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 1199));
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 1200));

	f->sk.delivered = 1300; /* taking the mark away leaves the gap */
	bbr_set_app_limited_until(&f->b, &f->sk, 0);
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 1199));
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 1200));
}

TEST(counters_of_marks_wrap)
{
	FIXTURE;

	f->b.next_round_delivered = f->sk.delivered = 0u - 10;
	bbr_set_app_limited_until(&f->b, &f->sk, 10);
	f->sk.delivered = 30;
	bbr_set_app_limited_until(&f->b, &f->sk, 60);
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 0u - 5));
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 10));
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 11));
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 30));
}

/* Without a second part of the state only the mark of PROBE_RTT is told apart. */
TEST(without_memory_a_mark_counts_from_low_inflight_on)
{
	FIXTURE;

	f->sk.more = NULL;
	f->sk.delivered = 1000;
	bbr_set_app_limited_until(&f->b, &f->sk, 1100);
	assert_int_equal(bbr_app_limited_until(&f->b), 1100);
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 999));
	f->b.mode = BBR_PROBE_RTT;
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 999));
	f->b.probe_rtt_done_stamp = 1;
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 999));
}

TEST(marks_of_the_shell_are_kept)
{
	FIXTURE;

	f->b.profile = 0xa5;
	f->b.watched = true;
	bbr_start(&f->b, &f->sk);
	bbr_acked(&f->b, &f->sk, &f->rs, &f->ack);
	assert_int_equal(f->b.profile, 0xa5);
	assert_true(f->b.watched);
	f->b.watched = false;
	assert_false(f->b.watched);
}

TEST(counts_have_24_bits)
{
	(void)state;
	assert_int_equal(bbr_count(0xfffffe), 0xfffffe);
	assert_int_equal(bbr_count(0x1000000), BBR_COUNT_NONE);
}

TEST(bw_is_the_larger_of_two_probes_or_the_bound)
{
	FIXTURE;

	f->b.bw_hi[0] = 7;
	f->b.bw_hi[1] = 9;
	assert_int_equal(bbr_bw(&f->b), 9);
	f->b.bw_hi[0] = 11;
	assert_int_equal(bbr_max_bw(&f->b), 11);
	f->b.bw_lo = 8;
	assert_int_equal(bbr_bw(&f->b), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(bdp_is_bw_times_min_rtt_times_gain_rounded_up),
		T(bdp_without_rtt_is_the_initial_window),
		T(window_holds_three_bursts),
		T(window_holds_three_bursts_of_any_length),
		T(window_is_four_at_least),
		T(up_has_two_more),
		T(target_is_the_bdp_or_the_window),
		T(what_waits_in_fq_is_not_in_the_network),
		T(mark_of_app_limited_is_kept_in_20_bits),
		T(gap_between_two_marks_is_kept),
		T(counters_of_marks_wrap),
		T(without_memory_a_mark_counts_from_low_inflight_on),
		T(marks_of_the_shell_are_kept),
		T(counts_have_24_bits),
		T(bw_is_the_larger_of_two_probes_or_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
