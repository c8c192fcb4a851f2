/* SPDX-License-Identifier: GPL-2.0-only */
/* Which outcomes the guards of a running canary are judged by, and what comes of it. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "../loader/fixture.h"

#include "experiment/running/running.h"

#include "../capture.h"

#define PLACES 1024

static struct experiment_outcome ring[PLACES];
static struct experiment_control control;
static struct experiment_handle h;

static int begin(void **state)
{
	(void)state;
	memset(ring, 0, sizeof(ring));
	control = (struct experiment_control){ .step_since = 1000 };
	h = (struct experiment_handle){
		.config = { .name = "exp",
			    .design = EXPERIMENT_CANARY,
			    .arms = 2,
			    .prefix4 = 96 + 24,
			    .prefix6 = 48,
			    .outcomes = PLACES,
			    .hz = 1000,
			    .guard = { "retransmitted < 1.2x", "timeouts < +0.5" },
			    .step = { 5000, 10000 } },
		.control = &control,
		.outcomes = ring,
	};
	return 0;
}

/* A connection of a prefix of its own, which has ended. Returns its place for changes. */
static struct experiment_outcome *add(int arm, __u64 sent, __u64 retransmitted)
{
	__u64 number = ++control.outcomes;
	struct experiment_outcome *o = &ring[(number - 1) % PLACES];

	*o = (struct experiment_outcome){
		.arm = arm,
		.end = EXPERIMENT_CLOSED,
		.family = AF_INET,
		.number = number,
		.connection = number,
		.begin = 2000,
		.last = 3000,
		.raddr = { 0, 0, htonl(0xffff), htonl(number << 8) },
		.acked = sent,
		.sent = sent,
		.retransmitted = retransmitted,
	};
	return o;
}

/* Arm 0 resends 1 %, the new one this many thousandths. */
static void add_many(int n, __u64 thousandths)
{
	for (int i = 0; i < n; i++) {
		add(0, 100000, 1000 + i % 7);
		add(1, 100000, thousandths * 100 + i % 5);
	}
}

static struct guard_status read_status(void)
{
	struct guard_status s;

	assert_int_equal(guard_status_read(&h, &s), EXIT_DONE);
	return s;
}

static void without_connections_all_guards_hold(void **state)
{
	struct guard_status s = read_status();

	(void)state;
	assert_int_equal(s.guards, 2);
	assert_int_equal(s.ended, 0);
	assert_int_equal(guard_status_failed(&s), -1);
}

static void without_guards_nothing_fails(void **state)
{
	struct guard_status s;

	(void)state;
	h.config.guard[0][0] = 0;
	add_many(200, 100);
	s = read_status();
	assert_int_equal(s.guards, 0);
	assert_int_equal(s.ended, 200);
	assert_int_equal(guard_status_failed(&s), -1);
}

static void a_worse_arm_fails_the_guard_of_it(void **state)
{
	const char *text;
	struct guard_status s;

	(void)state;
	add_many(200, 50);
	s = read_status();
	assert_int_equal(s.ended, 200);
	assert_int_equal(guard_status_failed(&s), 0);
	text = guard_text(&s.guard[0], &s.result[0]);
	assert_non_null(strstr(text, "retransmitted 5%"));
	assert_non_null(strstr(text, "200 and 200 connections"));
	/* The first that fails is told, wherever it is. */
	strcpy(h.config.guard[0], "timeouts < +0.5");
	strcpy(h.config.guard[1], "retransmitted < 1.2x");
	s = read_status();
	assert_int_equal(guard_status_failed(&s), 1);
}

static void an_equal_arm_fails_none(void **state)
{
	struct guard_status s;

	(void)state;
	add_many(200, 10);
	s = read_status();
	assert_int_equal(guard_status_failed(&s), -1);
}

/* They began before the step, are still open, or are of no arm. */
static void outcomes_that_do_not_count(void **state)
{
	struct guard_status s;

	(void)state;
	for (int i = 0; i < 200; i++) {
		add(0, 100000, 1000);
		add(1, 100000, 90000)->begin = control.step_since - 1;
		add(1, 100000, 90000)->end = EXPERIMENT_OPEN;
		add(2, 100000, 90000); /* may be anything */
		add(1, 100000, 90000)->version = 1; /* torn */
	}
	s = read_status();
	assert_int_equal(s.ended, 0);
	assert_int_equal(s.result[0].connections[0], 200);
	assert_int_equal(s.result[0].connections[1], 0);
	add(1, 100000, 1000)->begin = control.step_since; /* just in time */
	assert_int_equal(read_status().ended, 1);
}

/* What the ring has overwritten is gone; the rest is counted once. */
static void a_ring_that_has_turned(void **state)
{
	struct guard_status s;

	(void)state;
	add_many(PLACES, 10); /* twice as many as it has places */
	s = read_status();
	assert_int_equal(s.ended, PLACES / 2);
	assert_int_equal(s.result[0].connections[0], PLACES / 2);
	assert_int_equal(s.result[0].connections[1], PLACES / 2);
}

static void a_guard_that_is_none_is_refused(void **state)
{
	struct guard_status s;
	int ret;

	(void)state;
	strcpy(h.config.guard[1], "nothing < 1x");
	capture_begin();
	ret = guard_status_read(&h, &s);
	capture_end();
	assert_int_equal(ret, EXIT_REFUSED);
	assert_non_null(strstr(captured_messages(), "nothing < 1x"));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_connections_all_guards_hold), TEST(without_guards_nothing_fails),
		TEST(a_worse_arm_fails_the_guard_of_it),   TEST(an_equal_arm_fails_none),
		TEST(outcomes_that_do_not_count),	   TEST(a_ring_that_has_turned),
		TEST(a_guard_that_is_none_is_refused),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
