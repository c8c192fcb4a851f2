/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of ACKs: which ACK has which kind, and that what a kind skips changes nothing. */
#include "fixture.h"

static void make_fast(struct fixture *f)
{
	f->b.mode = BBR_PROBE_BW;
	f->b.full_bw_reached = 1;
	f->b.has_seen_rtt = 1;
	f->b.cycle_idx = BBR_PHASE_CRUISE;
	f->b.pacing_gain = BBR_UNIT;
	f->b.cwnd_gain = 2 * BBR_UNIT;
}

/* The ACK is of this kind, and has the same effect by it as it has as any ACK. */
static void assert_kind(struct fixture *f, u8 kind)
{
	struct fixture of_kind = *f, of_any = *f;

	assert_int_equal(bbr_kind(&f->b, &f->sk, &f->rs), kind);
	assert_memory_equal(f, &of_any, sizeof(of_any));
	of_kind.sk.kind = kind;
	bbr_main(&of_kind.b, &of_kind.sk, &of_kind.rs);
	bbr_main(&of_any.b, &of_any.sk, &of_any.rs);
	of_kind.sk.kind = SHELL_GENERAL;
	assert_memory_equal(&of_kind, &of_any, sizeof(of_any));
}

TEST(most_acks_are_fast)
{
	FIXTURE;

	make_fast(f);
	assert_kind(f, SHELL_FAST_1);
	f->rs.prior_delivered = f->b.next_round_delivered; /* a round starts */
	f->rs.rtt_us = MIN_RTT - 1; /* a lower RTT */
	f->rs.is_app_limited = true;
	assert_kind(f, SHELL_FAST_1);
	f->b.watched = 1; /* the shell looks at the mark */
	assert_kind(f, SHELL_FAST_1);
}

/* With one thing changed the ACK has this kind. */
#define CHANGED(change, kind)            \
	do {                             \
		struct fixture was = *f; \
		change;                  \
		assert_kind(f, kind);    \
		*f = was;                \
	} while (0)

TEST(startup_and_drain_are_fast_too)
{
	FIXTURE;

	make_fast(f);
	CHANGED(f->b.mode = BBR_STARTUP, SHELL_FAST_2);
	CHANGED(f->b.mode = BBR_DRAIN, SHELL_FAST_2);
	CHANGED(f->b.full_bw_reached = 0, SHELL_FAST_2);
}

TEST(losses_now_and_lately_are_regular)
{
	FIXTURE;

	make_fast(f);
	for (int mode = BBR_STARTUP; mode <= BBR_PROBE_BW; mode++) {
		f->b.mode = mode;
		CHANGED(f->rs.losses = 1, SHELL_REGULAR);
		CHANGED((f->rs.losses = 1, f->b.full_bw_reached = 0), SHELL_REGULAR);
		CHANGED(f->sk.ca_state = TCP_CA_Disorder, SHELL_REGULAR);
		CHANGED(f->sk.ca_state = TCP_CA_Recovery, SHELL_REGULAR);
		CHANGED(f->b.prev_ca_state = TCP_CA_Disorder, SHELL_REGULAR);
		CHANGED(f->b.prev_ca_state = TCP_CA_Loss, SHELL_REGULAR);
		CHANGED(f->b.packet_conservation = 1, SHELL_REGULAR);
		CHANGED(f->b.lt_is_sampling = 1, SHELL_REGULAR);
		CHANGED((f->b.lt_use_bw = 1, f->b.lt_bw = BW / 2), SHELL_REGULAR);
	}
}

TEST(general_is_the_rest)
{
	FIXTURE;

	make_fast(f);
	CHANGED(f->b.mode = BBR_PROBE_RTT, SHELL_GENERAL);
	CHANGED(f->b.idle_restart = 1, SHELL_GENERAL);
	CHANGED(f->b.has_seen_rtt = 0, SHELL_GENERAL);
	CHANGED(f->rs.acked_sacked = 0, SHELL_GENERAL);
	CHANGED(f->rs.delivered = -1, SHELL_GENERAL);
	CHANGED(f->rs.interval_us = 0, SHELL_GENERAL);
	CHANGED(f->sk.now_ms = f->b.min_rtt_stamp + 10001, SHELL_GENERAL);
	CHANGED(f->sk.now_ms = f->b.min_rtt_stamp + 10000, SHELL_FAST_1);
	CHANGED((f->rs.losses = 1, f->b.mode = BBR_PROBE_RTT), SHELL_GENERAL);
	CHANGED((f->rs.losses = 1, f->b.idle_restart = 1), SHELL_GENERAL);
}

TEST(a_fast_ack_ends_probing_at_the_target)
{
	FIXTURE;

	make_fast(f);
	f->b.cycle_idx = BBR_PHASE_PROBE;
	f->b.pacing_gain = 320;
	f->b.cycle_mstamp = NOW_US - MIN_RTT - 1;
	assert_kind(f, SHELL_FAST_1); /* far from the target */
	f->rs.prior_in_flight = 200;
	assert_kind(f, SHELL_FAST_1);
	f->sk.kind = SHELL_FAST_1;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.cycle_idx, BBR_PHASE_DRAIN);
}

/* floor(a / b) < v if and only if a < v * b: tested around each quotient. */
TEST(a_sample_is_below_as_its_rate_is)
{
	FIXTURE;
	u32 v[] = { 0, 1, 2, 3, BW - 1, BW, BW + 1, 1u << 31, ~0u };
	s64 intervals[] = { 1, 2, 3, 1000, 1279, 1280, ~0u, 1ll << 32, (1ll << 32) + 1 };

	for (u32 i = 0; i < 9; i++) {
		f->rs.interval_us = intervals[i];
		for (u32 j = 0; j < 9; j++) {
			u64 most = (u64)v[j] * (u32)intervals[i] >> BW_SCALE;

			for (s64 d = (s64)most - 2; d <= (s64)most + 2; d++) {
				if (d < 0 || d > 0x7fffffff)
					continue;
				f->rs.delivered = d;
				if ((u32)intervals[i])
					assert_int_equal(bbr_is_sample_below(&f->rs, v[j]),
							 bbr_sample_bw(&f->rs) < v[j]);
				else
					assert_false(bbr_is_sample_below(&f->rs, v[j]));
			}
		}
	}
}

/* The early answer is the same as the rule's. */
TEST(inflight_is_compared_with_the_bdp_first)
{
	FIXTURE;

	make_fast(f);
	f->b.cycle_idx = BBR_PHASE_PROBE;
	f->b.pacing_gain = 320;
	for (u32 budget = 0; budget <= 3; budget++)
		for (u32 extra = 0; extra <= 4; extra += 2)
			for (u32 ahead_us = 0; ahead_us <= 2560; ahead_us += 1280)
				for (u32 inflight = 100; inflight < 150; inflight++) {
					f->p.tso_budget[0] = budget;
					f->p.probe_bw_extra[0] = extra;
					f->sk.tcp_wstamp_ns = (NOW_US + ahead_us) * 1000;
					assert_int_equal(
						bbr_is_inflight_at_least(&f->b, &f->sk, inflight,
									 BW, 320),
						bbr_packets_in_net_at_edt(&f->b, &f->sk,
									  inflight) >=
							bbr_inflight(&f->b, &f->sk, BW, 320));
				}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(most_acks_are_fast),
		T(startup_and_drain_are_fast_too),
		T(losses_now_and_lately_are_regular),
		T(general_is_the_rest),
		T(a_fast_ack_ends_probing_at_the_target),
		T(a_sample_is_below_as_its_rate_is),
		T(inflight_is_compared_with_the_bdp_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
