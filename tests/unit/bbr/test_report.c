/* SPDX-License-Identifier: GPL-2.0-only */
/* What monitors see: the transitions of a callback, and the model's part of an event. */
#include "fixture.h"

static void assert_step(const struct fixture *f, u32 i, u8 to)
{
	u8 has_to = 0xff, reason = 0xff;

	assert_true(bbr_has_steps(&f->b));
	assert_true(bbr_step(&f->b, i, &has_to, &reason));
	assert_int_equal(has_to, to);
	assert_int_equal(reason, i);
}

TEST(a_callback_that_changes_nothing_has_no_steps)
{
	u8 to, reason;
	FIXTURE;

	assert_false(bbr_has_steps(&f->b));
	for (u32 i = 0; i < BBR_STEPS; i++)
		assert_false(bbr_step(&f->b, i, &to, &reason));
}

TEST(each_step_says_where_it_leads)
{
	FIXTURE;

	f->b.mode = BBR_STARTUP;
	f->b.steps = (1 << BBR_STEPS) - 1;
	assert_step(f, BBR_R_LT_BW_EXPIRED, BBR_PROBE_BW);
	assert_step(f, BBR_R_FULL_BW, BBR_DRAIN);
	assert_step(f, BBR_R_DRAINED, BBR_PROBE_BW);
	assert_step(f, BBR_R_MIN_RTT_EXPIRED, BBR_PROBE_RTT);
	assert_step(f, BBR_R_PROBE_RTT_DONE, BBR_STARTUP);
	f->b.mode = BBR_PROBE_BW;
	assert_step(f, BBR_R_PROBE_RTT_DONE, BBR_PROBE_BW);
}

TEST(only_what_happened_is_a_step)
{
	u8 to, reason;
	FIXTURE;

	f->b.steps = STEP(FULL_BW) | STEP(MIN_RTT_EXPIRED);
	assert_false(bbr_step(&f->b, BBR_R_LT_BW_EXPIRED, &to, &reason));
	assert_step(f, BBR_R_FULL_BW, BBR_DRAIN);
	assert_false(bbr_step(&f->b, BBR_R_DRAINED, &to, &reason));
	assert_step(f, BBR_R_MIN_RTT_EXPIRED, BBR_PROBE_RTT);
	assert_false(bbr_step(&f->b, BBR_R_PROBE_RTT_DONE, &to, &reason));
}

/* A transition of an earlier callback is not reported for this one. */
TEST(callbacks_forget_the_steps_before)
{
	FIXTURE;

	f->b.steps = STEP(FULL_BW);
	bbr_cwnd_event(&f->b, &f->sk, 1);
	assert_false(bbr_has_steps(&f->b));
	f->b.steps = STEP(FULL_BW);
	bbr_set_state(&f->b, &f->sk, TCP_CA_Open);
	assert_false(bbr_has_steps(&f->b));
	f->b.steps = STEP(FULL_BW);
	bbr_tx_start(&f->b, &f->sk);
	assert_false(bbr_has_steps(&f->b));
}

static struct bbr_tail fill(const struct fixture *f, struct bbr_event *e)
{
	struct bbr_tail tail = {};

	bbr_fill_event(e, &tail, &f->b, NULL);
	return tail;
}

TEST(an_event_has_the_model)
{
	struct bbr_event e = {};
	struct bbr_tail tail;
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.cycle_idx = 3;
	f->b.full_bw = 7;
	f->b.full_bw_cnt = 2;
	f->b.lt_bw = 11;
	f->b.lt_rtt_cnt = 13;
	f->b.prior_cwnd = 17;
	f->b.extra_acked[0] = 19;
	f->b.extra_acked[1] = 23;
	tail = fill(f, &e);
	assert_int_equal(bbr_mode(&f->b), BBR_PROBE_BW);
	assert_int_equal(e.mode, BBR_PROBE_BW);
	assert_int_equal(e.phase, 3);
	assert_int_equal(e.bw, BW);
	assert_int_equal(e.min_rtt_us, MIN_RTT);
	assert_int_equal(e.rounds, 20);
	assert_int_equal(e.pacing_gain, 256);
	assert_int_equal(e.cwnd_gain, 512);
	assert_int_equal(tail.max_bw, BW);
	assert_int_equal(tail.full_bw, 7);
	assert_int_equal(tail.full_bw_cnt, 2);
	assert_int_equal(tail.lt_bw, 11);
	assert_int_equal(tail.lt_rtt_cnt, 13);
	assert_int_equal(tail.prior_cwnd, 17);
	assert_int_equal(tail.extra_acked, 23);
}

/* Everything except what the shell sets. */
TEST(an_event_has_nothing_of_what_was_there_before)
{
	struct bbr_event e = {}, dirty;
	struct bbr_tail tail = {}, dirty_tail;
	FIXTURE;

	memset(&dirty, 0xff, sizeof(dirty));
	memset(&dirty_tail, 0xff, sizeof(dirty_tail));
	bbr_fill_event(&e, &tail, &f->b, NULL);
	bbr_fill_event(&dirty, &dirty_tail, &f->b, NULL);
	assert_memory_equal(&dirty_tail, &tail, sizeof(tail));
	assert_memory_equal(&dirty.bw, &e.bw,
			    offsetof(struct bbr_event, params_gen) -
				    offsetof(struct bbr_event, bw));
	assert_memory_equal(&dirty.pacing_gain, &e.pacing_gain,
			    offsetof(struct bbr_event, ca_state) -
				    offsetof(struct bbr_event, pacing_gain));
}

/* The function returns the model's flags; the socket's flags stay. */
TEST(an_event_has_flags)
{
	struct bbr_event e = { .flags = BBR_F_ACK_DELAYED };
	struct bbr_tail tail;
	FIXTURE;

	assert_int_equal(bbr_fill_event(&e, &tail, &f->b, NULL), 0);
	assert_int_equal(e.flags, BBR_F_ACK_DELAYED);

#define FLAG(member, flag)                                              \
	f->b.member = 1;                                                \
	assert_int_equal(bbr_fill_event(&e, &tail, &f->b, NULL), flag); \
	assert_int_equal(e.flags, BBR_F_ACK_DELAYED);                   \
	f->b.member = 0;
	FLAG(round_start, BBR_F_ROUND_START)
	FLAG(full_bw_reached, BBR_F_FULL_BW)
	FLAG(idle_restart, BBR_F_IDLE_RESTART)
	FLAG(packet_conservation, BBR_F_CONSERVATION)
#undef FLAG
}

TEST(an_event_says_what_is_known_of_a_policer)
{
	struct bbr_event e = {};
	struct bbr_tail tail;
	FIXTURE;

	f->b.lt_bw = 11;
	assert_int_equal(fill(f, &e).policer, BBR_POLICER_OFF);
	f->b.lt_is_sampling = 1;
	tail = fill(f, &e);
	assert_int_equal(tail.policer, BBR_POLICER_SAMPLING);
	assert_int_equal(e.bw, BW);
	f->b.lt_use_bw = 1;
	tail = fill(f, &e);
	assert_int_equal(tail.policer, BBR_POLICER_DETECTED);
	assert_int_equal(e.bw, 11);
	assert_int_equal(tail.max_bw, BW);
	assert_int_equal(tail.lt_bw, 11);
}

TEST(an_event_says_that_the_sender_is_behind)
{
	struct bbr_event e = {};
	FIXTURE;

	assert_int_equal(fill(f, &e).behind, 0);
	f->b.behind = 1;
	assert_int_equal(fill(f, &e).behind, 1);
}

/* Marks of the program around the algorithm: each has a place of its own. */
TEST(marks_are_kept_apart)
{
	FIXTURE;

	f->b.profile = 0xff;
	assert_false(f->b.watched);
	assert_int_equal(f->b.app_limited_until, 0);
	f->b.profile = 0xa5;
	f->b.watched = true;
	f->b.app_limited_until = 0xdeadbeef;
	assert_int_equal(f->b.profile, 0xa5);
	assert_true(f->b.watched);
	assert_int_equal(f->b.app_limited_until, 0xdeadbeef);
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->b.profile, 0xa5);
	assert_true(f->b.watched);
	assert_int_equal(f->b.app_limited_until, 0xdeadbeef);
	f->b.watched = false;
	assert_false(f->b.watched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_callback_that_changes_nothing_has_no_steps),
		T(each_step_says_where_it_leads),
		T(only_what_happened_is_a_step),
		T(callbacks_forget_the_steps_before),
		T(an_event_has_the_model),
		T(an_event_has_nothing_of_what_was_there_before),
		T(an_event_has_flags),
		T(an_event_says_what_is_known_of_a_policer),
		T(an_event_says_that_the_sender_is_behind),
		T(marks_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
