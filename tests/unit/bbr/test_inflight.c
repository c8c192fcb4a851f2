/* SPDX-License-Identifier: GPL-2.0-only */
/* How much may be in flight, and how much of it is in the network. */
#include "fixture.h"

TEST(bdp_is_bw_times_min_rtt_times_gain)
{
	FIXTURE;

	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 256), 100);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 320), 125);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 2 * BW, 256), 200);
	f->b.min_rtt_us = 128;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 256), 1);
}

TEST(bdp_is_rounded_up)
{
	FIXTURE;

	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW + 1, 256), 101);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 257), 101); /* 100.39 */
	f->b.min_rtt_us = 1;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 0, 256), 0);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 1, 256), 1);
}

/* The gain's shift comes first and drops its fraction: 255/256 of the smallest unit is nothing. */
TEST(bdp_applies_the_gain_before_it_rounds_up)
{
	FIXTURE;

	f->b.min_rtt_us = 1;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 1, 255), 0);
}

/* 100 packets a microsecond for a second: the product needs 50 bits. */
TEST(bdp_is_reckoned_in_64_bits)
{
	FIXTURE;

	f->b.min_rtt_us = 1000000;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 100u << 24, 256), 100000000);
}

TEST(bdp_is_ten_packets_while_min_rtt_is_unknown)
{
	FIXTURE;

	f->b.min_rtt_us = 0xffffffff;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 739), 10);
	f->b.min_rtt_us = 0xfffffffe; /* known: 33554432 packets */
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 256), 33554432);
}

TEST(init_cwnd_is_the_bdp_while_min_rtt_is_unknown)
{
	FIXTURE;

	f->b.min_rtt_us = 0xffffffff;
	f->p.init_cwnd[0] = 32;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 256), 32);
}

TEST(target_adds_three_tso_bursts)
{
	FIXTURE;

	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 106);
	f->sk.pacing_rate = 10240000; /* bursts of 10 */
	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 130);
	f->sk.pacing_rate = 1000; /* bursts of 1: 103 */
	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 104);
}

TEST(tso_budget_is_the_count_of_bursts)
{
	FIXTURE;

	f->p.tso_budget[0] = 0;
	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 100);
	f->p.tso_budget[0] = 16;
	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 132);
}

TEST(target_is_rounded_up_to_even)
{
	FIXTURE;

	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 100), 106);
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 101), 108);
	assert_int_equal(bbr_quantization_budget(&f->b, &f->sk, 102), 108);
}

TEST(target_adds_two_in_the_probing_phase)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_BW;
	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 108);
}

TEST(target_adds_nothing_in_other_phases)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_BW;
	for (int i = 1; i < 8; i++) {
		f->b.cycle_idx = i;
		assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 106);
	}
}

TEST(target_adds_nothing_in_other_modes)
{
	static const u8 modes[] = { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_RTT };
	FIXTURE;

	for (int i = 0; i < 3; i++) {
		f->b.mode = modes[i];
		assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 106);
	}
}

/* It is added after the rounding, so an odd value makes an odd target. */
TEST(probe_bw_extra_is_what_the_probing_phase_adds)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_BW;
	f->p.probe_bw_extra[0] = 5;
	assert_int_equal(bbr_inflight(&f->b, &f->sk, BW, 256), 111);
}

TEST(all_of_inflight_is_in_the_network_without_a_departure_time)
{
	FIXTURE;

	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 60);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache - 5000000; /* in the past */
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 60);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 60);
}

/* At 1/128 packet a microsecond, 1280 us deliver 10; a nanosecond less makes 1279 us, 9.99. */
TEST(the_network_delivers_until_the_departure_time)
{
	FIXTURE;

	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 50);
	f->sk.tcp_wstamp_ns--;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 51);
}

TEST(packets_in_the_network_are_not_below_zero)
{
	FIXTURE;

	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 11), 1);
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 10), 0);
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 9), 0);
}

TEST(a_growing_inflight_counts_the_burst_that_leaves)
{
	FIXTURE;

	f->b.pacing_gain = 257;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 62);
	f->b.pacing_gain = 256;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 60);
	f->b.pacing_gain = 255;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 60);
}

TEST(the_burst_that_leaves_counts_before_the_comparison_with_zero)
{
	FIXTURE;

	f->b.pacing_gain = 320;
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 9), 1);
}

TEST(the_network_delivers_at_the_policed_rate)
{
	FIXTURE;

	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 2;
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280000;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 55);
}

/* One packet a microsecond for 2^32 + 5 us: mainline keeps the count in 32 bits. */
TEST(packets_delivered_until_the_departure_time_are_cut_to_32_bits)
{
	FIXTURE;

	fixture_set_max_bw(f, 1 << 24);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 4294967301ull * 1000;
	assert_int_equal(bbr_packets_in_net_at_edt(&f->b, &f->sk, 60), 55);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(bdp_is_bw_times_min_rtt_times_gain),
		T(bdp_is_rounded_up),
		T(bdp_applies_the_gain_before_it_rounds_up),
		T(bdp_is_reckoned_in_64_bits),
		T(bdp_is_ten_packets_while_min_rtt_is_unknown),
		T(init_cwnd_is_the_bdp_while_min_rtt_is_unknown),
		T(target_adds_three_tso_bursts),
		T(tso_budget_is_the_count_of_bursts),
		T(target_is_rounded_up_to_even),
		T(target_adds_two_in_the_probing_phase),
		T(target_adds_nothing_in_other_phases),
		T(target_adds_nothing_in_other_modes),
		T(probe_bw_extra_is_what_the_probing_phase_adds),
		T(all_of_inflight_is_in_the_network_without_a_departure_time),
		T(the_network_delivers_until_the_departure_time),
		T(packets_in_the_network_are_not_below_zero),
		T(a_growing_inflight_counts_the_burst_that_leaves),
		T(the_burst_that_leaves_counts_before_the_comparison_with_zero),
		T(the_network_delivers_at_the_policed_rate),
		T(packets_delivered_until_the_departure_time_are_cut_to_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
