/* SPDX-License-Identifier: GPL-2.0-only */
/* The minimum filter of RTT and the mode that refreshes it. */
#include "fixture.h"

static void update(struct fixture *f)
{
	f->b.steps = 0;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
}

/* The minimum is older than 10 s by one millisecond. */
static void expire(struct fixture *f)
{
	f->b.min_rtt_stamp = NOW_MS - 10001;
}

/* In PROBE_RTT, whose time ended a millisecond ago, and whose round is over. */
static void finish(struct fixture *f)
{
	fixture_full_pipe(f, BBR_PROBE_RTT);
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	f->b.probe_rtt_round_done = 1;
	f->b.prior_cwnd = 300;
	f->sk.cwnd = 4;
}

TEST(a_lower_rtt_is_the_minimum)
{
	FIXTURE;

	f->rs.rtt_us = MIN_RTT - 1;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT - 1);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
}

TEST(a_lower_rtt_counts_with_a_delayed_ack)
{
	FIXTURE;

	f->rs.rtt_us = MIN_RTT - 1;
	f->rs.is_ack_delayed = true;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT - 1);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
}

/*
 * Mainline since 1b9e2a8c99a5 ("tcp: only postpone PROBE_RTT if RTT is < current min_rtt estimate",
 * in 5.10): RTTs of retransmitted packets are whole milliseconds, and equal ones would put
 * PROBE_RTT off for ever.
 */
TEST(an_equal_rtt_does_not_renew_the_window)
{
	FIXTURE;

	f->rs.rtt_us = MIN_RTT;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS - 1000);
}

TEST(a_higher_rtt_is_ignored_within_the_window)
{
	FIXTURE;

	f->b.min_rtt_stamp = NOW_MS - 10000;
	f->rs.rtt_us = MIN_RTT + 1;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS - 10000);
	assert_int_equal(f->b.mode, BBR_STARTUP);
}

TEST(a_higher_rtt_replaces_an_expired_minimum)
{
	FIXTURE;

	expire(f);
	f->rs.rtt_us = MIN_RTT + 1;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT + 1);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
}

TEST(a_delayed_ack_does_not_replace_an_expired_minimum)
{
	FIXTURE;

	expire(f);
	f->rs.is_ack_delayed = true;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS - 10001);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT); /* it has expired all the same */
}

TEST(a_negative_rtt_is_no_sample)
{
	FIXTURE;

	expire(f);
	f->rs.rtt_us = -1;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS - 10001);
}

TEST(an_rtt_of_zero_is_a_sample)
{
	FIXTURE;

	f->rs.rtt_us = 0;
	update(f);
	assert_int_equal(f->b.min_rtt_us, 0);
}

TEST(an_rtt_of_zero_replaces_an_expired_one)
{
	FIXTURE;

	expire(f);
	f->b.min_rtt_us = 0;
	f->rs.rtt_us = 0;
	update(f);
	assert_int_equal(f->b.min_rtt_us, 0);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
}

TEST(any_rtt_is_lower_than_unknown)
{
	FIXTURE;

	f->b.min_rtt_us = 0xffffffff;
	f->rs.is_ack_delayed = true;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT + 1000);
}

TEST(rtts_are_compared_in_64_bits)
{
	FIXTURE;

	f->rs.rtt_us = (1ll << 32) + 5;
	update(f);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT);
}

TEST(the_window_survives_the_wrap_of_the_clock)
{
	FIXTURE;

	f->b.min_rtt_stamp = 0xfffffff0;
	f->sk.now_ms = 10000 - 16; /* 10000 later */
	update(f);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	f->sk.now_ms++;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
}

TEST(min_rtt_win_is_the_length_of_the_window)
{
	FIXTURE;

	f->p.min_rtt_win[0] = 1000;
	update(f); /* 1000 ms old */
	assert_int_equal(f->b.mode, BBR_STARTUP);
	f->sk.now_ms++;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
}

TEST(probe_rtt_begins_when_min_rtt_has_expired)
{
	static const u8 modes[] = { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW };
	FIXTURE;

	for (int i = 0; i < 3; i++) {
		f->b.mode = modes[i];
		expire(f);
		f->b.probe_rtt_done_stamp = 5;
		update(f);
		assert_int_equal(f->b.mode, BBR_PROBE_RTT);
		assert_int_equal(f->b.steps, STEP(MIN_RTT_EXPIRED));
		assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	}
}

/* The mode is PROBE_RTT when the window is saved, so the larger one is kept, as in mainline. */
TEST(probe_rtt_notes_the_larger_cwnd_on_entry)
{
	FIXTURE;

	expire(f);
	f->b.prior_cwnd = 99;
	update(f);
	assert_int_equal(f->b.prior_cwnd, 100);

	f->b.mode = BBR_PROBE_BW;
	expire(f);
	f->b.prior_cwnd = 300;
	update(f);
	assert_int_equal(f->b.prior_cwnd, 300);
}

TEST(idle_restart_prevents_probe_rtt)
{
	FIXTURE;

	expire(f);
	f->b.idle_restart = 1;
	update(f);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	assert_int_equal(f->b.steps, 0);
	assert_int_equal(f->sk.app_limited, 0);
}

TEST(idle_restart_ends_with_delivered_data)
{
	FIXTURE;

	f->b.idle_restart = 1;
	f->rs.delivered = -1;
	update(f);
	assert_int_equal(f->b.idle_restart, 1);
	f->rs.delivered = 0;
	update(f);
	assert_int_equal(f->b.idle_restart, 1);
	f->rs.delivered = 1;
	update(f);
	assert_int_equal(f->b.idle_restart, 0);
}

TEST(probe_rtt_duration_0_turns_it_off)
{
	FIXTURE;

	f->p.probe_rtt_duration[0] = 0;
	expire(f);
	update(f);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT + 1000); /* the filter goes on */
}

TEST(probe_rtt_begins_only_once)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.probe_rtt_done_stamp = NOW_MS + 50;
	expire(f);
	update(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 50);
	assert_int_equal(f->b.prior_cwnd, 0);
	assert_int_equal(f->b.steps, 0);
}

TEST(probe_rtt_marks_each_ack_app_limited)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	update(f);
	assert_int_equal(f->sk.app_limited, 1050);
	f->sk.delivered = 1010;
	f->sk.inflight = 3;
	update(f);
	assert_int_equal(f->sk.app_limited, 1013);
	f->sk.inflight = 2;
	update(f);
	assert_int_equal(f->sk.app_limited, 1012);
}

TEST(other_modes_mark_nothing_app_limited)
{
	FIXTURE;

	update(f);
	assert_int_equal(f->sk.app_limited, 0);
}

/* 0 would mean not limited. */
TEST(the_app_limited_mark_is_never_0)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->sk.delivered = 0u - 50;
	update(f);
	assert_int_equal(f->sk.app_limited, 1);
	f->sk.delivered++;
	update(f);
	assert_int_equal(f->sk.app_limited, 1);
	f->sk.delivered++;
	update(f);
	assert_int_equal(f->sk.app_limited, 2);
}

TEST(acks_are_of_packets_before_the_mark_until_inflight_is_low)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	assert_false(bbr_was_sent_after_mark(&f->b, &f->sk, 100));
	f->b.probe_rtt_done_stamp = 1;
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 100));
	f->b.mode = BBR_PROBE_BW;
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 100));
	f->b.probe_rtt_done_stamp = 0;
	assert_true(bbr_was_sent_after_mark(&f->b, &f->sk, 100));
}

TEST(the_clock_of_probe_rtt_starts_at_four_packets_in_flight)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.probe_rtt_round_done = 1;
	f->sk.inflight = 5;
	update(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	assert_int_equal(f->b.next_round_delivered, 950);
	f->sk.inflight = 4;
	update(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 200);
	assert_int_equal(f->b.probe_rtt_round_done, 0);
	assert_int_equal(f->b.next_round_delivered, 1000);
}

TEST(the_clock_of_probe_rtt_may_start_on_entry)
{
	FIXTURE;

	expire(f);
	f->sk.inflight = 4;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 200);
}

TEST(the_clock_of_probe_rtt_is_started_once)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.probe_rtt_done_stamp = NOW_MS + 50;
	f->sk.inflight = 2;
	update(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 50);
	assert_int_equal(f->b.next_round_delivered, 950);
}

TEST(probe_rtt_cwnd_is_where_its_clock_starts)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->p.probe_rtt_cwnd[0] = 20;
	f->sk.inflight = 21;
	update(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	f->sk.inflight = 20;
	update(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 200);
}

TEST(probe_rtt_duration_is_the_time_spent)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->p.probe_rtt_duration[0] = 777;
	f->sk.inflight = 4;
	update(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 777);
}

/* The round that starts on the ACK which starts the clock was sent at the full window. */
TEST(probe_rtt_does_not_count_the_round_before_its_clock)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.round_start = 1;
	f->sk.inflight = 4;
	update(f);
	assert_int_equal(f->b.probe_rtt_round_done, 0);
}

TEST(probe_rtt_lasts_at_least_200_ms)
{
	FIXTURE;

	finish(f);
	f->b.probe_rtt_done_stamp = NOW_MS;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->sk.cwnd, 4);
	f->sk.now_ms++;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(probe_rtt_lasts_at_least_one_round)
{
	FIXTURE;

	finish(f);
	f->b.probe_rtt_round_done = 0;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	f->b.round_start = 1;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(probe_rtt_remembers_that_its_round_is_over)
{
	FIXTURE;

	finish(f);
	f->b.probe_rtt_round_done = 0;
	f->b.probe_rtt_done_stamp = NOW_MS;
	f->b.round_start = 1;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->b.probe_rtt_round_done, 1);
	f->b.round_start = 0;
	f->sk.now_ms++;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(the_end_of_probe_rtt_survives_the_wrap_of_the_clock)
{
	FIXTURE;

	finish(f);
	f->b.min_rtt_stamp = 0xfffff000;
	f->b.probe_rtt_done_stamp = 5;
	f->sk.now_ms = 0xfffffff0;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	f->b.probe_rtt_done_stamp = 0xfffffff0;
	f->sk.now_ms = 5;
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

TEST(probe_rtt_restores_prior_cwnd)
{
	FIXTURE;

	finish(f);
	update(f);
	assert_int_equal(f->sk.cwnd, 300);
	finish(f);
	f->sk.cwnd = 301;
	update(f);
	assert_int_equal(f->sk.cwnd, 301);
}

TEST(probe_rtt_puts_the_next_one_off)
{
	FIXTURE;

	finish(f);
	update(f);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
}

TEST(probe_rtt_ends_in_probe_bw_if_the_pipe_was_full)
{
	FIXTURE;

	finish(f);
	f->sk.random = 613566757; /* r = 1: phase 7 */
	update(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.cycle_idx, 7);
	assert_int_equal(f->b.cycle_mstamp, NOW_US);
	assert_int_equal(f->b.steps, STEP(PROBE_RTT_DONE));
}

TEST(probe_rtt_ends_in_startup_if_the_pipe_was_never_full)
{
	FIXTURE;

	finish(f);
	f->b.full_bw_reached = 0;
	update(f);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	assert_int_equal(f->b.steps, STEP(PROBE_RTT_DONE));
	assert_int_equal(f->sk.cwnd, 300);
}

TEST(probe_rtt_does_not_end_before_its_clock_runs)
{
	FIXTURE;

	finish(f);
	f->b.probe_rtt_done_stamp = 0;
	bbr_check_probe_rtt_done(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->sk.cwnd, 4);
}

TEST(restart_from_idle_may_end_probe_rtt)
{
	FIXTURE;

	finish(f);
	f->b.probe_rtt_round_done = 0; /* the pause counts as the round */
	f->sk.app_limited = 1;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->b.steps, STEP(PROBE_RTT_DONE));
	assert_int_equal(f->sk.cwnd, 300);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
	assert_int_equal(f->sk.pacing_rate, 1000000);
}

/* A route may limit the window (cwnd lock), and no ACK comes before the packets go out. */
TEST(restart_from_idle_never_exceeds_the_sockets_window)
{
	FIXTURE;

	finish(f);
	f->sk.app_limited = 1;
	f->sk.snd_cwnd_clamp = 20;
	f->p.min_cwnd[0] = 1000;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->sk.cwnd, 20);
}

TEST(restart_from_idle_keeps_probe_rtt_until_its_time)
{
	FIXTURE;

	finish(f);
	f->b.probe_rtt_done_stamp = NOW_MS;
	f->sk.app_limited = 1;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	finish(f);
	f->sk.app_limited = 0;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->b.steps, 0);
}

TEST(the_gains_of_probe_rtt_are_one)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.lt_use_bw = 1;
	f->b.pacing_gain = 320;
	f->p.lt_gain[0] = 300;
	bbr_update_gains(&f->b, &f->sk);
	assert_int_equal(f->b.pacing_gain, 256);
	assert_int_equal(f->b.cwnd_gain, 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_lower_rtt_is_the_minimum),
		T(a_lower_rtt_counts_with_a_delayed_ack),
		T(an_equal_rtt_does_not_renew_the_window),
		T(a_higher_rtt_is_ignored_within_the_window),
		T(a_higher_rtt_replaces_an_expired_minimum),
		T(a_delayed_ack_does_not_replace_an_expired_minimum),
		T(a_negative_rtt_is_no_sample),
		T(an_rtt_of_zero_is_a_sample),
		T(an_rtt_of_zero_replaces_an_expired_one),
		T(any_rtt_is_lower_than_unknown),
		T(rtts_are_compared_in_64_bits),
		T(the_window_survives_the_wrap_of_the_clock),
		T(min_rtt_win_is_the_length_of_the_window),
		T(probe_rtt_begins_when_min_rtt_has_expired),
		T(probe_rtt_notes_the_larger_cwnd_on_entry),
		T(idle_restart_prevents_probe_rtt),
		T(idle_restart_ends_with_delivered_data),
		T(probe_rtt_duration_0_turns_it_off),
		T(probe_rtt_begins_only_once),
		T(probe_rtt_marks_each_ack_app_limited),
		T(other_modes_mark_nothing_app_limited),
		T(the_app_limited_mark_is_never_0),
		T(acks_are_of_packets_before_the_mark_until_inflight_is_low),
		T(the_clock_of_probe_rtt_starts_at_four_packets_in_flight),
		T(the_clock_of_probe_rtt_may_start_on_entry),
		T(the_clock_of_probe_rtt_is_started_once),
		T(probe_rtt_cwnd_is_where_its_clock_starts),
		T(probe_rtt_duration_is_the_time_spent),
		T(probe_rtt_does_not_count_the_round_before_its_clock),
		T(probe_rtt_lasts_at_least_200_ms),
		T(probe_rtt_lasts_at_least_one_round),
		T(probe_rtt_remembers_that_its_round_is_over),
		T(the_end_of_probe_rtt_survives_the_wrap_of_the_clock),
		T(probe_rtt_restores_prior_cwnd),
		T(probe_rtt_puts_the_next_one_off),
		T(probe_rtt_ends_in_probe_bw_if_the_pipe_was_full),
		T(probe_rtt_ends_in_startup_if_the_pipe_was_never_full),
		T(probe_rtt_does_not_end_before_its_clock_runs),
		T(restart_from_idle_may_end_probe_rtt),
		T(restart_from_idle_never_exceeds_the_sockets_window),
		T(restart_from_idle_keeps_probe_rtt_until_its_time),
		T(the_gains_of_probe_rtt_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
