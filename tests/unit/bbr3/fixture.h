/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection in mid-life that all tests start from, with numbers that are easy to calculate with:
 * bw 1/128 packet per microsecond and min_rtt 12800 us make a BDP of 100 packets; the TSO goal is
 * 2, so no window is less than 6. It cruises with a full pipe and an inflight_hi of 200 packets,
 * and has waited half a second of its 2.5 s. This ACK starts no round, nothing is lost, and its
 * sample equals bw.
 */
#ifndef BBR3_TEST_FIXTURE_H
#define BBR3_TEST_FIXTURE_H

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
#define RATE 7734375u /* BW x 1000 bytes at 1.0, less 1 % */
#define NOW_US 50000000ull
#define NOW_MS 50000u
#define NO_LIMIT 0xffffffffu
#define STEP(reason) (1 << BBR_R_##reason)

struct fixture {
	struct bbr b;
	struct bbr_more more;
	struct bbr_history history;
	struct shell_sock sk;
	struct shell_rs rs;
	struct bbr_ack ack;
	struct bbr_sample s; /* of rs and ack */
	struct bbr_params p;
};

static inline int fixture_setup(void **state)
{
	static const struct bbr_params defaults = BBR_PARAMS_DEFAULT;
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	f.p = defaults;
	f.sk = (struct shell_sock){
		.param = &f.p,
		.more = &f.more,
		.history = &f.history,
		.has_history = true,
		.tcp_mstamp = NOW_US + 500, /* the clock is read after the data was delivered */
		.delivered_mstamp = NOW_US,
		.tcp_clock_cache = NOW_US * 1000,
		.max_pacing_rate = ~0ull,
		.now_ms = NOW_MS,
		.delivered = 1000,
		.inflight = 50,
		.lost = 40,
		.snd_una = 100000,
		.snd_nxt = 150000,
		.mss = 1000,
		.srtt_us = MIN_RTT << 3,
		.min_rtt_us = MIN_RTT,
		.snd_cwnd_clamp = NO_LIMIT,
		.pacing_shift = 10,
		.ca_state = TCP_CA_Open,
		.gso_max_size = 65536,
		.max_tcp_header = 320,
		.min_tso_segs = 2,
		.pacing_rate = 1000000,
		.cwnd = 100,
		.ssthresh = 0x7fffffff,
	};
	f.rs = (struct shell_rs){
		.delivered = 10,
		.interval_us = 1280,
		.rtt_us = MIN_RTT + 1000,
		.prior_delivered = 900,
		.prior_in_flight = 150,
		.acked_sacked = 10,
		.last_end_seq = 100000,
	};
	f.ack.flight.tx_in_flight = 100;
	f.s = (struct bbr_sample){ .rs = &f.rs, .ack = &f.ack, .bw = BW };
	f.b = (struct bbr){
		.min_rtt_us = MIN_RTT,
		.min_rtt_stamp = NOW_MS - 1000,
		.probe_rtt_min_us = MIN_RTT,
		.probe_rtt_min_stamp = NOW_MS - 1000,
		.next_round_delivered = 950,
		.loss_round_delivered = 950,
		.full_bw = BW,
		.bw_lo = BBR_BW_NONE,
		.bw_hi = { BW, BW },
		.rounds_since_probe = 3,
		.inflight_hi = 200,
		.init_cwnd = 10,
		.initialized = 1,
		.probe_up_cnt = BBR_COUNT_NONE,
		.probe_wait_us = 2500000,
		.mode = BBR_PROBE_BW,
		.cycle_idx = BBR_CRUISE,
		.inflight_lo = BBR_COUNT_NONE,
		.cycle_mstamp = NOW_US - 500000,
		.full_bw_reached = 1,
		.has_seen_rtt = 1,
		.ack_epoch_mstamp = NOW_US,
		.last_lost = 40,
	};
	/* It lies in the padding of what the initializer names, whose bits may be anything. */
	f.b.steps = 0;
	f.history.lost_before = f.history.prior_lost = 40;
	*state = &f;
	return 0;
}

/* This ACK acknowledges what was sent after the round began. */
static inline void fixture_start_round(struct fixture *f)
{
	f->rs.prior_delivered = f->b.next_round_delivered;
}

static inline void fixture_phase(struct fixture *f, enum bbr_phase phase)
{
	f->b.mode = BBR_PROBE_BW;
	f->b.cycle_idx = phase;
}

/* The pipe is not full yet. */
static inline void fixture_startup(struct fixture *f)
{
	f->b.mode = BBR_STARTUP;
	f->b.cycle_idx = BBR_UP;
	f->b.full_bw_reached = 0;
	f->b.inflight_hi = BBR_COUNT_NONE;
}

/* More than 5/256 of the flight is lost. */
static inline void fixture_lossy(struct fixture *f)
{
	f->ack.flight.lost = 2; /* 1 of 100 packets is allowed */
}

/* A short path with few marks, which BBR heeds. */
static inline void fixture_ecn(struct fixture *f)
{
	f->sk.uses_ecn = true;
	f->more.ecn_eligible = 1;
	f->more.ecn_alpha = 128;
}

#define TEST(name) static void name(void **state)
#define FIXTURE struct fixture *f = *state
#define T(name) cmocka_unit_test_setup(name, fixture_setup)

#endif
