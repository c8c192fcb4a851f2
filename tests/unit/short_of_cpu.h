/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu_gain, which both versions of BBR have: the tests, after fixture.h. The version defines where it
 * keeps BEHIND(f), GAIN_TO_PACE(f), CRUISE(f), and RAISE_GAIN(f), which sets a gain of 1.25.
 */
#ifndef TEST_SHORT_OF_CPU_H
#define TEST_SHORT_OF_CPU_H

/* A burst lasts 2^-10 s, 976,562 ns. There is a packet to send, and room for it. */
static void make_late(struct fixture *f)
{
	f->p.cpu_gain[0] = 739;
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache - 976563;
	f->sk.snd_nxt = 0xffffff00;
	f->sk.write_seq = f->sk.snd_nxt + 1000;
	f->sk.is_cwnd_limited = false;
	f->sk.is_rwnd_limited = false;
	BEHIND(f) = 0;
}

static bool becomes_behind(struct fixture *f)
{
	bbr_min_tso_segs(&f->b, &f->sk);
	return BEHIND(f);
}

TEST(a_sender_that_sends_late_for_want_of_cpu_is_behind)
{
	FIXTURE;

	make_late(f);
	assert_true(becomes_behind(f));
	make_late(f);
	f->sk.tcp_wstamp_ns++;
	assert_false(becomes_behind(f));
	make_late(f);
	f->sk.write_seq--; /* Nagle's algorithm may hold back less than a packet */
	assert_false(becomes_behind(f));
	make_late(f);
	f->sk.write_seq = f->sk.snd_nxt + 255; /* the last before it wraps around */
	assert_false(becomes_behind(f));
	make_late(f);
	f->sk.is_rwnd_limited = true;
	assert_false(becomes_behind(f));
	make_late(f);
	f->p.cpu_gain[0] = 0;
	assert_false(becomes_behind(f));
}

/* So without cpu_gain it costs two instructions. */
TEST(the_clock_is_looked_at_in_a_function_of_its_own)
{
	FIXTURE;

	CRUISE(f);
	assert_false(bbr_is_burst_rare(&f->b, &f->sk));
	f->p.cpu_gain[0] = 256;
	assert_true(bbr_is_burst_rare(&f->b, &f->sk));
}

TEST(a_sender_with_a_full_window_is_late_after_half_an_rtt)
{
	FIXTURE;

	make_late(f);
	f->sk.is_cwnd_limited = true;
	assert_false(becomes_behind(f));
	f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache - MIN_RTT / 2 * 1000;
	assert_false(becomes_behind(f));
	f->sk.tcp_wstamp_ns--;
	assert_true(becomes_behind(f));
	make_late(f);
	f->sk.is_cwnd_limited = true;
	f->sk.min_rtt_us = 10; /* not before a burst's own pause */
	f->sk.tcp_wstamp_ns++;
	assert_false(becomes_behind(f));
	f->sk.tcp_wstamp_ns--;
	assert_true(becomes_behind(f));
}

static u32 gain_with(struct fixture *f, u32 inflight)
{
	f->sk.inflight = inflight;
	return GAIN_TO_PACE(f);
}

TEST(a_sender_that_is_behind_paces_faster_until_inflight_is_what_it_aims_at)
{
	FIXTURE;

	make_late(f);
	CRUISE(f);
	f->sk.cwnd = 200;
	f->b.extra_acked[1] = 20;
	assert_int_equal(gain_with(f, 119), 256);
	BEHIND(f) = 1;
	assert_int_equal(gain_with(f, 119), 739);
	assert_int_equal(gain_with(f, 0), 739);
	assert_int_equal(gain_with(f, 120), 256);
	assert_int_equal(gain_with(f, 0), 256);
	BEHIND(f) = 1;
	f->sk.cwnd = 110;
	assert_int_equal(gain_with(f, 109), 739);
	assert_int_equal(gain_with(f, 110), 256);
}

TEST(a_sender_that_is_behind_in_a_probe_aims_at_more)
{
	FIXTURE;

	make_late(f);
	CRUISE(f);
	RAISE_GAIN(f);
	f->sk.cwnd = 200;
	f->b.extra_acked[1] = 20;
	BEHIND(f) = 1;
	assert_int_equal(gain_with(f, 144), 923); /* 1.25 x 2.887 */
	assert_int_equal(gain_with(f, 145), 320);
}

/* A tiny BDP must not end it before anything was sent, nor a value past bbrctl slow anything down. */
TEST(a_sender_that_is_behind_paces_no_slower_and_within_the_bits_of_a_gain)
{
	FIXTURE;

	make_late(f);
	CRUISE(f);
	f->sk.cwnd = 200;
	f->b.min_rtt_us = 1;
	BEHIND(f) = 1;
	assert_int_equal(gain_with(f, 3), 739);
	f->p.cpu_gain[0] = 100;
	assert_int_equal(gain_with(f, 3), 256);
	assert_true(BEHIND(f));
	f->p.cpu_gain[0] = 4095;
	assert_int_equal(gain_with(f, 3), 4095);
	RAISE_GAIN(f);
	assert_int_equal(gain_with(f, 3), 4095);
	assert_int_equal(gain_with(f, 4), 320);
}

static u64 rate_after_ack(struct fixture *f, bool behind)
{
	BEHIND(f) = behind;
	bbr_main(&f->b, &f->sk, &f->rs);
	return f->sk.pacing_rate;
}

TEST(the_rate_after_an_ack_is_of_the_raised_gain)
{
	FIXTURE;
	u64 rate;

	make_late(f);
	CRUISE(f);
	f->sk.inflight = 10;
	rate = rate_after_ack(f, false);
	assert_in_range(rate_after_ack(f, true), rate * 288 / 100, rate * 289 / 100);
	assert_int_equal(rate_after_ack(f, false), rate);
}

#define SHORT_OF_CPU_TESTS                                                                 \
	T(a_sender_that_sends_late_for_want_of_cpu_is_behind),                             \
		T(the_rate_after_an_ack_is_of_the_raised_gain),                            \
		T(the_clock_is_looked_at_in_a_function_of_its_own),                        \
		T(a_sender_with_a_full_window_is_late_after_half_an_rtt),                  \
		T(a_sender_that_is_behind_paces_faster_until_inflight_is_what_it_aims_at), \
		T(a_sender_that_is_behind_in_a_probe_aims_at_more),                        \
		T(a_sender_that_is_behind_paces_no_slower_and_within_the_bits_of_a_gain)

#endif
