/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection in mid-life that all tests start from, with numbers that are easy to calculate with:
 * bw 1/128 packet per microsecond and min_rtt 12800 us make a BDP of 100 packets; the TSO goal is
 * 2, which makes a budget of 6. This ACK starts no round and its sample equals bw.
 */
#ifndef BBR_TEST_FIXTURE_H
#define BBR_TEST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "algorithm.h"
#include "common/clamp.h"

#define BW 131072u /* 2^24 / 128 */
#define MIN_RTT 12800u
#define RATE 7734375u /* BW x 1000 bytes at 1.0, less 1 %: 7812.5 x 1000 x 0.99 */
#define NOW_US 50000000ull
#define NOW_MS 50000u
#define NO_LIMIT 0xffffffffu
#define STEP(reason) (1 << BBR_R_##reason)

struct fixture {
	struct bbr b;
	struct shell_sock sk;
	struct shell_rs rs;
	struct bbr_params p;
};

static inline void fixture_set_max_bw(struct fixture *f, u32 bw)
{
	for (int i = 0; i < 3; i++)
		f->b.bw.s[i] = (struct minmax_sample){ .t = f->b.round_count, .v = bw };
}

static inline int fixture_setup(void **state)
{
	static const struct bbr_params defaults = BBR_PARAMS_DEFAULT;
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	f.p = defaults;
	f.sk = (struct shell_sock){
		.param = &f.p,
		.tcp_mstamp = NOW_US + 500, /* the clock is read after the data was delivered */
		.delivered_mstamp = NOW_US,
		.tcp_clock_cache = NOW_US * 1000,
		.tcp_wstamp_ns = 0,
		.max_pacing_rate = ~0ull,
		.now_ms = NOW_MS,
		.delivered = 1000,
		.inflight = 50,
		.mss = 1000,
		.srtt_us = MIN_RTT << 3,
		.min_rtt_us = MIN_RTT,
		.snd_cwnd_clamp = NO_LIMIT,
		.pacing_shift = 10,
		.ca_state = TCP_CA_Open,
		.pacing_rate = 1000000,
		.cwnd = 100,
		.ssthresh = 0x7fffffff,
	};
	f.rs = (struct shell_rs){
		.delivered = 10,
		.interval_us = 1280,
		.rtt_us = MIN_RTT + 1000,
		.prior_delivered = 900,
		.prior_in_flight = 60,
		.acked_sacked = 10,
	};
	f.b.min_rtt_us = MIN_RTT;
	f.b.min_rtt_stamp = NOW_MS - 1000;
	f.b.round_count = 20;
	f.b.next_round_delivered = 950;
	f.b.cycle_mstamp = NOW_US;
	f.b.ack_epoch_mstamp = NOW_US;
	f.b.has_seen_rtt = 1;
	f.b.pacing_gain = 256;
	f.b.cwnd_gain = 512;
	fixture_set_max_bw(&f, BW);
	*state = &f;
	return 0;
}

/* This ACK acknowledges what was sent after the round began. */
static inline void fixture_start_round(struct fixture *f)
{
	f->rs.prior_delivered = f->b.next_round_delivered;
}

static inline void fixture_full_pipe(struct fixture *f, u8 mode)
{
	f->b.full_bw_reached = 1;
	f->b.full_bw = BW;
	f->b.mode = mode;
}

#define TEST(name) static void name(void **state)
#define FIXTURE struct fixture *f = *state
#define T(name) cmocka_unit_test_setup(name, fixture_setup)

#endif
