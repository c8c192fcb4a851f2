/* SPDX-License-Identifier: GPL-2.0-only */
/* What a connection starts with, whatever the memory held before. */
#include "fixture.h"

/* Starts with a state of all ones, so that a missing reset shows. */
static void init_over_garbage(struct fixture *f)
{
	memset(&f->b, 0xff, sizeof(f->b));
	f->sk.ssthresh = 7;
	f->sk.lost = 33;
	bbr_init(&f->b, &f->sk);
}

TEST(init_forgets_the_prior_cwnd)
{
	FIXTURE;

	init_over_garbage(f);
	assert_int_equal(f->b.prior_cwnd, 0);
}

TEST(init_makes_ssthresh_infinite)
{
	FIXTURE;

	init_over_garbage(f);
	assert_int_equal(f->sk.ssthresh, 2147483647);
}

TEST(init_begins_the_first_round_at_delivered)
{
	FIXTURE;

	f->sk.delivered = 0x90000000; /* beyond 2^31, where a mark of 0 would be ahead of it */
	init_over_garbage(f);
	assert_int_equal(f->b.next_round_delivered, 0x90000000);
	assert_int_equal(f->b.round_count, 0);
	assert_int_equal(f->b.round_start, 0);
}

TEST(init_takes_the_previous_ca_state_for_open)
{
	FIXTURE;

	init_over_garbage(f);
	assert_int_equal(f->b.prev_ca_state, 0);
	assert_int_equal(f->b.packet_conservation, 0);
}

TEST(init_takes_min_rtt_of_the_stack_stamped_now)
{
	FIXTURE;

	f->sk.min_rtt_us = 4321;
	init_over_garbage(f);
	assert_int_equal(f->b.min_rtt_us, 4321);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
	assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	assert_int_equal(f->b.probe_rtt_round_done, 0);
}

TEST(init_keeps_min_rtt_unknown)
{
	FIXTURE;

	f->sk.min_rtt_us = 0xffffffff;
	init_over_garbage(f);
	assert_int_equal(f->b.min_rtt_us, 0xffffffff);
}

TEST(init_empties_the_bandwidth_filter)
{
	FIXTURE;

	init_over_garbage(f);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(f->b.bw.s[i].t, 0);
		assert_int_equal(f->b.bw.s[i].v, 0);
	}
}

/* 100 packets a 12800 us are BW: x 1000 x 739 >> 8 = 378368000; x 990000 >> 24 = 22326965. */
TEST(init_takes_the_pacing_rate_from_the_rtt)
{
	FIXTURE;

	init_over_garbage(f);
	assert_int_equal(f->sk.pacing_rate, 22326965);
	assert_int_equal(f->b.has_seen_rtt, 1);
}

TEST(init_has_seen_no_rtt_without_a_sample)
{
	FIXTURE;

	f->sk.srtt_us = 0;
	init_over_garbage(f);
	assert_int_equal(f->b.has_seen_rtt, 0);
}

TEST(init_searches_the_pipe_in_startup)
{
	FIXTURE;

	init_over_garbage(f);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	assert_int_equal(f->b.full_bw_reached, 0);
	assert_int_equal(f->b.full_bw, 0);
	assert_int_equal(f->b.full_bw_cnt, 0);
	assert_int_equal(f->b.idle_restart, 0);
	assert_int_equal(f->b.cycle_idx, 0);
	assert_int_equal(f->b.cycle_mstamp, 0);
}

TEST(init_is_no_transition)
{
	FIXTURE;

	init_over_garbage(f);
	assert_int_equal(f->b.steps, 0);
}

TEST(init_resets_the_policer)
{
	FIXTURE;

	init_over_garbage(f);
	assert_int_equal(f->b.lt_bw, 0);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.lt_is_sampling, 0);
	assert_int_equal(f->b.lt_rtt_cnt, 0);
	assert_int_equal(f->b.lt_last_stamp, NOW_US / 1000);
	assert_int_equal(f->b.lt_last_delivered, 1000);
	assert_int_equal(f->b.lt_last_lost, 33);
}

TEST(init_begins_the_ack_epoch_at_tcp_mstamp)
{
	FIXTURE;

	f->sk.tcp_mstamp = NOW_US + 77; /* other than delivered_mstamp */
	init_over_garbage(f);
	assert_int_equal(f->b.ack_epoch_mstamp, NOW_US + 77);
	assert_int_equal(f->b.ack_epoch_acked, 0);
	assert_int_equal(f->b.extra_acked_win_rtts, 0);
	assert_int_equal(f->b.extra_acked[0], 0);
	assert_int_equal(f->b.extra_acked[1], 0);
}

TEST(init_leaves_the_window_alone)
{
	FIXTURE;

	f->sk.app_limited = 5;
	init_over_garbage(f);
	assert_int_equal(f->sk.cwnd, 100);
	assert_int_equal(f->sk.app_limited, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(init_forgets_the_prior_cwnd),
		T(init_makes_ssthresh_infinite),
		T(init_begins_the_first_round_at_delivered),
		T(init_takes_the_previous_ca_state_for_open),
		T(init_takes_min_rtt_of_the_stack_stamped_now),
		T(init_keeps_min_rtt_unknown),
		T(init_empties_the_bandwidth_filter),
		T(init_takes_the_pacing_rate_from_the_rtt),
		T(init_has_seen_no_rtt_without_a_sample),
		T(init_searches_the_pipe_in_startup),
		T(init_is_no_transition),
		T(init_resets_the_policer),
		T(init_begins_the_ack_epoch_at_tcp_mstamp),
		T(init_leaves_the_window_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
