/* SPDX-License-Identifier: GPL-2.0-only */
/* What monitors get to see. */
#include "fixture.h"

TEST(steps_lead_to_modes)
{
	static const u8 to[BBR_STEPS] = {
		[BBR_R_FULL_BW] = BBR_DRAIN,
		[BBR_R_STARTUP_LOSS] = BBR_DRAIN,
		[BBR_R_STARTUP_ECN] = BBR_DRAIN,
		[BBR_R_DRAINED] = BBR_PROBE_BW,
		[BBR_R_PROBE_AGAIN] = BBR_PROBE_BW,
		[BBR_R_PROBE_LOSS] = BBR_PROBE_BW,
		[BBR_R_PROBE_ECN] = BBR_PROBE_BW,
		[BBR_R_PROBE_INFLIGHT] = BBR_PROBE_BW,
		[BBR_R_PROBE_FULL_BW] = BBR_PROBE_BW,
		[BBR_R_WAITED] = BBR_PROBE_BW,
		[BBR_R_WAITED_ROUNDS] = BBR_PROBE_BW,
		[BBR_R_MARKS_CEASED] = BBR_PROBE_BW,
		[BBR_R_REFILLED] = BBR_PROBE_BW,
		[BBR_R_HEADROOM] = BBR_PROBE_BW,
		[BBR_R_MIN_RTT_EXPIRED] = BBR_PROBE_RTT,
		[BBR_R_PROBE_RTT_DONE] = BBR_STARTUP,
	};
	FIXTURE;
	u8 mode, reason;

	f->b.mode = BBR_STARTUP;
	assert_false(bbr_has_steps(&f->b));
	for (u32 i = 0; i < BBR_STEPS; i++) {
		f->b.steps = 1 << i;
		assert_true(bbr_has_steps(&f->b));
		for (u32 k = 0; k < BBR_STEPS; k++)
			assert_int_equal(bbr_step(&f->b, k, &mode, &reason), k == i);
		assert_int_equal(mode, to[i]);
		assert_int_equal(reason, i);
	}
}

TEST(event_has_the_model)
{
	FIXTURE;
	struct bbr_event e = { .flags = BBR_F_SAMPLE };
	struct bbr_tail tail = {};

	f->b.bw_lo = BW / 2;
	f->b.bw_hi[1] = BW + 1;
	f->b.bw_latest = 11;
	f->b.full_bw = 12;
	f->b.inflight_latest = 13;
	f->b.prior_cwnd = 14;
	f->b.extra_acked[0] = 15;
	f->b.probe_up_cnt = 16;
	f->b.full_bw_cnt = 2;
	f->b.acks = BBR_ACKS_PROBE_FEEDBACK;
	f->more.rounds = 17;
	f->more.pacing_gain = 18;
	f->more.cwnd_gain = 19;
	f->more.ecn_alpha = 20;
	f->more.behind = 1;
	assert_int_equal(bbr_fill_event(&e, &tail, &f->b, &f->more), BBR_F_FULL_BW);
	assert_int_equal(e.flags, BBR_F_SAMPLE);
	assert_int_equal(e.bw, BW / 2);
	assert_int_equal(e.min_rtt_us, MIN_RTT);
	assert_int_equal(e.rounds, 17 + 3);
	assert_int_equal(e.pacing_gain, 18);
	assert_int_equal(e.cwnd_gain, 19);
	assert_int_equal(e.mode, bbr_mode(&f->b));
	assert_int_equal(e.mode, BBR_PROBE_BW);
	assert_int_equal(e.phase, BBR_CRUISE);
	assert_int_equal(tail.bw_hi, BW + 1);
	assert_int_equal(tail.bw_lo, BW / 2);
	assert_int_equal(tail.bw_latest, 11);
	assert_int_equal(tail.full_bw, 12);
	assert_int_equal(tail.inflight_hi, 200);
	assert_int_equal(tail.inflight_lo, BBR_TAIL_NONE);
	assert_int_equal(tail.inflight_latest, 13);
	assert_int_equal(tail.prior_cwnd, 14);
	assert_int_equal(tail.extra_acked, 15);
	assert_int_equal(tail.behind, 1);
	assert_int_equal(tail.probe_wait_us, 2500000);
	assert_int_equal(tail.probe_up_cnt, 16);
	assert_int_equal(tail.ecn_alpha, 20);
	assert_int_equal(tail.full_bw_cnt, 2);
	assert_int_equal(tail.rounds_since_probe, 3);
	assert_int_equal(tail.acks, BBR_ACKS_PROBE_FEEDBACK);
	assert_int_equal(tail.flags, BBR_T_SECOND_PART);
	f->b.extra_acked[1] = 21;
	f->b.inflight_lo = 22;
	bbr_fill_event(&e, &tail, &f->b, &f->more);
	assert_int_equal(tail.extra_acked, 21);
	assert_int_equal(tail.inflight_lo, 22);
}

TEST(event_has_flags)
{
	FIXTURE;
	struct bbr_event e = {};
	struct bbr_tail tail = {};

	f->b.full_bw_reached = 0;
	f->b.round_start = f->b.idle_restart = 1;
	f->b.loss_in_round = f->b.prev_probe_too_high = f->b.probe_samples = 1;
	f->more.ecn_in_round = f->more.ecn_eligible = 1;
	assert_int_equal(bbr_fill_event(&e, &tail, &f->b, &f->more),
			 BBR_F_ROUND_START | BBR_F_IDLE_RESTART);
	assert_int_equal(tail.flags, BBR_T_LOSS_IN_ROUND | BBR_T_ECN_IN_ROUND | BBR_T_TOO_HIGH |
					     BBR_T_SAMPLES | BBR_T_ECN | BBR_T_SECOND_PART);
}

TEST(only_probe_bw_has_phases)
{
	FIXTURE;

	f->b.cycle_idx = BBR_DOWN;
	for (u8 mode = 0; mode < BBR_MODES; mode++) {
		struct bbr_event e = {};
		struct bbr_tail tail = {};

		f->b.mode = mode;
		bbr_fill_event(&e, &tail, &f->b, NULL);
		assert_int_equal(e.phase, mode == BBR_PROBE_BW ? BBR_DOWN : BBR_PHASE_NONE);
	}
}

TEST(event_without_the_second_part)
{
	FIXTURE;
	struct bbr_event e = {};
	struct bbr_tail tail = {};

	bbr_fill_event(&e, &tail, &f->b, NULL);
	assert_int_equal(tail.flags, 0);
	assert_int_equal(e.rounds, 0);
	assert_int_equal(tail.bw_hi, BW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(steps_lead_to_modes),	     T(event_has_the_model),	       T(event_has_flags),
		T(only_probe_bw_has_phases), T(event_without_the_second_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
