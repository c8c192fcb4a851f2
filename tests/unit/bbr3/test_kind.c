/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of ACKs: which ACK has which kind, and that what a kind skips changes nothing. */
#include "fixture.h"

static void make_in_order(struct fixture *f)
{
	f->b.in_order = 1;
	f->b.full_bw_now = 1;
	f->rs.prior_delivered = 940;
	f->sk.pacing_rate = 14000000; /* more than the rate of DOWN */
}

static void assert_kind(struct fixture *f, u8 kind)
{
	struct fixture was = *f;

	assert_int_equal(bbr_kind(&f->b, &f->sk, &f->rs), kind);
	assert_memory_equal(f, &was, sizeof(was));
}

/* The ACK is of this kind, and has the same effect by it as it has as any ACK. */
static void assert_same(struct fixture *f, u8 kind)
{
	struct fixture of_kind = *f, of_any = *f;

	assert_kind(f, kind);
	if (f->sk.more) {
		of_kind.sk.more = &of_kind.more;
		of_any.sk.more = &of_any.more;
	}
	if (f->sk.history) {
		of_kind.sk.history = &of_kind.history;
		of_any.sk.history = &of_any.history;
	}
	of_kind.sk.kind = kind;
	bbr_main(&of_kind.b, &of_kind.sk, &of_kind.rs);
	bbr_main(&of_any.b, &of_any.sk, &of_any.rs);
	of_kind.sk.kind = SHELL_GENERAL;
	of_kind.sk.more = of_any.sk.more = NULL;
	of_kind.sk.history = of_any.sk.history = NULL;
	assert_memory_equal(&of_kind, &of_any, sizeof(of_any));
}

/* With one thing changed the ACK has this kind. */
#define CHANGED(change, kind)            \
	do {                             \
		struct fixture was = *f; \
		change;                  \
		assert_same(f, kind);    \
		*f = was;                \
	} while (0)

TEST(phases_that_wait_for_a_probe_are_fast)
{
	FIXTURE;

	make_in_order(f);
	for (int phase = BBR_UP; phase < BBR_PHASES; phase++) {
		u8 kind = phase == BBR_CRUISE ? SHELL_FAST_1 :
			  phase == BBR_DOWN   ? SHELL_FAST_2 :
						SHELL_REGULAR;
		u8 if_new = kind == SHELL_FAST_2 ? SHELL_REGULAR : kind;

		fixture_phase(f, phase);
		CHANGED((void)0, kind);
		CHANGED(f->rs.prior_delivered = f->b.next_round_delivered, kind);
		CHANGED(f->rs.is_app_limited = true, SHELL_REGULAR);
		CHANGED(f->b.probe_samples = 1, kind);
		CHANGED(f->b.rounds_since_probe = 63, SHELL_REGULAR);
		CHANGED(f->b.rounds_since_probe = 255, SHELL_REGULAR);
		CHANGED(f->rs.prior_in_flight = 20, if_new);
		CHANGED(f->b.new_gains = 1, SHELL_REGULAR);
		CHANGED(f->b.steps = 1, kind); /* of the previous callback */
		CHANGED((f->b.try_fast_path = 1, f->rs.is_app_limited = true), SHELL_REGULAR);
		CHANGED((f->b.try_fast_path = 1, f->rs.is_app_limited = true, f->rs.interval_us++),
			SHELL_REGULAR);
		CHANGED(f->rs.rtt_us = MIN_RTT - 1, if_new);
	}
}

/*
 * The ACK has this kind while the next probe is not due, and would not be due either if a round
 * began with this ACK. if_new: its kind if also the bandwidth changes, or losses bound it.
 */
static void check_wait(struct fixture *f, enum bbr_phase phase, u8 kind, u8 if_new)
{
	make_in_order(f);
	fixture_phase(f, phase);
	CHANGED(f->b.acks = BBR_ACKS_PROBE_STOPPING, SHELL_REGULAR);
	CHANGED(f->b.full_bw_now = 0, SHELL_REGULAR);
	CHANGED((f->b.full_bw_now = 0, fixture_start_round(f)), SHELL_REGULAR);
	CHANGED(f->b.rounds_since_probe = 61, kind);
	CHANGED((f->b.rounds_since_probe = 61, fixture_start_round(f)), kind);
	CHANGED(f->b.rounds_since_probe = 62, SHELL_REGULAR);
	CHANGED((f->b.rounds_since_probe = 62, fixture_start_round(f)), SHELL_REGULAR);
	CHANGED((f->b.rounds_since_probe = 20, f->sk.cwnd = 22), kind);
	CHANGED((f->b.rounds_since_probe = 20, f->sk.cwnd = 21), SHELL_REGULAR);
	/* 52 packets of BDP, and 51 */
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_hi[1] = 68158), if_new);
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_hi[1] = 68157), SHELL_REGULAR);
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_lo = 68158), if_new);
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_lo = 68157), SHELL_REGULAR);
	CHANGED(f->sk.tcp_mstamp = f->b.cycle_mstamp + f->b.probe_wait_us, kind);
	CHANGED(f->sk.tcp_mstamp = f->b.cycle_mstamp + f->b.probe_wait_us + 1, SHELL_REGULAR);
}

TEST(who_waits_waits_on)
{
	FIXTURE;

	check_wait(f, BBR_CRUISE, SHELL_FAST_1, SHELL_FAST_1);
	check_wait(f, BBR_DOWN, SHELL_FAST_2, SHELL_REGULAR);
	f->rs.prior_in_flight = 20;
	check_wait(f, BBR_DOWN, SHELL_REGULAR, SHELL_REGULAR);
}

/* if_new: the kind if the bandwidth or min_rtt changes. */
static void check_model(struct fixture *f, u8 kind, u8 if_new)
{
	for (int i = 0; i < 2; i++) {
		CHANGED(f->b.bw_latest = 2 * BW, kind);
		CHANGED(f->b.bw_hi[1] = BW / 2, if_new);
		CHANGED(f->b.inflight_latest = 9, kind);
		CHANGED(f->b.inflight_latest = 11, kind);
		CHANGED(f->b.inflight_hi = 9, kind);
		CHANGED((f->rs.last_end_seq = f->sk.snd_una + 1001, f->b.inflight_hi = 11), kind);
		CHANGED(f->b.inflight_hi = BBR_COUNT_NONE, kind);
		CHANGED(f->b.inflight_lo = 50, kind);
		CHANGED(f->b.full_bw = 2 * BW, kind);
		CHANGED((f->b.bw_latest = 2 * BW, f->b.bw_hi[1] = 2 * BW), if_new);
		CHANGED((f->rs.delivered = 300, f->rs.interval_us = 38400, f->b.bw_latest = BW / 2),
			kind);
		CHANGED((f->rs.delivered = 257, f->rs.interval_us = 1,
			 f->b.bw_latest = f->b.bw_hi[1] = 2 << 24),
			if_new);
		CHANGED(f->b.ack_epoch_acked = 1, kind);
		CHANGED((f->b.extra_acked[0] = 20, f->b.extra_acked[1] = 30), kind);
		CHANGED((f->b.extra_acked_win_rtts = 4, f->b.extra_acked[0] = 20), kind);
		CHANGED(f->b.extra_acked_win_rtts = 10, kind);
		CHANGED((f->b.extra_acked_win_rtts = 10, f->p.extra_acked_gain[0] = 0), kind);
		CHANGED(f->b.rounds_since_probe = BBR_CRUISE_ROUNDS - 2, kind); /* note it */
		CHANGED(f->b.rounds_since_probe = BBR_CRUISE_ROUNDS - 1, kind);
		CHANGED(f->sk.cwnd = 500, kind);
		CHANGED((f->sk.mss = 100, f->sk.pacing_rate = 1400000), kind);
		CHANGED(f->p.extra_acked_gain[0] = 0, kind);
		CHANGED(f->rs.rtt_us = -1, kind);
		CHANGED((f->rs.rtt_us = MIN_RTT, f->b.probe_rtt_min_us = MIN_RTT - 1), if_new);
		CHANGED((f->b.probe_rtt_min_us = MIN_RTT + 1, f->b.min_rtt_stamp -= 10000), kind);
		fixture_start_round(f); /* and a loss round */
	}
}

TEST(model_is_the_same_by_each_kind)
{
	FIXTURE;
	struct fixture begin;

	make_in_order(f);
	begin = *f;
	/* The BDP of CRUISE need not have room for bursts. */
	CHANGED((f->sk.cwnd = 500, f->sk.min_tso_segs = 70, f->b.inflight_hi = BBR_COUNT_NONE),
		SHELL_FAST_1);
	check_model(f, SHELL_FAST_1, SHELL_FAST_1);
	*f = begin;
	fixture_phase(f, BBR_DOWN);
	begin = *f;
	check_model(f, SHELL_FAST_2, SHELL_REGULAR);
	for (u32 inflight = 93; inflight <= 100; inflight++) { /* CRUISE begins, or not */
		*f = begin;
		f->rs.prior_in_flight = inflight;
		check_model(f, SHELL_REGULAR, SHELL_REGULAR);
	}
}

/*
 * DOWN goes on while more than the BDP, 100 packets, is in the network, and the BDP stays and has
 * room for bursts.
 */
#define RATE_OF_DOWN bbr_rate_bytes_per_sec(&f->sk, BW, f->p.probe_bw_gains[BBR_DOWN])

TEST(down_is_fast_while_it_goes_on)
{
	FIXTURE;

	make_in_order(f);
	fixture_phase(f, BBR_DOWN);
	for (int i = 0; i < 2; i++) {
		CHANGED(f->rs.prior_in_flight = 101, SHELL_FAST_2);
		CHANGED(f->rs.prior_in_flight = 100, SHELL_REGULAR);
		CHANGED(f->rs.prior_in_flight = BBR_COUNT_NONE, SHELL_FAST_2);
		CHANGED(f->rs.prior_in_flight = BBR_COUNT_NONE + 1, SHELL_REGULAR);
		/* The network delivers 10 packets until the EDT. */
		f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280 * NSEC_PER_USEC;
		CHANGED(f->rs.prior_in_flight = 111, SHELL_FAST_2);
		CHANGED(f->rs.prior_in_flight = 110, SHELL_REGULAR);
		f->sk.tcp_wstamp_ns = 0;
		CHANGED(f->b.raising = 1, SHELL_FAST_2);
		CHANGED(f->b.inflight_hi = 110, SHELL_FAST_2);
		CHANGED(f->rs.is_app_limited = true, SHELL_REGULAR);

		CHANGED(f->rs.rtt_us = MIN_RTT, SHELL_FAST_2);
		CHANGED(f->rs.rtt_us = MIN_RTT - 1, SHELL_REGULAR);
		CHANGED(f->rs.rtt_us = -1, SHELL_FAST_2);
		CHANGED((f->rs.rtt_us = MIN_RTT, f->b.probe_rtt_min_us = MIN_RTT - 1),
			SHELL_REGULAR);
		CHANGED((f->b.probe_rtt_min_us = MIN_RTT + 1, f->b.min_rtt_stamp -= 10000),
			SHELL_FAST_2); /* min_rtt_us grows */
		CHANGED(f->rs.interval_us = 1279, SHELL_REGULAR);
		CHANGED(f->b.bw_hi[0] = BW / 2, SHELL_FAST_2);
		CHANGED((f->b.bw_hi[0] = 2 * BW, f->rs.prior_in_flight = 201,
			 f->sk.pacing_rate *= 2),
			SHELL_FAST_2);
		CHANGED((f->b.bw_hi[0] = 2 * BW, f->rs.prior_in_flight = 200), SHELL_REGULAR);
		CHANGED(f->b.bw_lo = BW, SHELL_FAST_2);
		CHANGED(f->b.bw_lo = BW - 1, SHELL_REGULAR);

		CHANGED(f->p.cwnd_min_target[0] = 100, SHELL_FAST_2);
		CHANGED(f->p.cwnd_min_target[0] = 101, SHELL_REGULAR);
		CHANGED(f->sk.min_tso_segs = 33, SHELL_FAST_2);
		CHANGED(f->sk.min_tso_segs = 34, SHELL_REGULAR);
		/* A third of the BDP is 33333 bytes, less 256 at this RTT. */
		CHANGED(f->sk.pacing_rate = 33077 << 10, SHELL_FAST_2);
		/* 0.9 times 100 packets of 1000 bytes in 12.8 ms, less the margin of 1 % */
		CHANGED(f->sk.pacing_rate = RATE_OF_DOWN, SHELL_FAST_2);
		CHANGED(f->sk.pacing_rate = RATE_OF_DOWN - 1, SHELL_REGULAR);
		CHANGED((f->sk.pacing_rate = 1000, f->sk.max_pacing_rate = 1000), SHELL_FAST_2);
		CHANGED(f->sk.pacing_rate = 33078 << 10, SHELL_REGULAR);
		CHANGED(f->p.tso_rtt[0] = MIN_RTT / 8, SHELL_FAST_2);
		CHANGED(f->p.tso_rtt[0] = MIN_RTT / 8 + 1, SHELL_REGULAR);
		CHANGED((f->sk.pacing_rate = ~0ull, f->sk.mss = 1967), SHELL_FAST_2); /* 64 KB */
		CHANGED((f->sk.pacing_rate = ~0ull, f->sk.mss = 1966), SHELL_REGULAR);

		f->b.bw_hi[0] = f->b.bw_hi[1] = BW / 2; /* 50 packets of BDP */
		f->rs.interval_us = 2560;
		CHANGED(f->b.rounds_since_probe = 48, SHELL_FAST_2);
		CHANGED(f->b.rounds_since_probe = 49, SHELL_REGULAR);
		f->b.bw_hi[0] = f->b.bw_hi[1] = BW;
		f->rs.interval_us = 1280;
		fixture_start_round(f); /* and a loss round */
	}
}

TEST(startup_and_drain_are_regular)
{
	FIXTURE;

	make_in_order(f);
	CHANGED(f->b.mode = BBR_DRAIN, SHELL_REGULAR);
	CHANGED(f->b.full_bw_reached = 0, SHELL_REGULAR);
	f->b.mode = BBR_STARTUP;
	CHANGED((void)0, SHELL_REGULAR);
	f->b.full_bw_reached = 0;
	f->b.full_bw_now = 0;
	for (int i = 0; i < 2; i++) {
		CHANGED((void)0, SHELL_REGULAR);
		CHANGED(f->b.full_bw = 2 * BW, SHELL_REGULAR);
		CHANGED((f->b.full_bw = 2 * BW, f->b.full_bw_cnt = 2), SHELL_REGULAR);
		CHANGED(f->b.full_bw_now = 1, SHELL_REGULAR);
		CHANGED(f->b.new_gains = 1, SHELL_REGULAR);
		CHANGED(f->b.loss_events_in_round = 5, SHELL_REGULAR);
		CHANGED(f->b.rounds_since_probe = 255, SHELL_REGULAR);
		CHANGED(f->sk.pacing_rate = 1, SHELL_REGULAR);
		CHANGED((f->b.try_fast_path = 1, f->rs.is_app_limited = true), SHELL_REGULAR);
		CHANGED(f->b.min_rtt_us = 0xffffff, SHELL_REGULAR);
		fixture_start_round(f); /* and a loss round */
	}
}

TEST(general_is_the_rest)
{
	FIXTURE;

	make_in_order(f);
	CHANGED(f->b.prev_ca_state = TCP_CA_Loss, SHELL_GENERAL);
	CHANGED(f->b.loss_in_round = 1, SHELL_GENERAL);
	CHANGED(f->b.mode = BBR_PROBE_RTT, SHELL_GENERAL);
	CHANGED(f->b.idle_restart = 1, SHELL_GENERAL);
	CHANGED(f->b.has_seen_rtt = 0, SHELL_GENERAL);
	CHANGED(f->b.watched = 1, SHELL_FAST_1); /* the shell looks at the mark */
	CHANGED(f->rs.acked_sacked = 0, SHELL_GENERAL);
	CHANGED(f->rs.acked_sacked = 0x1000000u, SHELL_FAST_1);
	CHANGED(f->rs.acked_sacked = 0x1000001u, SHELL_GENERAL);
	CHANGED(f->rs.interval_us = 0, SHELL_GENERAL);
	CHANGED(f->rs.interval_us = 1, SHELL_FAST_1);
	CHANGED(f->rs.interval_us = 0x1000000ll, SHELL_FAST_1);
	CHANGED(f->rs.interval_us = 0x1000001ll, SHELL_GENERAL);
	CHANGED(f->rs.interval_us = (1ll << 32) + 1280, SHELL_GENERAL);
	CHANGED(f->b.min_rtt_us = 0xffffff, SHELL_FAST_1);
	CHANGED(f->b.min_rtt_us = 0x1000000, SHELL_GENERAL);
	CHANGED(f->b.min_rtt_us = BBR_RTT_NONE, SHELL_GENERAL);
	CHANGED(f->sk.now_ms = f->b.probe_rtt_min_stamp + 5001, SHELL_GENERAL);
	CHANGED(f->sk.now_ms = f->b.probe_rtt_min_stamp + 5000, SHELL_FAST_1);
	CHANGED(f->rs.delivered = -1, SHELL_GENERAL);
	CHANGED(f->sk.lost++, SHELL_GENERAL);
	CHANGED(f->sk.sacked_out = 2, SHELL_GENERAL);
	CHANGED(f->sk.reord_seen = 1, SHELL_GENERAL);
	CHANGED(f->sk.tlp_high_seq = 1, SHELL_GENERAL);
	CHANGED(f->sk.ca_state = TCP_CA_Recovery, SHELL_GENERAL); /* it stays in order */
	CHANGED((f->sk.has_flight = true, f->rs.lost = 1), SHELL_GENERAL);
	CHANGED((f->sk.has_flight = true, f->rs.is_acking_tlp_retrans_seq = true), SHELL_GENERAL);
	CHANGED((f->sk.has_flight = true, f->rs.tx_in_flight = 300), SHELL_FAST_1);
	CHANGED(f->b.in_order = 0, SHELL_GENERAL);
	CHANGED((f->b.in_order = 0, f->b.mode = BBR_STARTUP), SHELL_GENERAL);
}

/*
 * In CRUISE, in a recovery: two packets are SACKed. The ACK ends no round. The next losses would
 * end their loss round with packet 990.
 */
static void make_recovering(struct fixture *f)
{
	make_in_order(f);
	f->b.in_order = 0;
	f->b.loss_round_delivered = 990;
	f->sk.ca_state = TCP_CA_Recovery;
	f->sk.sacked_out = 2;
	f->sk.lost_out = 1;
}

TEST(recovery_is_regular)
{
	FIXTURE;

	make_recovering(f);
	for (int i = 0; i < 2; i++) {
		CHANGED((void)0, SHELL_REGULAR);
		CHANGED(f->sk.lost = 41, SHELL_REGULAR);
		CHANGED(f->sk.sacked_out = 0, SHELL_REGULAR);
		CHANGED((f->sk.lost = 41, f->sk.more = NULL), SHELL_REGULAR);
		CHANGED(f->rs.losses = 1, SHELL_REGULAR);
		CHANGED(f->b.loss_in_round = 1, SHELL_REGULAR);
		CHANGED(f->b.next_round_delivered = 940, SHELL_REGULAR);
		CHANGED(f->b.inflight_lo = 20, SHELL_REGULAR);
		CHANGED(f->sk.inflight = 500, SHELL_REGULAR);
		CHANGED(f->sk.ca_state = TCP_CA_Loss, SHELL_REGULAR);
		CHANGED(f->b.in_order = 1, SHELL_REGULAR); /* until this ACK */
		CHANGED(f->rs.is_app_limited = true, SHELL_REGULAR);
		CHANGED(f->b.probe_wait_us = 1000, SHELL_REGULAR);
		CHANGED(f->b.cycle_idx = BBR_DOWN, SHELL_REGULAR);
		CHANGED(f->b.full_bw_now = 0, SHELL_REGULAR);
		CHANGED(f->sk.has_flight = true, SHELL_GENERAL);
		CHANGED(f->sk.uses_ecn = true, SHELL_GENERAL);
		CHANGED(f->sk.tlp_high_seq = 1, SHELL_GENERAL);
		CHANGED(f->sk.ca_state = TCP_CA_Open, SHELL_GENERAL);
		CHANGED(f->sk.ca_state = TCP_CA_Disorder, SHELL_GENERAL); /* inflight_hi may rise */
		CHANGED((f->sk.ca_state = TCP_CA_Disorder, f->b.inflight_hi = BBR_COUNT_NONE),
			SHELL_REGULAR);
		CHANGED(f->rs.acked_sacked = 0, SHELL_GENERAL);
		CHANGED(f->b.probe_samples = 1, SHELL_GENERAL);
		CHANGED(f->b.idle_restart = 1, SHELL_GENERAL);
		CHANGED(f->b.has_seen_rtt = 0, SHELL_GENERAL);
		CHANGED(f->b.full_bw_reached = 0, SHELL_GENERAL);
		CHANGED(f->b.mode = BBR_PROBE_RTT, SHELL_GENERAL);
		CHANGED(f->b.cycle_idx = BBR_REFILL, SHELL_GENERAL);
		CHANGED(f->b.cycle_idx = BBR_UP, SHELL_GENERAL);
		CHANGED(f->b.acks = BBR_ACKS_PROBE_STOPPING, SHELL_GENERAL);
		CHANGED((f->b.acks = BBR_ACKS_PROBE_STOPPING, f->b.inflight_hi = BBR_COUNT_NONE),
			SHELL_REGULAR);
		CHANGED((f->sk.write_seq = f->sk.snd_nxt, f->sk.retrans_out = 1,
			 f->rs.prior_in_flight = 50),
			SHELL_REGULAR); /* nothing is left to send */
		f->b.loss_round_delivered = 940; /* the loss round ends: the bounds may be cut */
	}
}

TEST(recovery_that_reports_nothing_new_is_fast_in_cruise)
{
	FIXTURE;

	make_recovering(f);
	f->b.prev_ca_state = TCP_CA_Recovery;
	for (int i = 0; i < 2; i++) {
		CHANGED((void)0, SHELL_FAST_1);
		CHANGED(f->sk.more = NULL, SHELL_FAST_1);
		CHANGED(f->rs.last_end_seq = f->sk.snd_una + 300000, SHELL_FAST_1); /* no flight */
		CHANGED((f->rs.delivered = 300, f->rs.interval_us = 38400), SHELL_FAST_1);
		CHANGED(f->b.inflight_hi = BBR_COUNT_NONE, SHELL_FAST_1);
		CHANGED(f->b.inflight_lo = 20, SHELL_FAST_1);
		CHANGED((f->b.bw_lo = BW / 2, f->b.full_bw_cnt = 2), SHELL_FAST_1);
		CHANGED(f->sk.reord_seen = 1, SHELL_FAST_1);
		CHANGED(f->rs.prior_in_flight = 3, SHELL_FAST_1); /* a send is due */
		CHANGED((f->sk.write_seq = f->sk.snd_nxt, f->sk.retrans_out = 1,
			 f->rs.prior_in_flight = 50),
			SHELL_FAST_1);
		CHANGED(f->b.prev_ca_state = TCP_CA_Open, SHELL_REGULAR);
		CHANGED(f->sk.lost = 41, SHELL_REGULAR);
		CHANGED(f->rs.losses = 1, SHELL_REGULAR);
		CHANGED(f->b.loss_in_round = 1, i ? SHELL_REGULAR : SHELL_FAST_1);
		CHANGED(f->b.in_order = 1, SHELL_REGULAR);
		CHANGED(f->rs.is_app_limited = true, SHELL_REGULAR);
		CHANGED(f->b.probe_wait_us = 1000, SHELL_REGULAR);
		CHANGED(f->b.rounds_since_probe = 62, SHELL_REGULAR);
		CHANGED(f->b.cycle_idx = BBR_DOWN, SHELL_REGULAR);
		CHANGED(f->b.full_bw_now = 0, SHELL_REGULAR);
		CHANGED(f->b.new_gains = 1, SHELL_REGULAR);
		CHANGED(f->b.probe_samples = 1, SHELL_GENERAL);
		CHANGED(f->b.mode = BBR_STARTUP, SHELL_GENERAL);
		f->b.loss_round_delivered = 940; /* the loss round ends: the bounds may be cut */
		f->b.next_round_delivered = 940;
	}
}

TEST(recovery_in_startup_is_regular_until_losses_may_end_it)
{
	FIXTURE;

	make_recovering(f);
	f->b.mode = BBR_STARTUP;
	f->b.inflight_hi = BBR_COUNT_NONE;
	f->b.full_bw_reached = f->b.full_bw_now = 0;
	CHANGED((void)0, SHELL_REGULAR);
	CHANGED(f->rs.losses = 1, SHELL_REGULAR);
	CHANGED(f->sk.lost = 41, SHELL_REGULAR);
	CHANGED(f->rs.is_app_limited = true, SHELL_REGULAR);
	CHANGED(f->b.loss_round_delivered = 940, SHELL_GENERAL);
	f->b.next_round_delivered = 940;
	f->b.full_bw_cnt = 2;
	f->rs.delivered = 5;
	CHANGED((void)0, SHELL_REGULAR); /* STARTUP ends */
	f->b.mode = BBR_DRAIN;
	f->b.full_bw_reached = 1;
	CHANGED((void)0, SHELL_REGULAR);
	CHANGED(f->b.inflight_hi = 200, SHELL_GENERAL);
}

/* The BDP alone decides only if the whole target would decide the same. */
TEST(time_of_reno_is_what_it_is_by_the_whole_target)
{
	FIXTURE;

	for (u32 cwnd = 1; cwnd < 130; cwnd += 3)
		for (u32 min_rtt = 100; min_rtt < 10000; min_rtt += 300)
			for (u32 rounds = 0; rounds < 70; rounds++) {
				f->sk.cwnd = cwnd;
				f->b.min_rtt_us = min_rtt;
				f->b.rounds_since_probe = rounds;
				assert_int_equal(
					bbr_is_reno_probe_time(&f->b, &f->sk),
					rounds >= min_u32(63, bbr_target_inflight(&f->b, &f->sk)));
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(phases_that_wait_for_a_probe_are_fast),
		T(who_waits_waits_on),
		T(model_is_the_same_by_each_kind),
		T(down_is_fast_while_it_goes_on),
		T(startup_and_drain_are_regular),
		T(general_is_the_rest),
		T(recovery_is_regular),
		T(recovery_that_reports_nothing_new_is_fast_in_cruise),
		T(recovery_in_startup_is_regular_until_losses_may_end_it),
		T(time_of_reno_is_what_it_is_by_the_whole_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
