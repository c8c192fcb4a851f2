/* SPDX-License-Identifier: GPL-2.0-only */
/* The search for a token-bucket policer, and the use of its rate. */
#include "fixture.h"

/*
 * An interval of four rounds that may end on this ACK: `delivered` packets were delivered and
 * `lost` were lost in `ms` milliseconds. 125 in 16 ms are BW.
 */
static void interval(struct fixture *f, u32 delivered, u32 lost, u32 ms)
{
	f->b.lt_is_sampling = 1;
	f->b.lt_rtt_cnt = 4;
	f->b.lt_last_delivered = f->sk.delivered - delivered;
	f->b.lt_last_lost = f->sk.lost - lost;
	f->b.lt_last_stamp = NOW_US / 1000 - ms;
	f->rs.losses = 1;
}

static void sample(struct fixture *f)
{
	f->b.steps = 0;
	bbr_lt_bw_sampling(&f->b, &f->sk, f->rs.losses, f->rs.is_app_limited);
}

static void assert_interval_begins(struct fixture *f)
{
	assert_int_equal(f->b.lt_last_stamp, NOW_US / 1000);
	assert_int_equal(f->b.lt_last_delivered, 1000);
	assert_int_equal(f->b.lt_last_lost, f->sk.lost);
	assert_int_equal(f->b.lt_rtt_cnt, 0);
}

static void assert_reset(struct fixture *f)
{
	assert_int_equal(f->b.lt_bw, 0);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.lt_is_sampling, 0);
	assert_interval_begins(f);
}

/* The interval goes on: nothing was concluded. */
static void assert_waits(struct fixture *f)
{
	struct bbr before;

	f->b.steps = 0;
	before = f->b;
	sample(f);
	assert_memory_equal(&f->b, &before, sizeof(before));
}

TEST(sampling_starts_at_the_first_loss)
{
	FIXTURE;

	f->sk.lost = 33;
	f->b.lt_rtt_cnt = 9;
	f->b.round_start = 1;
	assert_waits(f);
	f->b.round_start = 0;
	f->rs.losses = 1;
	sample(f);
	assert_int_equal(f->b.lt_is_sampling, 1);
	assert_interval_begins(f);
}

TEST(the_round_of_the_first_loss_counts)
{
	FIXTURE;

	f->rs.losses = 1;
	f->b.round_start = 1;
	sample(f);
	assert_int_equal(f->b.lt_rtt_cnt, 1);
}

TEST(an_interval_that_goes_on_is_not_begun_again)
{
	FIXTURE;

	interval(f, 125, 30, 16);
	f->b.lt_rtt_cnt = 2;
	assert_waits(f);
}

TEST(app_limited_resets_sampling)
{
	FIXTURE;

	interval(f, 125, 100, 16);
	f->b.lt_bw = BW;
	f->b.round_start = 1;
	f->rs.is_app_limited = true;
	sample(f);
	assert_reset(f);
}

TEST(app_limited_resets_sampling_on_its_first_ack)
{
	FIXTURE;

	f->rs.losses = 1;
	f->rs.is_app_limited = true;
	sample(f);
	assert_reset(f);
}

TEST(rounds_are_counted_at_their_start)
{
	FIXTURE;

	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 1;
	sample(f);
	assert_int_equal(f->b.lt_rtt_cnt, 1);
	f->b.round_start = 1;
	sample(f);
	assert_int_equal(f->b.lt_rtt_cnt, 2);
}

TEST(an_interval_has_at_least_4_rounds)
{
	FIXTURE;

	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 3;
	assert_waits(f);
	f->b.lt_rtt_cnt = 4;
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);
}

TEST(an_interval_may_end_on_the_ack_that_starts_its_4th_round)
{
	FIXTURE;

	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 3;
	f->b.round_start = 1;
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);
}

TEST(lt_intvl_min_rtts_is_the_shortest_interval)
{
	FIXTURE;

	f->p.lt_intvl_min_rtts[0] = 7;
	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 6;
	assert_waits(f);
	f->b.lt_rtt_cnt = 7;
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);
}

TEST(an_interval_has_at_most_16_rounds)
{
	FIXTURE;

	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 16;
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);

	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 17;
	sample(f);
	assert_reset(f);
}

/* Too long is too long, with or without a loss. */
TEST(an_interval_of_17_rounds_is_void_without_a_loss)
{
	FIXTURE;

	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 16;
	f->rs.losses = 0;
	assert_waits(f);
	f->b.round_start = 1;
	sample(f);
	assert_reset(f);
}

TEST(lt_intvl_max_rtts_is_the_longest_interval)
{
	FIXTURE;

	f->p.lt_intvl_max_rtts[0] = 126; /* the most that 7 bits can exceed */
	interval(f, 125, 100, 16);
	f->b.lt_rtt_cnt = 126;
	f->rs.losses = 0;
	assert_waits(f);
	f->b.round_start = 1;
	sample(f);
	assert_reset(f);
}

TEST(an_interval_ends_on_a_loss)
{
	FIXTURE;

	interval(f, 125, 100, 16);
	f->rs.losses = 0;
	assert_waits(f);
}

TEST(an_interval_is_lossy_from_50_of_256)
{
	FIXTURE;

	f->sk.lost = 1000;
	interval(f, 256, 49, 16);
	assert_waits(f);
	interval(f, 256, 50, 16);
	sample(f);
	assert_int_equal(f->b.lt_bw, 268435); /* 256 x 2^24 / 16000 */
}

TEST(lt_loss_thresh_is_the_share_of_losses)
{
	FIXTURE;

	f->p.lt_loss_thresh[0] = 128;
	interval(f, 256, 127, 16);
	assert_waits(f);
	interval(f, 256, 128, 16);
	sample(f);
	assert_int_equal(f->b.lt_bw, 268435);
}

TEST(an_interval_without_delivery_goes_on)
{
	FIXTURE;

	interval(f, 0, 100, 16);
	f->b.lt_bw = 5;
	assert_waits(f);
}

TEST(counters_of_an_interval_may_wrap)
{
	FIXTURE;

	f->sk.delivered = 25;
	f->sk.lost = 10;
	interval(f, 125, 30, 16);
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);
	assert_int_equal(f->b.lt_last_delivered, 25);
	assert_int_equal(f->b.lt_last_lost, 10);
}

/* 2^24 losses shifted by 8 are 0 in 32 bits, as in mainline. */
TEST(the_share_of_losses_is_reckoned_in_32_bits)
{
	FIXTURE;

	interval(f, 1, 1 << 24, 16);
	assert_waits(f);
	interval(f, 1, (1 << 24) + 1, 16);
	sample(f);
	assert_int_equal(f->b.lt_bw, 1048); /* 2^24 / 16000 */
}

TEST(an_interval_lasts_at_least_1_ms)
{
	FIXTURE;

	interval(f, 125, 100, 0);
	assert_waits(f);
	interval(f, 125, 100, 0u - 5); /* a clock that went back */
	assert_waits(f);
	interval(f, 125, 100, 1);
	sample(f);
	assert_int_equal(f->b.lt_bw, 2097152); /* 125 x 2^24 / 1000 */
}

TEST(lt_intvl_min_time_is_the_least_duration)
{
	FIXTURE;

	f->p.lt_intvl_min_time[0] = 10;
	interval(f, 125, 100, 9);
	assert_waits(f);
	interval(f, 125, 100, 10);
	sample(f);
	assert_int_equal(f->b.lt_bw, 209715);
}

/* A minimum duration below its range: 0, or a value that is negative in the comparison. */
TEST(an_interval_of_no_duration_has_no_rate)
{
	FIXTURE;

	interval(f, 125, 100, 0);
	f->b.lt_bw = BW;
	f->p.lt_intvl_min_time[0] = 0;
	sample(f);
	assert_int_equal(f->b.lt_bw, 0);
	assert_interval_begins(f);

	interval(f, 125, 100, 0);
	f->b.lt_bw = BW;
	f->p.lt_intvl_min_time[0] = 0x80000000;
	sample(f);
	assert_int_equal(f->b.lt_bw, 0);
	assert_interval_begins(f);
}

/* 2^32 - 1 us are 4294967 ms, which is already too much. */
TEST(an_interval_of_71_minutes_is_void)
{
	FIXTURE;

	f->sk.lost = 1 << 20;
	interval(f, 1 << 20, 1 << 20, 4294966);
	sample(f);
	assert_int_equal(f->b.lt_bw, 4096); /* 2^44 / 4294966000 */

	interval(f, 1 << 20, 1 << 20, 4294967);
	sample(f);
	assert_reset(f);
}

TEST(the_stamp_of_an_interval_has_32_bits)
{
	FIXTURE;

	f->rs.losses = 1;
	f->sk.delivered_mstamp = ((1ull << 32) + 5) * 1000 + 999;
	sample(f);
	assert_int_equal(f->b.lt_last_stamp, 5);

	f->b.lt_rtt_cnt = 4;
	f->b.lt_last_delivered -= 125;
	f->b.lt_last_lost -= 100;
	f->b.lt_last_stamp = 0u - 11; /* 16 ms before 5 */
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);
}

TEST(the_first_lossy_interval_is_noted)
{
	FIXTURE;

	f->sk.lost = 100;
	f->b.pacing_gain = 320;
	interval(f, 125, 100, 16);
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.lt_is_sampling, 1);
	assert_int_equal(f->b.pacing_gain, 320);
	assert_interval_begins(f);
}

TEST(two_alike_intervals_are_a_policer_and_their_mean_is_used)
{
	FIXTURE;

	f->b.pacing_gain = 320;
	interval(f, 125, 100, 16);
	f->b.lt_bw = BW + 1001;
	sample(f);
	assert_int_equal(f->b.lt_bw, BW + 500);
	assert_int_equal(f->b.lt_use_bw, 1);
	assert_int_equal(f->b.pacing_gain, 256);
	assert_int_equal(f->b.lt_rtt_cnt, 0);
	assert_int_equal(f->b.lt_is_sampling, 1);
	assert_int_equal(f->b.lt_last_delivered, 875); /* no interval begins */
	assert_int_equal(f->b.steps, 0);
}

TEST(two_unlike_intervals_are_none)
{
	FIXTURE;

	f->sk.lost = 100;
	f->b.pacing_gain = 320;
	interval(f, 125, 100, 16);
	f->b.lt_bw = BW * 2;
	sample(f);
	assert_int_equal(f->b.lt_bw, BW);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.pacing_gain, 320);
	assert_interval_begins(f);
}

static bool consistent(struct fixture *f, u32 old, u32 bw)
{
	f->b.lt_bw = old;
	f->b.lt_use_bw = 0;
	bbr_lt_bw_interval_done(&f->b, &f->sk, bw);
	return f->b.lt_use_bw;
}

TEST(rates_within_an_eighth_of_the_older_are_alike)
{
	FIXTURE;

	assert_true(consistent(f, BW, BW));
	assert_true(consistent(f, BW, BW + 16384));
	assert_false(consistent(f, BW, BW + 16385));
	assert_true(consistent(f, BW, BW - 16384));
	assert_false(consistent(f, BW, BW - 16385));
}

/* Less the margin, 8 units of 1060 bytes are 500.4 bytes a second; of 1062 bytes, 501.3. */
TEST(rates_within_4_kbit_are_alike)
{
	FIXTURE;

	f->sk.mss = 1060;
	assert_true(consistent(f, 16, 24));
	assert_true(consistent(f, 24, 16));
	f->sk.mss = 1062;
	assert_false(consistent(f, 16, 24));
	assert_false(consistent(f, 24, 16));
}

TEST(lt_bw_ratio_is_the_share_that_is_alike)
{
	FIXTURE;

	f->p.lt_bw_ratio[0] = 64;
	assert_true(consistent(f, BW, BW + 32768));
	assert_false(consistent(f, BW, BW + 32769));
}

TEST(lt_bw_diff_is_the_difference_that_is_alike)
{
	FIXTURE;

	f->p.lt_bw_ratio[0] = 0;
	f->p.lt_bw_diff[0] = 7734375 * 8; /* BW is RATE */
	assert_true(consistent(f, BW, 2 * BW));
	f->p.lt_bw_diff[0]--;
	assert_false(consistent(f, BW, 2 * BW));
}

/* Mainline takes abs() of a signed difference, in which 0x90000008 and 9 are 0x70000001 apart. */
TEST(the_difference_of_rates_is_signed)
{
	FIXTURE;

	assert_true(consistent(f, 0x90000008, 9));
	assert_int_equal(f->b.lt_bw, 0x48000008);
}

/* 32 x 2^27 is 0 in 32 bits, and so is 256 x 2^24, as in mainline. */
TEST(the_share_that_is_alike_is_reckoned_in_32_bits)
{
	FIXTURE;

	assert_false(consistent(f, 1 << 27, (1 << 27) + 9));
	assert_true(consistent(f, 1 << 26, (1 << 26) + (1 << 24)));
	assert_false(consistent(f, 1 << 26, (1 << 26) + (1 << 24) - 1));
}

TEST(the_mean_is_of_32_bits)
{
	FIXTURE;

	assert_true(consistent(f, 0xf0000000, 0xf0000000));
	assert_int_equal(f->b.lt_bw, 0x70000000);
}

/* A rate of 0 is no rate to compare with, even though 4 kbit/s would be alike. */
TEST(nothing_is_alike_to_no_interval)
{
	FIXTURE;

	assert_false(consistent(f, 0, 1));
	assert_int_equal(f->b.lt_bw, 1);
}

TEST(lt_gain_is_the_gain_when_a_policer_is_found)
{
	FIXTURE;

	f->p.lt_gain[0] = 200;
	assert_true(consistent(f, BW, BW));
	assert_int_equal(f->b.pacing_gain, 200);
}

static void policed(struct fixture *f, u32 rounds)
{
	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.lt_bw = BW / 2;
	f->b.lt_use_bw = 1;
	f->b.lt_is_sampling = 1;
	f->b.lt_rtt_cnt = rounds;
	f->b.round_start = 1;
}

TEST(the_policed_rate_is_used_for_48_rounds)
{
	FIXTURE;

	policed(f, 46);
	sample(f);
	assert_int_equal(f->b.lt_rtt_cnt, 47);
	assert_int_equal(f->b.lt_use_bw, 1);
	assert_int_equal(f->b.lt_bw, BW / 2);
	assert_int_equal(f->b.steps, 0);
	sample(f);
	assert_reset(f);
}

TEST(after_the_policed_rate_the_cycle_restarts_at_a_random_phase)
{
	FIXTURE;

	policed(f, 47);
	f->b.cycle_idx = 1;
	f->b.cycle_mstamp = 0;
	f->sk.random = 0xffffffff;
	sample(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.cycle_idx, 2);
	assert_int_equal(f->b.cycle_mstamp, NOW_US);
	assert_int_equal(f->b.steps, STEP(LT_BW_EXPIRED));
}

TEST(rounds_with_the_policed_rate_count_at_their_start)
{
	FIXTURE;

	policed(f, 47);
	f->b.round_start = 0;
	assert_waits(f);
}

TEST(rounds_with_the_policed_rate_count_in_probe_bw_only)
{
	static const u8 modes[] = { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_RTT };
	FIXTURE;

	for (int i = 0; i < 3; i++) {
		policed(f, 47);
		f->b.mode = modes[i];
		assert_waits(f);
	}
}

TEST(nothing_is_sampled_while_the_policed_rate_is_used)
{
	FIXTURE;

	policed(f, 10);
	f->b.round_start = 0;
	f->rs.losses = 5;
	f->rs.is_app_limited = true;
	assert_waits(f);
}

TEST(lt_bw_max_rtts_is_how_long_the_policed_rate_is_used)
{
	FIXTURE;

	f->p.lt_bw_max_rtts[0] = 127; /* the most that 7 bits hold */
	policed(f, 125);
	sample(f);
	assert_int_equal(f->b.lt_use_bw, 1);
	sample(f);
	assert_int_equal(f->b.lt_use_bw, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(sampling_starts_at_the_first_loss),
		T(the_round_of_the_first_loss_counts),
		T(an_interval_that_goes_on_is_not_begun_again),
		T(app_limited_resets_sampling),
		T(app_limited_resets_sampling_on_its_first_ack),
		T(rounds_are_counted_at_their_start),
		T(an_interval_has_at_least_4_rounds),
		T(an_interval_may_end_on_the_ack_that_starts_its_4th_round),
		T(lt_intvl_min_rtts_is_the_shortest_interval),
		T(an_interval_has_at_most_16_rounds),
		T(an_interval_of_17_rounds_is_void_without_a_loss),
		T(lt_intvl_max_rtts_is_the_longest_interval),
		T(an_interval_ends_on_a_loss),
		T(an_interval_is_lossy_from_50_of_256),
		T(lt_loss_thresh_is_the_share_of_losses),
		T(an_interval_without_delivery_goes_on),
		T(counters_of_an_interval_may_wrap),
		T(the_share_of_losses_is_reckoned_in_32_bits),
		T(an_interval_lasts_at_least_1_ms),
		T(lt_intvl_min_time_is_the_least_duration),
		T(an_interval_of_no_duration_has_no_rate),
		T(an_interval_of_71_minutes_is_void),
		T(the_stamp_of_an_interval_has_32_bits),
		T(the_first_lossy_interval_is_noted),
		T(two_alike_intervals_are_a_policer_and_their_mean_is_used),
		T(two_unlike_intervals_are_none),
		T(rates_within_an_eighth_of_the_older_are_alike),
		T(rates_within_4_kbit_are_alike),
		T(lt_bw_ratio_is_the_share_that_is_alike),
		T(lt_bw_diff_is_the_difference_that_is_alike),
		T(the_difference_of_rates_is_signed),
		T(the_share_that_is_alike_is_reckoned_in_32_bits),
		T(the_mean_is_of_32_bits),
		T(nothing_is_alike_to_no_interval),
		T(lt_gain_is_the_gain_when_a_policer_is_found),
		T(the_policed_rate_is_used_for_48_rounds),
		T(after_the_policed_rate_the_cycle_restarts_at_a_random_phase),
		T(rounds_with_the_policed_rate_count_at_their_start),
		T(rounds_with_the_policed_rate_count_in_probe_bw_only),
		T(nothing_is_sampled_while_the_policed_rate_is_used),
		T(lt_bw_max_rtts_is_how_long_the_policed_rate_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
