/* SPDX-License-Identifier: GPL-2.0-only */
/* The options that mainline does not have: each alone, and all together. */
#include "fixture.h"

#define PINNED 31250u /* kbit/s: half of BW */
#define INFLIGHT_AT_1 106u /* the target at 1.0: BDP and TSO budget */

static void set_cwnd(struct fixture *f)
{
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, bbr_bw(&f->b));
}

static void set_rate(struct fixture *f)
{
	bbr_set_pacing_rate(&f->b, &f->sk, BW, 256);
}

static void ack(struct fixture *f)
{
	bbr_main(&f->b, &f->sk, &f->rs);
}

TEST(none_is_on_by_default)
{
	FIXTURE;

	assert_false(bbr_has_options(&f->p));
	f->p.high_gain[0]++;
	f->p.sndbuf_expand[0]++;
	assert_false(bbr_has_options(&f->p));
}

TEST(each_is_noticed)
{
	FIXTURE;

#define X(key, n, unit, dflt, lo, hi, help)                      \
	f->p.key[0] = f->p.key[0] == (lo) ? (lo) + 1 : (hi) - 1; \
	assert_true(bbr_has_options(&f->p));                     \
	f->p.key[0] = ((const u32[])dflt)[0];                    \
	assert_false(bbr_has_options(&f->p));
	BBR_PARAMS(BBR_NO_PARAM, X)
#undef X
}

TEST(the_connections_profile_is_not_the_algorithms)
{
	FIXTURE;

	f->b.profile = 0xa5;
	f->b.cycle_len = 7;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->b.cycle_len, 0);
	f->p.drain_to_target[0] = 1;
	f->sk.delivered_mstamp = ~0ull;
	f->sk.random = ~0u;
	bbr_enter_probe_bw(&f->b, &f->sk, BBR_R_DRAINED);
	assert_int_equal(f->b.cycle_mstamp, (1ull << 52) - 1);
	assert_int_equal(f->b.cycle_len, 8);
	assert_int_equal(f->b.profile, 0xa5);
}

/* pin_bw */

TEST(a_pinned_bandwidth_is_the_bandwidth)
{
	FIXTURE;

	f->p.pin_bw[0] = PINNED;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(f->b.bw.s[i].v, BW / 2);
		assert_int_equal(f->b.bw.s[i].t, 20);
	}
	f->p.pin_bw[0] = 4 * PINNED;
	f->rs.is_app_limited = true;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_bw(&f->b), 2 * BW);
}

TEST(a_pinned_bandwidth_is_of_payload)
{
	FIXTURE;

	f->p.pin_bw[0] = PINNED;
	f->sk.mss = 500;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_bw(&f->b), BW);
}

TEST(a_pinned_bandwidth_has_an_end_on_both_sides)
{
	FIXTURE;

	f->p.pin_bw[0] = 1;
	f->sk.mss = 65535;
	assert_int_equal(bbr_pinned_bw(&f->sk), 1);
	f->sk.mss = 0;
	assert_int_equal(bbr_pinned_bw(&f->sk), 1);
	f->p.pin_bw[0] = 500000000;
	f->sk.mss = 1448;
	assert_int_equal(bbr_pinned_bw(&f->sk), 724154696);
	f->sk.mss = 48;
	assert_int_equal(bbr_pinned_bw(&f->sk), 0xffffffff);
}

TEST(the_highest_pinned_bandwidth_overflows_no_rate)
{
	FIXTURE;

	f->p.pin_bw[0] = 500000000;
	f->p.pacing_margin[0] = 0;
	f->sk.mss = 1448; /* 62.5 GB/s times 4095/256 */
	assert_in_range(bbr_rate_bytes_per_sec(&f->sk, bbr_pinned_bw(&f->sk), 4095), 999755000000,
			999755859375);
	f->sk.mss = 245;
	assert_in_range(bbr_rate_bytes_per_sec(&f->sk, bbr_pinned_bw(&f->sk), 4095), 999755000000,
			999755859375);
}

TEST(a_round_goes_on_under_a_pinned_bandwidth)
{
	FIXTURE;

	f->p.pin_bw[0] = PINNED;
	fixture_start_round(f);
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.round_count, 21);
	assert_int_equal(f->b.bw.s[0].t, 21);
}

TEST(a_pinned_bandwidth_is_nothing_to_search)
{
	FIXTURE;

	f->p.pin_bw[0] = PINNED;
	f->b.pacing_gain = f->b.cwnd_gain = 739;
	f->sk.pacing_rate = 10 * RATE;
	f->sk.inflight = 200;
	f->rs.delivered = -1;
	ack(f); /* no sample yet */
	assert_int_equal(f->b.full_bw_reached, 0);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	f->rs.delivered = 10;
	ack(f);
	assert_int_equal(f->b.full_bw_reached, 1);
	assert_int_equal(f->b.mode, BBR_DRAIN);
	assert_int_equal(f->sk.pacing_rate, 1329345); /* RATE / 2 x 88 / 256 */
	f->sk.inflight = 50;
	ack(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_in_range(f->sk.pacing_rate, RATE / 2 * 3 / 4, RATE / 2 * 5 / 4 + 1);
}

TEST(no_policer_is_looked_for_under_a_pinned_bandwidth)
{
	FIXTURE;

	f->p.pin_bw[0] = PINNED;
	f->b.lt_use_bw = 1;
	f->b.lt_bw = 5;
	f->b.lt_is_sampling = 1;
	f->rs.losses = 3;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.lt_bw, 0);
	assert_int_equal(f->b.lt_is_sampling, 0);
	assert_int_equal(bbr_bw(&f->b), BW / 2);
	bbr_set_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.lt_is_sampling, 0);
}

TEST(the_estimate_leaves_the_pinned_bandwidth_within_a_window)
{
	int rounds = 0;
	FIXTURE;

	f->p.pin_bw[0] = 4 * PINNED;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	f->p.pin_bw[0] = 0;
	while (bbr_bw(&f->b) != BW) {
		fixture_start_round(f);
		bbr_update_bw(&f->b, &f->sk, &f->rs);
		assert_in_range(++rounds, 1, 11);
	}
	assert_int_equal(rounds, 11);
	f->p.pin_bw[0] = PINNED; /* and at once if the path carries more than the pin */
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	f->p.pin_bw[0] = 0;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(bbr_bw(&f->b), BW);
}

/* pin_min_rtt */

TEST(a_pinned_min_rtt_is_min_rtt)
{
	FIXTURE;

	f->p.pin_min_rtt[0] = 20000;
	f->b.idle_restart = 1;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.min_rtt_us, 20000);
	assert_int_equal(f->b.min_rtt_stamp, NOW_MS);
	assert_int_equal(f->b.idle_restart, 0);
	f->rs.rtt_us = 10;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.min_rtt_us, 20000);
}

TEST(a_pinned_min_rtt_does_not_expire)
{
	FIXTURE;

	f->p.pin_min_rtt[0] = 20000;
	f->b.min_rtt_stamp = NOW_MS - 10001;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.mode, BBR_STARTUP);
	assert_int_equal(f->b.steps, 0);
	assert_int_equal(f->sk.app_limited, 0);
}

TEST(probe_rtt_ends_when_min_rtt_is_pinned)
{
	FIXTURE;

	for (int full = 0; full < 2; full++) {
		f->b.mode = BBR_PROBE_RTT;
		f->b.steps = 0;
		f->b.probe_rtt_done_stamp = 0; /* inflight never came down */
		f->b.full_bw_reached = full;
		f->b.prior_cwnd = 300;
		f->sk.cwnd = 4;
		f->p.pin_min_rtt[0] = 20000;
		bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
		assert_int_equal(f->b.mode, full ? BBR_PROBE_BW : BBR_STARTUP);
		assert_int_equal(f->b.steps, STEP(PROBE_RTT_DONE));
		assert_int_equal(f->sk.cwnd, 300);
	}
}

TEST(min_rtt_is_measured_again_a_window_after_it_was_pinned)
{
	FIXTURE;

	f->p.pin_min_rtt[0] = 10;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	f->p.pin_min_rtt[0] = 0;
	f->sk.now_ms += 10000;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.min_rtt_us, 10);
	f->sk.now_ms++;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.min_rtt_us, MIN_RTT + 1000);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
}

/* Values that no path has must not overflow into a small window. */
TEST(the_bdp_of_what_is_pinned_has_an_end)
{
	FIXTURE;

	f->p.pin_min_rtt[0] = f->b.min_rtt_us = 10000000;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 0xffffffff, 4095),
			 1073479680); /* 2^26 x 4095/256 */
	f->p.pin_min_rtt[0] = 0;
	f->p.pin_bw[0] = 1;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 0xffffffff, 512), 1 << 27);
	assert_int_equal(bbr_bdp(&f->b, &f->sk, BW, 512), 156250);
	f->p.pin_bw[0] = 0;
	f->b.min_rtt_us = 1 << 20;
	assert_int_equal(bbr_bdp(&f->b, &f->sk, 128u << 24, 512), 1 << 28); /* mainline's */
}

/* pacing_rate, min_pacing_rate, max_pacing_rate */

TEST(a_fixed_rate_is_the_rate)
{
	FIXTURE;

	f->p.pacing_rate[0] = 80; /* below the current rate, and in STARTUP */
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 10000);
	f->p.pacing_rate[0] = 4000000000; /* above */
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 500000000000);
	f->p.pacing_rate[0] = 80;
	fixture_full_pipe(f, BBR_PROBE_BW);
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 10000);
	f->p.pacing_rate[0] = 0;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, RATE);
}

TEST(the_rate_is_fixed_from_the_first_packet)
{
	FIXTURE;

	f->p.pacing_rate[0] = 80;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 10000);
	f->b.mode = BBR_PROBE_BW;
	f->sk.app_limited = 1;
	f->p.pacing_rate[0] = 160;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 20000);
}

TEST(the_rate_has_bounds)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->p.min_pacing_rate[0] = 80000;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 10000000);
	f->p.min_pacing_rate[0] = 8000; /* a rate within the bounds is left alone */
	f->p.max_pacing_rate[0] = 80000;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, RATE);
	f->p.max_pacing_rate[0] = 8000;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	f->p.min_pacing_rate[0] = 16000; /* the upper bound wins */
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	f->sk.max_pacing_rate = 999; /* and the socket's wins over both */
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 999);
}

TEST(a_fixed_rate_has_bounds_too)
{
	FIXTURE;

	f->p.pacing_rate[0] = 80;
	f->p.min_pacing_rate[0] = 160;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 20000);
	f->p.pacing_rate[0] = 1600;
	f->p.max_pacing_rate[0] = 800;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 100000);
	f->sk.max_pacing_rate = 5;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 5);
}

/* make_up_loss */

static void lose(struct fixture *f, u32 lost, u32 delivered)
{
	f->b.lt_last_lost = f->sk.lost - lost;
	f->b.lt_last_delivered = f->sk.delivered - delivered;
	f->b.lt_last_stamp = NOW_MS - 1000;
	set_rate(f);
}

TEST(losses_of_a_fixed_rate_are_made_up)
{
	FIXTURE;

	f->p.pacing_rate[0] = 8000;
	lose(f, 100, 900);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	f->p.make_up_loss[0] = 20;
	lose(f, 100, 900);
	assert_in_range(f->sk.pacing_rate, 1111000, 1111112); /* 0.9 of it arrive */
	lose(f, 0, 900);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	lose(f, 20, 29); /* too few to say */
	assert_int_equal(f->sk.pacing_rate, 1000000);
	lose(f, 20, 30);
	assert_int_equal(f->sk.pacing_rate, 1250000);
	lose(f, 200, 800);
	assert_int_equal(f->sk.pacing_rate, 1250000);
	lose(f, 400, 600); /* more than it makes up for */
	assert_int_equal(f->sk.pacing_rate, 1250000);
	lose(f, 100, 0);
	assert_int_equal(f->sk.pacing_rate, 1250000);
	f->p.max_pacing_rate[0] = 8800;
	lose(f, 200, 800);
	assert_int_equal(f->sk.pacing_rate, 1100000);
	f->p.pacing_rate[0] = f->p.max_pacing_rate[0] = 0; /* the model's rate is left alone */
	fixture_full_pipe(f, BBR_PROBE_BW);
	lose(f, 200, 800);
	assert_int_equal(f->sk.pacing_rate, RATE);
}

/* The highest rate and counts that have wrapped: nothing overflows. */
TEST(what_is_made_up_has_an_end)
{
	FIXTURE;

	f->p.pacing_rate[0] = 4000000000;
	f->p.make_up_loss[0] = 50;
	lose(f, 0x7ffffff0, 0x80000000);
	assert_in_range(f->sk.pacing_rate, 999000000000, 1000000000000);
	lose(f, ~0u, ~0u);
	assert_in_range(f->sk.pacing_rate, 999000000000, 1000000000000);
	lose(f, ~0u, 1);
	assert_in_range(f->sk.pacing_rate, 999000000000, 1000000000000);
	lose(f, 0x80000000, 0x80000010); /* 16 more than 32 bits hold */
	assert_in_range(f->sk.pacing_rate, 999000000000, 1000000000000);
	f->p.make_up_loss[0] = 100; /* written past bbrctl */
	lose(f, 900, 100);
	assert_in_range(f->sk.pacing_rate, 999000000000, 1000000000000);
}

TEST(losses_count_for_seconds)
{
	FIXTURE;

	f->p.pacing_rate[0] = 8000;
	f->p.make_up_loss[0] = 20;
	f->sk.lost = 500;
	f->rs.losses = 5;
	f->b.lt_use_bw = 1; /* of a policer, before */
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.lt_last_lost, 500);
	f->b.lt_bw = BW;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_bw, 0);
	f->b.lt_is_sampling = 1;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_is_sampling, 0);
	f->b.lt_last_lost = 400;
	f->b.lt_last_delivered = 100;
	f->b.lt_last_stamp = NOW_MS - 5000;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_last_stamp, NOW_MS - 5000);
	f->b.lt_last_stamp = NOW_MS - 25000; /* a tenth of it is left: as much is lost */
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_last_stamp, NOW_MS - 2500);
	assert_int_equal(f->b.lt_last_lost, 500 - 10);
	assert_int_equal(f->b.lt_last_delivered, 1000 - 90);
	f->b.lt_last_stamp = NOW_MS - 5001; /* counts that times milliseconds exceed 32 bits */
	f->b.lt_last_lost = f->sk.lost - 50010000;
	f->b.lt_last_delivered = f->sk.delivered - 100020000;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_last_lost, (u32)(500 - 25000000));
	assert_int_equal(f->b.lt_last_delivered, (u32)(1000 - 50000000));
	assert_int_equal(f->b.lt_is_sampling, 0);
	f->p.make_up_loss[0] = 0;
	bbr_update_bw(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.lt_is_sampling, 1);
}

/* Until the pipe is full the rate is kept, but not outside bounds that were set in the meantime. */
TEST(the_rate_that_startup_keeps_has_bounds)
{
	FIXTURE;

	f->sk.pacing_rate = 2 * RATE;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 2 * RATE);
	f->p.max_pacing_rate[0] = 80000;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, 10000000);
	f->p.max_pacing_rate[0] = 0;
	f->p.min_pacing_rate[0] = 8;
	f->sk.max_pacing_rate = RATE - 1;
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, RATE - 1);
	f->p.min_pacing_rate[0] = 0;
	f->sk.max_pacing_rate = 1; /* without our bounds, the stack must lower it */
	set_rate(f);
	assert_int_equal(f->sk.pacing_rate, RATE - 1);
}

TEST(the_first_rate_has_bounds)
{
	FIXTURE;

	f->p.max_pacing_rate[0] = 8000;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 1000000);
	f->p.max_pacing_rate[0] = 0;
	f->p.min_pacing_rate[0] = 800000;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.pacing_rate, 100000000);
}

static u8 mode_after_drain(struct fixture *f)
{
	fixture_full_pipe(f, BBR_DRAIN);
	f->sk.inflight = 1000;
	bbr_check_drain(&f->b, &f->sk);
	return f->b.mode;
}

TEST(drain_ends_if_the_rate_cannot_drain)
{
	FIXTURE;

	assert_int_equal(mode_after_drain(f), BBR_DRAIN);
	f->p.min_pacing_rate[0] = 61875; /* RATE */
	assert_int_equal(mode_after_drain(f), BBR_PROBE_BW);
	f->p.min_pacing_rate[0] = 61874;
	assert_int_equal(mode_after_drain(f), BBR_DRAIN);
	f->p.pacing_rate[0] = 61874;
	assert_int_equal(mode_after_drain(f), BBR_DRAIN);
	f->p.pacing_rate[0] = 61875;
	assert_int_equal(mode_after_drain(f), BBR_PROBE_BW);
	f->p.max_pacing_rate[0] = 61874; /* so it can drain after all */
	assert_int_equal(mode_after_drain(f), BBR_DRAIN);
	f->p.pacing_rate[0] = f->p.min_pacing_rate[0] = 0;
	assert_int_equal(mode_after_drain(f), BBR_DRAIN);
	f->p.max_pacing_rate[0] = 0;
	fixture_set_max_bw(f, 0);
	assert_int_equal(mode_after_drain(f), BBR_DRAIN);
}

TEST(the_window_permits_the_fixed_rate)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 2;
	f->sk.cwnd = 1000;
	f->p.pacing_rate[0] = 125000; /* 200 packets in MIN_RTT; a TSO goal of 15 */
	set_rate(f);
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 2 * 200 + 46);
	f->sk.cwnd = 1000;
	f->sk.srtt_us *= 2; /* the current RTT counts */
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 2 * 400 + 46);
	f->sk.cwnd = 1000;
	f->p.max_pacing_rate[0] = 62500; /* the rate in force counts; a TSO goal of 7 */
	set_rate(f);
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 2 * 200 + 22);
	f->sk.cwnd = 1000;
	f->p.pacing_rate[0] = 8; /* below the model's window, the model's holds */
	set_rate(f);
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 2 * 100 + 4);
}

TEST(only_a_fixed_rate_has_a_window_of_its_own)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 2;
	f->sk.cwnd = 1000;
	f->p.min_pacing_rate[0] = 125000;
	set_rate(f);
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 2 * 100 + 46);
}

TEST(the_window_of_a_fixed_rate_has_an_end)
{
	FIXTURE;

	f->sk.pacing_rate = 500000000000;
	f->sk.srtt_us = 0xffffffff;
	f->sk.mss = 88;
	f->b.cwnd_gain = 4095;
	assert_int_equal(bbr_fixed_rate_inflight(&f->b, &f->sk), 1073479680);
	f->sk.mss = 65535; /* 16.777216 s */
	f->b.cwnd_gain = 256;
	f->sk.pacing_rate = 1000000000;
	assert_int_equal(bbr_fixed_rate_inflight(&f->b, &f->sk), 256003);
	f->sk.mss = 0;
	assert_int_equal(bbr_fixed_rate_inflight(&f->b, &f->sk), 0);
}

/* min_cwnd, max_cwnd */

TEST(the_window_has_bounds)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 2;
	f->p.min_cwnd[0] = 50; /* a window within the bounds is left alone */
	f->p.max_cwnd[0] = 500;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 110);
	f->p.max_cwnd[0] = 0;
	f->p.min_cwnd[0] = 500;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 500);
	f->p.min_cwnd[0] = 0;
	f->p.max_cwnd[0] = 60;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 60);
	f->p.min_cwnd[0] = 70; /* the upper bound wins */
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 60);
	f->sk.snd_cwnd_clamp = 50; /* and the kernel's wins over both */
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 50);
	f->p.max_cwnd[0] = 1; /* below cwnd_min_target */
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 1);
}

TEST(the_window_of_an_ack_of_nothing_has_bounds)
{
	FIXTURE;

	f->rs.acked_sacked = 0;
	f->p.min_cwnd[0] = 120;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 120);
	f->p.min_cwnd[0] = 0;
	f->p.max_cwnd[0] = 80;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 80);
}

TEST(the_window_has_bounds_in_recovery)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Recovery;
	f->p.min_cwnd[0] = 90;
	set_cwnd(f); /* inflight and what was ACKed: 60 */
	assert_int_equal(f->b.packet_conservation, 1);
	assert_int_equal(f->sk.cwnd, 90);
	f->p.max_cwnd[0] = 40;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 40);
}

TEST(the_window_has_bounds_in_probe_rtt)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_RTT);
	f->p.min_cwnd[0] = 20;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 20);
	f->p.max_cwnd[0] = 3;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 3);
}

/* Otherwise PROBE_RTT would wait forever for a window that may not come down to probe_rtt_cwnd. */
TEST(the_clock_of_probe_rtt_starts_at_the_bounds)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_RTT);
	f->p.min_cwnd[0] = 20;
	f->sk.inflight = 21;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	f->sk.inflight = 20;
	bbr_update_min_rtt(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 200);
}

TEST(the_window_after_probe_rtt_has_bounds)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_RTT);
	f->b.probe_rtt_done_stamp = NOW_MS - 1;
	f->b.prior_cwnd = 300;
	f->sk.cwnd = 4;
	f->sk.app_limited = 1;
	f->p.max_cwnd[0] = 90;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	assert_int_equal(f->sk.cwnd, 90);
}

/* probe_rtt_bdp_gain, probe_rtt_cwnd_gain */

static u32 probe_rtt_cwnd(struct fixture *f)
{
	return bbr_probe_rtt_cwnd(&f->b, &f->sk);
}

TEST(probe_rtt_may_keep_a_share_of_the_bdp)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->p.probe_rtt_bdp_gain[0] = 128;
	assert_int_equal(probe_rtt_cwnd(f), 50);
	f->p.probe_rtt_bdp_gain[0] = 5; /* 1.95 packets */
	assert_int_equal(probe_rtt_cwnd(f), 4);
	f->p.probe_rtt_bdp_gain[0] = 256;
	f->b.lt_use_bw = 1;
	f->b.lt_bw = BW / 4;
	assert_int_equal(probe_rtt_cwnd(f), 25); /* follows the bandwidth in use */
	f->b.min_rtt_us = BBR_RTT_NONE;
	assert_int_equal(probe_rtt_cwnd(f), 10);
	f->p.probe_rtt_bdp_gain[0] = 0;
	assert_int_equal(probe_rtt_cwnd(f), 4);
}

TEST(probe_rtt_may_keep_a_share_of_the_window)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.prior_cwnd = 300;
	f->p.probe_rtt_cwnd_gain[0] = 128;
	assert_int_equal(probe_rtt_cwnd(f), 150);
	f->b.prior_cwnd = 7;
	assert_int_equal(probe_rtt_cwnd(f), 4);
	f->b.prior_cwnd = 0x7fffffff;
	f->p.probe_rtt_cwnd_gain[0] = 256;
	assert_int_equal(probe_rtt_cwnd(f), 0x7fffffff);
}

TEST(probe_rtt_takes_the_larger_share)
{
	FIXTURE;

	f->b.prior_cwnd = 300;
	f->p.probe_rtt_bdp_gain[0] = 128;
	f->p.probe_rtt_cwnd_gain[0] = 128;
	assert_int_equal(probe_rtt_cwnd(f), 150);
	f->b.prior_cwnd = 60;
	assert_int_equal(probe_rtt_cwnd(f), 50);
	f->p.max_cwnd[0] = 40;
	assert_int_equal(probe_rtt_cwnd(f), 40);
}

TEST(the_share_is_the_cap_and_where_the_clock_starts)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->p.probe_rtt_bdp_gain[0] = 128;
	f->b.min_rtt_stamp = NOW_MS - 10001;
	f->rs.is_ack_delayed = true; /* min_rtt stays */
	f->sk.inflight = 51;
	ack(f);
	assert_int_equal(f->b.mode, BBR_PROBE_RTT);
	assert_int_equal(f->sk.cwnd, 50);
	assert_int_equal(f->b.probe_rtt_done_stamp, 0);
	f->sk.inflight = 50;
	ack(f);
	assert_int_equal(f->b.probe_rtt_done_stamp, NOW_MS + 200);
}

TEST(the_share_is_of_the_window_before_probe_rtt)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->p.probe_rtt_cwnd_gain[0] = 128;
	f->b.min_rtt_stamp = NOW_MS - 10001;
	for (int i = 0; i < 3; i++) {
		f->sk.inflight = 60;
		ack(f);
		assert_int_equal(f->b.mode, BBR_PROBE_RTT);
		assert_int_equal(f->sk.cwnd, 50);
	}
}

/* cycle_len */

TEST(the_cycle_has_so_many_phases)
{
	FIXTURE;

	for (u32 len = 2; len <= 8; len++) {
		f->p.cycle_len[0] = len;
		for (u32 i = 0; i < 8; i++) {
			f->b.cycle_idx = i;
			bbr_advance_cycle_phase(&f->b, &f->sk);
			assert_int_equal(f->b.cycle_idx, i + 1 < len ? i + 1 : 0);
		}
	}
}

TEST(any_phase_in_use_but_draining_is_the_first_as_often)
{
	FIXTURE;

	for (u32 len = 2; len <= 8; len++) {
		u32 seen[8] = { 0 };

		f->p.cycle_len[0] = len;
		for (u32 i = 0; i < 1000; i++) {
			f->sk.random = i * 4294967u;
			bbr_enter_probe_bw(&f->b, &f->sk, BBR_R_DRAINED);
			seen[f->b.cycle_idx]++;
		}
		for (u32 i = 0; i < 8; i++) {
			bool in_use = i < len && i != BBR_PHASE_DRAIN;

			assert_in_range(seen[i], in_use ? 1000 / (len - 1) - 1 : 0,
					in_use ? 1000 / (len - 1) + 1 : 0);
		}
	}
}

/* drain_to_target */

static void cycle(struct fixture *f, u32 phase, u32 min_rtts, u32 inflight)
{
	static const u16 gains[] = { 320, 192, 256 };

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->p.drain_to_target[0] = 1;
	f->b.cycle_idx = phase;
	f->b.pacing_gain = gains[phase];
	f->b.cycle_len = 4;
	f->b.cycle_mstamp = NOW_US - min_rtts * MIN_RTT;
	f->rs.prior_in_flight = inflight;
}

static void update_cycle(struct fixture *f)
{
	bbr_update_cycle_phase(&f->b, &f->sk, &f->rs);
}

TEST(drain_to_target_probes_as_always)
{
	FIXTURE;

	cycle(f, BBR_PHASE_PROBE, 1, 1000);
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_PROBE);
	f->b.cycle_mstamp--;
	f->rs.prior_in_flight = 130;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_PROBE);
	f->rs.prior_in_flight = 1000;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_DRAIN);
	assert_int_equal(f->b.cycle_mstamp, NOW_US - MIN_RTT - 1); /* when the cycle began */
}

TEST(drain_to_target_drains_until_the_queue_is_gone)
{
	FIXTURE;

	cycle(f, BBR_PHASE_DRAIN, 3, INFLIGHT_AT_1 + 1);
	update_cycle(f); /* min_rtt has long passed */
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_DRAIN);
	f->rs.prior_in_flight = INFLIGHT_AT_1;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_CRUISE);
	assert_int_equal(f->b.cycle_mstamp, NOW_US - 3 * MIN_RTT);
}

TEST(drain_to_target_looks_at_inflight_at_the_departure_time)
{
	FIXTURE;

	cycle(f, BBR_PHASE_DRAIN, 3, INFLIGHT_AT_1 + 10);
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 10 * 128 * 1000;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_CRUISE);
}

TEST(drain_to_target_drains_to_max_bw)
{
	FIXTURE;

	cycle(f, BBR_PHASE_DRAIN, 3, INFLIGHT_AT_1);
	f->b.lt_use_bw = 1;
	f->b.lt_bw = 1;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_CRUISE);
}

TEST(drain_to_target_cruises_until_the_cycle_is_over)
{
	FIXTURE;

	cycle(f, BBR_PHASE_CRUISE, 4, 0);
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_CRUISE);
	assert_int_equal(f->b.cycle_len, 4);
}

TEST(drain_to_target_begins_anew_in_any_phase)
{
	FIXTURE;

	for (u32 phase = 0; phase < 3; phase++) {
		cycle(f, phase, 4, 0);
		f->b.cycle_mstamp--;
		f->sk.random = 0xffffffff;
		update_cycle(f);
		assert_int_equal(f->b.cycle_idx, BBR_PHASE_PROBE);
		assert_int_equal(f->b.cycle_mstamp, NOW_US);
		assert_int_equal(f->b.cycle_len, 8);
	}
}

TEST(drain_to_target_draws_the_length_of_a_cycle)
{
	FIXTURE;

	for (u32 len = 2; len <= 8; len++) {
		u32 seen = 0;

		f->p.cycle_len[0] = len;
		for (u32 i = 0; i < 1000; i++) {
			f->sk.random = i * 4294967u;
			bbr_begin_cycle(&f->b, &f->sk, BBR_PHASE_PROBE);
			seen |= 1 << f->b.cycle_len;
		}
		assert_int_equal(seen, ((1 << (len + 1)) - 1) & ~3); /* 2 to len */
	}
}

TEST(drain_to_target_enters_with_probing_or_cruising)
{
	u32 seen = 0, lengths = 0;
	FIXTURE;

	f->p.drain_to_target[0] = 1;
	for (u32 i = 0; i < 1000; i++) {
		f->sk.random = i * 4294967u;
		bbr_enter_probe_bw(&f->b, &f->sk, BBR_R_DRAINED);
		seen |= 1 << f->b.cycle_idx;
		lengths |= 1 << f->b.cycle_len;
		assert_int_equal(f->b.cycle_mstamp, NOW_US);
	}
	assert_int_equal(seen, 1 << BBR_PHASE_PROBE | 1 << BBR_PHASE_CRUISE);
	assert_int_equal(lengths, 0x1fc);
}

TEST(drain_to_target_may_come_and_go)
{
	FIXTURE;

	cycle(f, BBR_PHASE_CRUISE, 0, 0);
	f->b.cycle_len = 0; /* none was drawn */
	f->b.cycle_mstamp--;
	f->b.cycle_idx = 6;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_PROBE);
	f->p.drain_to_target[0] = 0;
	f->b.cycle_mstamp -= MIN_RTT + 1;
	f->rs.prior_in_flight = 1000;
	f->b.pacing_gain = 320;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_DRAIN);
	assert_int_equal(f->b.cycle_mstamp, NOW_US);
}

TEST(drain_to_target_is_of_probe_bw)
{
	FIXTURE;

	cycle(f, BBR_PHASE_CRUISE, 100, 0);
	f->b.mode = BBR_PROBE_RTT;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_CRUISE);
}

/* A min_rtt of minutes, or none: the product has more than 32 bits. */
TEST(a_cycle_of_long_min_rtts_does_not_end_early)
{
	FIXTURE;

	cycle(f, BBR_PHASE_CRUISE, 1, 0);
	f->b.min_rtt_us = BBR_RTT_NONE;
	update_cycle(f);
	f->b.min_rtt_us = 1 << 30;
	update_cycle(f);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_CRUISE);
}

/* start_cwnd */

static void start(struct fixture *f)
{
	f->sk.delivered = 1;
	f->sk.inflight = 0;
	f->sk.cwnd = 10;
	f->p.start_cwnd[0] = 50;
}

TEST(a_new_connection_starts_with_start_cwnd)
{
	u64 rate;
	FIXTURE;

	start(f);
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 50);
	rate = f->sk.pacing_rate;
	f->p.start_cwnd[0] = 0;
	bbr_init(&f->b, &f->sk); /* the rate was that of this window */
	assert_int_equal(f->sk.pacing_rate, rate);
	start(f);
	f->sk.delivered = 0;
	f->sk.cwnd = 100; /* perhaps from a route's initcwnd */
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 50);
}

TEST(a_running_connection_keeps_its_window)
{
	FIXTURE;

	start(f);
	f->sk.delivered = 2;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 10);
	start(f);
	f->sk.inflight = 1;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 10);
}

TEST(a_window_of_1_for_a_lost_syn_is_kept)
{
	FIXTURE;

	start(f);
	f->sk.cwnd = 1;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 1);
	f->sk.cwnd = 2;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 50);
}

TEST(the_first_window_has_bounds)
{
	FIXTURE;

	start(f);
	f->p.max_cwnd[0] = 30;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 30);
	start(f);
	f->sk.snd_cwnd_clamp = 20;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 20);
	f->sk.snd_cwnd_clamp = 0; /* the kernel allows no window */
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 1);
	f->sk.snd_cwnd_clamp = NO_LIMIT;
	f->p.start_cwnd[0] = f->p.max_cwnd[0] = 0;
	f->p.min_cwnd[0] = 15;
	f->sk.cwnd = 10;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 15);
}

TEST(the_stacks_first_window_is_not_touched)
{
	FIXTURE;

	start(f);
	f->p.start_cwnd[0] = 0;
	f->sk.snd_cwnd_clamp = 5;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->sk.cwnd, 10);
}

/* ignore_loss */

TEST(ignored_losses_do_not_shrink_the_window)
{
	FIXTURE;

	f->p.ignore_loss[0] = 1;
	f->b.cwnd_gain = 739;
	f->rs.losses = 50;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 110);
}

TEST(ignored_recovery_conserves_no_packets)
{
	FIXTURE;

	f->p.ignore_loss[0] = 1;
	f->b.cwnd_gain = 739;
	f->sk.ca_state = TCP_CA_Recovery;
	set_cwnd(f);
	assert_int_equal(f->b.packet_conservation, 0);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Recovery);
	assert_int_equal(f->b.next_round_delivered, 950);
	assert_int_equal(f->sk.cwnd, 110);
}

/* As tcp_enter_loss() does it: ssthresh(), a window of 1 beyond what is in flight, set_state(). */
TEST(the_window_is_back_on_the_first_ack_after_a_timeout)
{
	FIXTURE;

	f->p.ignore_loss[0] = 1;
	fixture_full_pipe(f, BBR_PROBE_BW);
	bbr_ssthresh(&f->b, &f->sk);
	f->sk.cwnd = 1;
	bbr_set_state(&f->b, &f->sk, TCP_CA_Loss);
	f->sk.ca_state = TCP_CA_Loss;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 110);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Loss);
	f->sk.cwnd = 1; /* a timeout in the same recovery, whose ACK ends it */
	f->sk.ca_state = TCP_CA_Open;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 110);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Open);
	f->sk.cwnd = 90; /* nothing is restored later on */
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 100);
}

TEST(conservation_ends_when_losses_are_to_be_ignored)
{
	FIXTURE;

	f->p.ignore_loss[0] = 1;
	fixture_full_pipe(f, BBR_PROBE_BW);
	f->sk.ca_state = f->b.prev_ca_state = TCP_CA_Recovery;
	f->b.packet_conservation = 1;
	f->b.prior_cwnd = 150;
	f->sk.cwnd = 20;
	set_cwnd(f);
	assert_int_equal(f->b.packet_conservation, 0);
	assert_int_equal(f->sk.cwnd, 160);
}

TEST(a_larger_window_is_kept_when_losses_are_ignored)
{
	FIXTURE;

	f->p.ignore_loss[0] = 1;
	f->b.cwnd_gain = 739;
	f->b.prev_ca_state = TCP_CA_Recovery;
	f->b.prior_cwnd = 50;
	set_cwnd(f);
	assert_int_equal(f->sk.cwnd, 110);
}

static bool is_probing_over(struct fixture *f, u32 us, u32 losses)
{
	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = BBR_PHASE_PROBE;
	f->b.pacing_gain = 320;
	f->b.cycle_mstamp = NOW_US - us;
	f->rs.losses = losses;
	update_cycle(f);
	return f->b.cycle_idx == BBR_PHASE_DRAIN;
}

TEST(ignored_losses_do_not_end_probing)
{
	FIXTURE;

	assert_true(is_probing_over(f, MIN_RTT + 1, 1));
	f->p.ignore_loss[0] = 1;
	assert_false(is_probing_over(f, MIN_RTT + 1, 1));
	f->rs.prior_in_flight = 1000;
	assert_true(is_probing_over(f, MIN_RTT + 1, 0));
}

/* A queue that is too short for the target loses what is sent beyond it. */
TEST(probing_ends_though_losses_are_ignored)
{
	FIXTURE;

	f->p.ignore_loss[0] = 1;
	assert_false(is_probing_over(f, 8 * MIN_RTT, 1));
	assert_true(is_probing_over(f, 8 * MIN_RTT + 1, 0));
	f->p.cycle_len[0] = 4;
	assert_false(is_probing_over(f, 4 * MIN_RTT, 1));
	assert_true(is_probing_over(f, 4 * MIN_RTT + 1, 1));
	f->p.ignore_loss[0] = 0;
	assert_false(is_probing_over(f, 8 * MIN_RTT + 1, 0)); /* mainline has no such end */
}

/* All together. */

TEST(all_that_is_given_holds_at_once)
{
	FIXTURE;

	f->p.pin_bw[0] = PINNED;
	f->p.pin_min_rtt[0] = 25600;
	f->p.ignore_loss[0] = 1;
	f->p.min_cwnd[0] = 30;
	f->p.max_cwnd[0] = 150;
	f->p.min_pacing_rate[0] = 30000;
	f->p.max_pacing_rate[0] = 33000;
	f->b.mode = BBR_PROBE_RTT;
	f->b.prior_cwnd = 200;
	f->sk.cwnd = 4;
	f->rs.losses = 7;
	ack(f);
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
	for (int i = 0; i < 2000; i++) {
		f->sk.delivered_mstamp += 1280;
		f->sk.now_ms += 10;
		f->sk.delivered += 5;
		f->rs.prior_delivered = f->sk.delivered - 50;
		ack(f);
		assert_int_equal(bbr_bw(&f->b), BW / 2);
		assert_int_equal(f->b.min_rtt_us, 25600);
		assert_in_range(f->sk.cwnd, 30, 150);
		if (i)
			assert_in_range(f->sk.pacing_rate, 3750000, 4125000);
		assert_int_not_equal(f->b.mode, BBR_PROBE_RTT);
	}
	assert_int_equal(f->b.mode, BBR_PROBE_BW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(none_is_on_by_default),
		T(each_is_noticed),
		T(the_connections_profile_is_not_the_algorithms),
		T(a_pinned_bandwidth_is_the_bandwidth),
		T(a_pinned_bandwidth_is_of_payload),
		T(a_pinned_bandwidth_has_an_end_on_both_sides),
		T(the_highest_pinned_bandwidth_overflows_no_rate),
		T(a_round_goes_on_under_a_pinned_bandwidth),
		T(a_pinned_bandwidth_is_nothing_to_search),
		T(no_policer_is_looked_for_under_a_pinned_bandwidth),
		T(the_estimate_leaves_the_pinned_bandwidth_within_a_window),
		T(a_pinned_min_rtt_is_min_rtt),
		T(a_pinned_min_rtt_does_not_expire),
		T(probe_rtt_ends_when_min_rtt_is_pinned),
		T(min_rtt_is_measured_again_a_window_after_it_was_pinned),
		T(the_bdp_of_what_is_pinned_has_an_end),
		T(a_fixed_rate_is_the_rate),
		T(the_rate_is_fixed_from_the_first_packet),
		T(the_rate_has_bounds),
		T(a_fixed_rate_has_bounds_too),
		T(the_rate_that_startup_keeps_has_bounds),
		T(the_first_rate_has_bounds),
		T(drain_ends_if_the_rate_cannot_drain),
		T(the_window_permits_the_fixed_rate),
		T(only_a_fixed_rate_has_a_window_of_its_own),
		T(the_window_of_a_fixed_rate_has_an_end),
		T(the_window_has_bounds),
		T(the_window_of_an_ack_of_nothing_has_bounds),
		T(the_window_has_bounds_in_recovery),
		T(the_window_has_bounds_in_probe_rtt),
		T(the_clock_of_probe_rtt_starts_at_the_bounds),
		T(the_window_after_probe_rtt_has_bounds),
		T(probe_rtt_may_keep_a_share_of_the_bdp),
		T(probe_rtt_may_keep_a_share_of_the_window),
		T(probe_rtt_takes_the_larger_share),
		T(the_share_is_the_cap_and_where_the_clock_starts),
		T(the_share_is_of_the_window_before_probe_rtt),
		T(the_cycle_has_so_many_phases),
		T(any_phase_in_use_but_draining_is_the_first_as_often),
		T(drain_to_target_probes_as_always),
		T(drain_to_target_drains_until_the_queue_is_gone),
		T(drain_to_target_looks_at_inflight_at_the_departure_time),
		T(drain_to_target_drains_to_max_bw),
		T(drain_to_target_cruises_until_the_cycle_is_over),
		T(drain_to_target_begins_anew_in_any_phase),
		T(drain_to_target_draws_the_length_of_a_cycle),
		T(drain_to_target_enters_with_probing_or_cruising),
		T(drain_to_target_may_come_and_go),
		T(drain_to_target_is_of_probe_bw),
		T(a_cycle_of_long_min_rtts_does_not_end_early),
		T(a_new_connection_starts_with_start_cwnd),
		T(a_running_connection_keeps_its_window),
		T(a_window_of_1_for_a_lost_syn_is_kept),
		T(the_first_window_has_bounds),
		T(the_stacks_first_window_is_not_touched),
		T(losses_of_a_fixed_rate_are_made_up),
		T(what_is_made_up_has_an_end),
		T(losses_count_for_seconds),
		T(ignored_losses_do_not_shrink_the_window),
		T(ignored_recovery_conserves_no_packets),
		T(the_window_is_back_on_the_first_ack_after_a_timeout),
		T(conservation_ends_when_losses_are_to_be_ignored),
		T(a_larger_window_is_kept_when_losses_are_ignored),
		T(ignored_losses_do_not_end_probing),
		T(probing_ends_though_losses_are_ignored),
		T(all_that_is_given_holds_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
