/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bbrctl reads from the memory of a running experiment: its state, step, block, log and arms.
 * Anything may be written there.
 */
#include "../loader/fixture.h"

#include "experiment/running/running.h"
#include "kernel/clock.h"

#include "../capture.h"

#define HOUR (3600ull * 1000000000)

static struct experiment_control control;
static struct experiment_decision lines[EXPERIMENT_LOG];
static struct experiment_handle h;

static int begin(void **state)
{
	(void)state;
	memset(&control, 0, sizeof(control));
	memset(lines, 0, sizeof(lines));
	h = (struct experiment_handle){
		.config = { .name = "exp", .design = EXPERIMENT_CANARY, .arms = 2 },
		.control = &control,
		.log = lines,
	};
	control.share[1] = 500;
	control.lease = now_ns() + HOUR;
	return 0;
}

static void expect(enum experiment_state state, const char *text)
{
	assert_int_equal(experiment_state(&h), state);
	assert_string_equal(experiment_states[experiment_state(&h)], text);
}

static void states_of_a_canary(void **state)
{
	(void)state;
	expect(STATE_RUNNING, "running");
	control.lease = now_ns() - 1; /* its watcher has gone */
	expect(STATE_UNWATCHED, "unwatched");
	control.lease = 0;
	expect(STATE_COMPLETE, "complete");
	control.share[1] = 0; /* for good, whatever the lease says */
	expect(STATE_TAKEN_BACK, "taken back");
	control.lease = now_ns() + HOUR;
	expect(STATE_TAKEN_BACK, "taken back");
	control.paused = 1;
	expect(STATE_PAUSED, "paused");
	assert_int_equal(canary_state(&h), STATE_TAKEN_BACK);
}

static void the_last_arm_is_the_new_one(void **state)
{
	(void)state;
	h.config.arms = 3;
	expect(STATE_TAKEN_BACK, "taken back");
	control.share[2] = 1;
	expect(STATE_RUNNING, "running");
}

static void other_designs_have_no_watcher(void **state)
{
	(void)state;
	control.lease = 1;
	control.share[1] = 0;
	for (int design = 0; design < EXPERIMENT_DESIGNS; design++) {
		if (design == EXPERIMENT_CANARY)
			continue;
		h.config.design = design;
		expect(STATE_RUNNING, "running");
	}
	control.paused = 1;
	expect(STATE_PAUSED, "paused");
}

static void the_step_is_always_one_of_the_steps(void **state)
{
	static const __u32 places[] = { 0, 1, 2, 3, EXPERIMENT_STEPS, ~0u };

	(void)state;
	for (__u32 n = 0; n <= EXPERIMENT_STEPS; n++) {
		memset(h.config.step, 0, sizeof(h.config.step));
		for (__u32 i = 0; i < n; i++)
			h.config.step[i] = 100;
		assert_int_equal(experiment_steps(&h.config), n);
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			__u32 last = n ? n - 1 : 0;

			control.step = places[i];
			assert_int_equal(experiment_step(&h), places[i] < last ? places[i] : last);
		}
	}
}

static void expect_block(__u64 now, __u32 number, __u64 left, bool washout)
{
	struct experiment_block b = experiment_block_now(&h.config, now);

	assert_int_equal(b.number, number);
	assert_int_equal(b.left, left);
	assert_int_equal(b.washout, washout);
}

static void blocks_follow_each_other(void **state)
{
	(void)state;
	h.config.started = 1000;
	h.config.block = 100;
	h.config.washout = 30;
	expect_block(0, 0, 100, true); /* it has not begun */
	expect_block(1000, 0, 100, true);
	expect_block(1029, 0, 71, true);
	expect_block(1030, 0, 70, false);
	expect_block(1099, 0, 1, false);
	expect_block(1100, 1, 100, true);
	expect_block(1000 + 100 * 1000 + 50, 1000, 50, false);
	h.config.washout = 0;
	expect_block(1100, 1, 100, false);
}

/* And the orders differ from one round of blocks to another. */
static void each_round_of_blocks_has_each_arm_once(void **state)
{
	int firsts[EXPERIMENT_ARMS] = {};

	(void)state;
	h.config.block = 1;
	h.config.seed = 42;
	for (__u32 arms = 2; arms <= EXPERIMENT_ARMS; arms++) {
		h.config.arms = arms;
		for (__u64 round = 0; round < 100; round++) {
			unsigned int seen = 0;

			for (__u64 i = 0; i < arms; i++)
				seen |= 1u << experiment_block_now(&h.config, round * arms + i).arm;
			assert_int_equal(seen, (1u << arms) - 1);
			if (arms == EXPERIMENT_ARMS)
				firsts[experiment_block_now(&h.config, round * arms).arm]++;
		}
	}
	for (int i = 0; i < EXPERIMENT_ARMS; i++)
		assert_in_range(firsts[i], 10, 50);
}

static void decide(const char *text)
{
	capture_begin();
	decision_take(&h, false, decision_make("%s", text));
	capture_end();
}

static void a_decision_is_printed_and_logged(void **state)
{
	__u64 before = realtime_ns(), number = 0;
	struct experiment_decision d = decision_make("step %d: %s", 2, "\"why\""), read;
	char line[256];

	(void)state;
	assert_in_range(d.time, before, realtime_ns());
	capture_begin();
	decision_take(&h, false, d);
	capture_end();
	assert_string_equal(captured_output(), "exp: step 2: \"why\"\n");
	capture_begin();
	decision_take(&h, true, d);
	capture_end();
	snprintf(line, sizeof(line),
		 "{\"name\":\"exp\",\"time_ns\":%llu,\"decision\":\"step 2: \\\"why\\\"\"}\n",
		 d.time);
	assert_string_equal(captured_output(), line);
	for (int i = 0; i < 2; i++) {
		assert_true(decision_next(&h, &number, &read));
		assert_int_equal(read.time, d.time);
		assert_string_equal(read.text, "step 2: \"why\"");
	}
	assert_false(decision_next(&h, &number, &read)); /* there is none yet */
}

static void the_log_keeps_the_last_lines(void **state)
{
	struct experiment_decision read;
	__u64 number = 0;
	char text[32];

	(void)state;
	for (int i = 0; i < EXPERIMENT_LOG + 10; i++) {
		snprintf(text, sizeof(text), "line %d", i);
		decide(text);
	}
	for (int i = 10; i < EXPERIMENT_LOG + 10; i++) {
		snprintf(text, sizeof(text), "line %d", i);
		assert_true(decision_next(&h, &number, &read));
		assert_string_equal(read.text, text);
	}
	assert_false(decision_next(&h, &number, &read));
}

static void a_long_decision_is_cut(void **state)
{
	char text[2 * sizeof(lines->text)];
	struct experiment_decision read;
	__u64 number = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	decide(text);
	assert_true(decision_next(&h, &number, &read));
	assert_int_equal(strlen(read.text), sizeof(read.text) - 1);
}

/* It must not reach a terminal, or JSON. */
static void what_others_write_to_the_log_can_be_printed(void **state)
{
	struct experiment_decision read;
	__u64 number = 0;

	(void)state;
	control.decisions = 3;
	memset(&lines[0], 0xff, sizeof(lines[0])); /* no 0 at its end */
	assert_true(decision_next(&h, &number, &read));
	assert_int_equal(strlen(read.text), sizeof(read.text) - 1);
	assert_int_equal(strspn(read.text, "?"), sizeof(read.text) - 1);
	strcpy(lines[1].text, "a\033[31m\n\tb~ c\x7f");
	lines[1].time = 1;
	lines[2] = lines[1];
	assert_true(decision_next(&h, &number, &read));
	assert_string_equal(read.text, "a?[31m??b~ c?");
	lines[1].time = 0; /* it is being written */
	number = 1;
	assert_true(decision_next(&h, &number, &read));
	assert_int_equal(number, 3);
}

static void arms_as_text(void **state)
{
	struct experiment_arm arm = { .label = "new", .cc = "bpf_bbr", .profile_name = "gentle" };

	(void)state;
	assert_string_equal(arm_text(&arm), "new=bpf_bbr:gentle");
	arm.profile_name[0] = 0;
	assert_string_equal(arm_text(&arm), "new=bpf_bbr");
	/* The longest. */
	strcpy(arm.label, "123456789012345");
	strcpy(arm.cc, "123456789012345");
	strcpy(arm.profile_name, "123456789012345");
	assert_string_equal(arm_text(&arm), "123456789012345=123456789012345:123456789012345");
}

static void which_experiment_uses_what(void **state)
{
	struct experiment_handle list[] = {
		{ .config = { .arms = 2,
			      .arm = { { .cc = "cubic", .profile = EXPERIMENT_NO_PROFILE },
				       { .cc = "one", .profile = EXPERIMENT_NO_PROFILE } } } },
		{ .config = { .arms = 2,
			      .arm = { { .cc = "two", .profile_name = "fast", .profile = 1 },
				       { .cc = "two", .profile_name = "slow", .profile = 2 },
				       /* Beyond its arms: not one of them. */
				       { .cc = "three", .profile_name = "fast" } } } },
	};

	(void)state;
	assert_ptr_equal(experiment_with(list, 2, "cubic", NULL), &list[0]);
	assert_ptr_equal(experiment_with(list, 2, "one", NULL), &list[0]);
	assert_null(experiment_with(list, 2, "one", "fast")); /* it has no profile */
	assert_ptr_equal(experiment_with(list, 2, "two", NULL), &list[1]);
	assert_ptr_equal(experiment_with(list, 2, "two", "slow"), &list[1]);
	assert_null(experiment_with(list, 2, "two", "default"));
	assert_null(experiment_with(list, 2, "three", NULL));
	assert_null(experiment_with(list, 1, "two", NULL));
	assert_null(experiment_with(NULL, 0, "two", NULL));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(states_of_a_canary),
		TEST(the_last_arm_is_the_new_one),
		TEST(other_designs_have_no_watcher),
		TEST(the_step_is_always_one_of_the_steps),
		TEST(blocks_follow_each_other),
		TEST(each_round_of_blocks_has_each_arm_once),
		TEST(a_decision_is_printed_and_logged),
		TEST(the_log_keeps_the_last_lines),
		TEST(a_long_decision_is_cut),
		TEST(what_others_write_to_the_log_can_be_printed),
		TEST(arms_as_text),
		TEST(which_experiment_uses_what),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
