// SPDX-License-Identifier: GPL-2.0-only
/* Guards: their text, their verdicts, and how often they take back what is no different. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli/err.h"
#include "experiment/analysis/guard.h"
#include "made_up_traffic.h"

/* ---- text */

static void parses(const char *text, const char *metric, bool is_upper, double factor,
		   double amount)
{
	struct guard g;

	assert_true(guard_parse(text, &g));
	assert_string_equal(g.metric->name, metric);
	assert_int_equal(g.is_upper, is_upper);
	assert_true(fabs(g.factor - factor) < 1e-12);
	assert_true(fabs(g.amount - amount) < 1e-9);
}

static void test_guards_as_text(void **state)
{
	(void)state;
	parses("retransmitted < 1.2x", "retransmitted", true, 1.2, 0);
	parses("rtt_p95<+10ms", "rtt_p95", true, 1, 10000);
	parses("goodput_p50 > 0.97x", "goodput_p50", false, 0.97, 0);
	parses(" goodput_p10 > -2mbit ", "goodput_p10", false, 1, -2e6);
	parses("failed < +0.5%", "failed", true, 1, 0.005);
	parses("timeouts < +0.1", "timeouts", true, 1, 0.1);
	parses("retransmitted < 1x", "retransmitted", true, 1, 0);
}

static void test_text_that_is_none(void **state)
{
	static const char *const wrong[] = {
		"",
		"retransmitted",
		"retransmitted <",
		"retransmitted < 1.2",
		"retransmitted < x",
		"retransmitted = 1.2x",
		"retransmitte < 1.2x",
		"retransmittedd < 1.2x",
		"rtt_p95 < +10",
		"rtt_p95 < +10mbit",
		"rtt_p95 < 10ms",
		"failed < +0.5",
		"goodput_p50 > +1ms",
		"goodput_p50 > 0x",
		"goodput_p50 > -x",
		"retransmitted < infx",
		"retransmitted < 1.2x1.2x",
		/* Equal arms would violate these. */
		"retransmitted < 0.9x",
		"goodput_p50 > 1.1x",
		"rtt_p95 < -1ms",
		"goodput_p50 > +1mbit",
		"retransmitted < 1.0000000000000000000000000000000000000000000000000000x",
	};
	struct guard g;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(guard_parse(wrong[i], &g));
}

/* ---- verdicts */

static const struct experiment canary = {
	.design = EXPERIMENT_CANARY,
	.arms = 2,
	.prefix4 = 96 + 24,
	.guard = { "retransmitted < 1x", "rtt_p95 < 1x", "goodput_p50 > 1x" },
	.step = { 500, 2500, 5000, 10000 },
};

static const struct experiment canary_by_prefix = {
	.design = EXPERIMENT_CANARY,
	.unit = EXPERIMENT_BY_PREFIX,
	.arms = 2,
	.prefix4 = 96 + 24,
	.guard = { "retransmitted < 1x", "rtt_p95 < 1x", "goodput_p50 > 1x" },
	.step = { 500, 2500, 5000, 10000 },
};

struct world {
	struct traffic traffic;
	double loss; /* factor on the new arm's retransmitted bytes */
	double rate; /* and its goodput */
	double queue; /* and its time above the least RTT */
	__u32 seed;
	bool is_tied; /* with a clock of `step`, see traffic_round() */
	__u32 step;
};

static void more_rows(struct world *w, const struct experiment *e, struct rows *rows, int n,
		      double share)
{
	while (n--) {
		struct row row;

		traffic_next(&w->traffic, &row, 1);
		row.arm = e->unit == EXPERIMENT_BY_PREFIX ?
				  experiment_mix(w->seed ^ row.raddr[3]) < share * 4294967296.0 :
				  traffic_uniform(&w->traffic) < share;
		if (row.arm) {
			row.retransmitted *= w->loss;
			row.sent = row.acked + row.retransmitted;
			row.busy_us /= w->rate;
			row.rtt_above_p95_us *= w->queue;
		}
		if (w->is_tied)
			traffic_round(&w->traffic, &row, w->step);
		rows_add(rows, &row);
	}
}

static enum guard_verdict judge_units(const char *text, struct rows *rows,
				      const struct rows_units *units, double level,
				      struct guard_result *result)
{
	struct guard g;

	assert_true(guard_parse(text, &g));
	*result = guard_judge(&g, rows, units, 1, level);
	return result->verdict;
}

static enum guard_verdict judge(const char *text, const struct experiment *e, struct rows *rows,
				double level, struct guard_result *result)
{
	struct rows_units units;

	units = rows_find_units(rows, e);
	return judge_units(text, rows, &units, level, result);
}

static enum guard_verdict judge_world(const char *text, struct world *w, int n, double share)
{
	struct guard_result result;
	struct rows rows = {};

	traffic_begin(&w->traffic, 7, 100, 1, 0.5);
	more_rows(w, &canary, &rows, n, share);
	judge(text, &canary, &rows, GUARD_LEVEL, &result);
	rows_free(&rows);
	return result.verdict;
}

static void test_verdicts(void **state)
{
	struct world bad = { .loss = 30, .rate = 0.5, .queue = 3 };
	struct world good = { .loss = 0.2, .rate = 2, .queue = 0.3 };
	struct world same = { .loss = 1, .rate = 1, .queue = 1 };

	(void)state;
	assert_int_equal(judge_world("retransmitted < 1.2x", &bad, 10000, 0.1), GUARD_FAILED);
	assert_int_equal(judge_world("rtt_p95 < +2ms", &bad, 10000, 0.1), GUARD_FAILED);
	assert_int_equal(judge_world("goodput_p50 > 0.97x", &bad, 10000, 0.1), GUARD_FAILED);
	assert_int_equal(judge_world("goodput_p50 > -0.5mbit", &bad, 10000, 0.1), GUARD_FAILED);
	assert_int_equal(judge_world("retransmitted < 1.2x", &good, 10000, 0.1), GUARD_PROVEN);
	assert_int_equal(judge_world("rtt_p95 < +2ms", &good, 10000, 0.1), GUARD_PROVEN);
	assert_int_equal(judge_world("goodput_p50 > 0.97x", &good, 10000, 0.1), GUARD_PROVEN);
	assert_int_equal(judge_world("goodput_p50 > 0.97x", &same, 1000, 0.1), GUARD_HOLDS);
	assert_int_equal(judge_world("rtt_p95 < +100ms", &bad, 10000, 0.1), GUARD_PROVEN);
	assert_int_equal(judge_world("goodput_p50 > 0.2x", &bad, 10000, 0.1), GUARD_PROVEN);
}

static void test_too_few(void **state)
{
	struct world bad = { .loss = 50, .rate = 0.05, .queue = 30 };
	struct guard_result result;
	struct rows rows = {};
	struct guard g;

	(void)state;
	assert_int_equal(judge("retransmitted < 1x", &canary, &rows, GUARD_LEVEL, &result),
			 GUARD_HOLDS);
	assert_true(guard_parse("retransmitted < 1x", &g));
	assert_string_equal(guard_text(&g, &result),
			    "retransmitted: no connections to compare yet");
	traffic_begin(&bad.traffic, 7, 100, 1, 0.5);
	more_rows(&bad, &canary, &rows, 200, 0.1);
	assert_int_equal(judge("goodput_p50 > 1x", &canary, &rows, GUARD_LEVEL, &result),
			 GUARD_HOLDS);
	assert_true(result.connections[1] < GUARD_MIN_CONNECTIONS);
	assert_true(isinf(result.allowed_errors));
	rows_free(&rows);
}

static void test_line_of_the_log(void **state)
{
	struct guard_result result = {
		.connections = { 79030, 412 },
		.value = { 0.0102, 0.0241 },
	};
	struct guard g;

	(void)state;
	assert_true(guard_parse("retransmitted < 1.2x", &g));
	assert_string_equal(guard_text(&g, &result),
			    "retransmitted 2.41% (control 1.02%, allowed 1.22%), "
			    "412 and 79,030 connections");
}

/* All guards share the level over all steps. */
static void test_level(void **state)
{
	const struct experiment none = {};

	(void)state;
	assert_true(fabs(guard_level(&canary) - GUARD_LEVEL / 12) < 1e-12);
	assert_true(fabs(guard_level(&none) - GUARD_LEVEL) < 1e-12);
}

/* ---- canaries that are no different, looked at every ten seconds */

#define CANARIES 100
#define PER_LOOK 100 /* connections that end in ten seconds */
#define PER_STEP 120 /* of the new arm */

/* True if any guard fails now. */
static bool fails(const struct experiment *e, struct rows *rows, struct guard_result *result)
{
	struct rows_units units;
	bool failed = false;

	units = rows_find_units(rows, e);
	for (int i = 0; i < 3 && !failed; i++)
		failed = judge_units(e->guard[i], rows, &units, guard_level(e), result) ==
			 GUARD_FAILED;
	return failed;
}

/* True if any guard fails before the canary gets the last share. */
static bool is_taken_back(struct world *w, const struct experiment *e)
{
	bool failed = false;

	for (int step = 0; e->step[step] < EXPERIMENT_SHARES && !failed; step++) {
		struct guard_result result = {};
		struct rows rows = {};
		int looks = 0;

		while (!failed && (looks++ < 6 || result.connections[1] < PER_STEP) && looks < 60) {
			more_rows(w, e, &rows, PER_LOOK, e->step[step] / (double)EXPERIMENT_SHARES);
			failed = fails(e, &rows, &result);
		}
		rows_free(&rows);
	}
	return failed;
}

/* clock: the step of a coarse clock, or NULL. */
static int count_taken_back(const struct experiment *e, double loss, int canaries,
			    const __u32 *clock)
{
	int n = 0;

	for (int i = 0; i < canaries; i++) {
		struct world w = { .loss = loss, .rate = 1, .queue = 1, .seed = i };

		w.is_tied = clock;
		w.step = clock ? *clock : 0;
		traffic_begin(&w.traffic, 5000 + i, 100, 0.7, 0.5);
		n += is_taken_back(&w, e);
	}
	printf("%d of %d are taken back\n", n, canaries);
	return n;
}

static void test_equal_arms_are_not_taken_back(void **state)
{
	(void)state;
	assert_true(count_taken_back(&canary, 1, CANARIES, NULL) <= CANARIES * 0.07);
	assert_true(count_taken_back(&canary_by_prefix, 1, CANARIES, NULL) <= CANARIES * 0.07);
}

/* A canary that loses a lot is always taken back. */
static void test_a_bad_one_is_taken_back(void **state)
{
	(void)state;
	assert_int_equal(count_taken_back(&canary, 8, CANARIES / 10, NULL), CANARIES / 10);
}

/* ---- clocks so coarse that most values are tied */

static const __u32 clocks[] = { 1000, 4000, 10000, TRAFFIC_TEN_VALUES };
#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

/*
 * All guards and looks together take back at most 5 %. It is much less than that by nature: looks
 * may be many more than these.
 */
static void test_ties_take_nothing_back(void **state)
{
	int n = 0;

	(void)state;
	for (size_t i = 0; i < CLOCKS; i++)
		n += count_taken_back(&canary, 1, CANARIES / 10, &clocks[i]);
	for (size_t i = 0; i < CLOCKS; i++)
		n += count_taken_back(&canary_by_prefix, 1, CANARIES / 10, &clocks[i]);
	assert_true(n <= 2 * CANARIES / 10 * (int)CLOCKS * 0.07);
	for (size_t i = 0; i < CLOCKS; i++)
		assert_int_equal(count_taken_back(&canary, 8, 1, &clocks[i]), 1);
}

/* At one look, the standard errors of each guard are those of a normal distribution. */
static void test_errors_with_ties(void **state)
{
	static const char *const texts[] = { "goodput_p10 > 1x",   "goodput_p50 > 1x",
					     "first_16k_p50 < 1x", "rtt_min < 1x",
					     "rtt_mean < 1x",	   "rtt_p95 < 1x",
					     "retransmitted < 1x" };
	int judged = 0, beyond = 0;

	(void)state;
	for (size_t i = 0; i < CLOCKS; i++)
		for (int k = 0; k < 80; k++) {
			struct world w = { .loss = 1, .rate = 1, .queue = 1, .is_tied = true };
			struct guard_result result;
			struct rows rows = {};

			w.step = clocks[i];
			traffic_begin(&w.traffic, 100 * i + k, 10, 0.7, 0.5);
			more_rows(&w, &canary, &rows, 500, 0.3);
			for (size_t g = 0; g < sizeof(texts) / sizeof(texts[0]); g++) {
				judge(texts[g], &canary, &rows, GUARD_LEVEL, &result);
				judged++;
				beyond += fabs(result.errors) > 1.96;
			}
			rows_free(&rows);
		}
	printf("%.1f %% of %d\n", 100.0 * beyond / judged, judged);
	assert_true(beyond > 0.03 * judged && beyond < 0.07 * judged);
}

/* A few hundred equal connections cannot prove that nobody loses a thousandth. */
static void test_ties_prove_nothing(void **state)
{
	struct world w = { .loss = 1, .rate = 1, .queue = 1, .is_tied = true, .step = 10000 };
	struct guard_result result;
	struct rows rows = {};

	(void)state;
	traffic_begin(&w.traffic, 3, 10, 0.7, 0.5);
	more_rows(&w, &canary, &rows, 500, 0.5);
	assert_int_equal(judge("first_16k_p50 < 1.001x", &canary, &rows, GUARD_LEVEL, &result),
			 GUARD_HOLDS);
	assert_int_equal(judge("rtt_min < 1.001x", &canary, &rows, GUARD_LEVEL, &result),
			 GUARD_HOLDS);
	assert_int_equal(judge("goodput_p50 > -1kbit", &canary, &rows, GUARD_LEVEL, &result),
			 GUARD_HOLDS);
	assert_int_equal(judge("rtt_min < 2x", &canary, &rows, GUARD_LEVEL, &result), GUARD_PROVEN);
	rows_free(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guards_as_text),
		cmocka_unit_test(test_text_that_is_none),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_line_of_the_log),
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_equal_arms_are_not_taken_back),
		cmocka_unit_test(test_a_bad_one_is_taken_back),
		cmocka_unit_test(test_ties_take_nothing_back),
		cmocka_unit_test(test_errors_with_ties),
		cmocka_unit_test(test_ties_prove_nothing),
	};

	err_init("test", false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
