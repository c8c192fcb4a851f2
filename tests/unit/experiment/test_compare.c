// SPDX-License-Identifier: GPL-2.0-only
/* Intervals contain known differences; a comparison without an interval reports why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "experiment/analysis/compare.h"
#include "made_up_traffic.h"

static const struct experiment ab = { .design = EXPERIMENT_AB, .arms = 2, .prefix4 = 96 + 24 };
static const struct experiment switchback = {
	.design = EXPERIMENT_SWITCHBACK,
	.arms = 2,
	.seed = 3,
	.prefix4 = 96 + 24,
};

static const struct metric *metric(const char *name)
{
	const struct metric *m = metric_find(name, strlen(name));

	assert_non_null(m);
	return m;
}

static struct comparison compare_rows(const char *name, struct rows *rows,
				      const struct experiment *e, int arm)
{
	struct rows_units units = rows_find_units(rows, e);

	return compare(metric(name), rows, &units, arm, SIZE_ALL);
}

/*
 * The difference between traffic in arm 0 and the same traffic, changed, in arm 1: nearly without
 * error.
 */
#define MANY 200000
#define RATE 1.3

static double truth(const char *name)
{
	struct rows rows = {};
	struct comparison c;
	struct traffic t;

	traffic_begin(&t, 1, 60, 0.7, 0.3);
	for (int i = 0; i < MANY; i++) {
		struct row row;

		traffic_next(&t, &row, 1);
		rows_add(&rows, &row);
		row.busy_us /= RATE;
		row.rtt_above_p95_us /= RATE;
		row.timeouts *= 2;
		row.arm = 1;
		rows_add(&rows, &row);
	}
	c = compare_rows(name, &rows, &ab, 1);
	rows_free(&rows);
	return c.difference;
}

/* The prefixes are those of truth(), the connections are not. */
static struct comparison once(const char *name, __u64 seed)
{
	struct rows rows = {};
	struct comparison c;
	struct traffic t;

	traffic_begin(&t, 1, 60, 0.7, 0.3);
	t.random = seed * 88172645463325252ull + 1;
	for (int i = 0; i < 1000; i++) {
		struct row row;

		traffic_next(&t, &row, 1);
		row.arm = traffic_uniform(&t) < 0.3;
		if (row.arm) {
			row.busy_us /= RATE;
			row.rtt_above_p95_us /= RATE;
			row.timeouts *= 2;
		}
		rows_add(&rows, &row);
	}
	c = compare_rows(name, &rows, &ab, 1);
	rows_free(&rows);
	assert_int_equal(c.lack, COMPARE_HAS_ALL);
	return c;
}

#define TIMES 150

/*
 * 95 % of the intervals contain the truth, within the chance of so many (three standard
 * deviations).
 */
static void covers(const char *name)
{
	double is = truth(name);
	int n = 0;

	for (int i = 0; i < TIMES; i++) {
		struct comparison c = once(name, 100 + i);

		n += c.low <= is && is <= c.high;
		assert_true(c.low < c.high);
	}
	printf("%s: %d of %d\n", name, n, TIMES);
	assert_true(n >= TIMES * (0.95 - 3 * sqrt(0.95 * 0.05 / TIMES)));
}

static void test_intervals_hold_the_truth(void **state)
{
	(void)state;
	covers("goodput_p50");
	covers("goodput_p10");
	covers("rtt_p95");
	covers("timeouts");
}

/*
 * A difference that is detectable is shown in most experiments that have it: neither never nor
 * always.
 */
static void test_what_can_be_shown(void **state)
{
	double is = truth("goodput_p50"), detectable = 0;
	int shown = 0;

	(void)state;
	for (int i = 0; i < TIMES; i++) {
		struct comparison c = once("goodput_p50", 700 + i);

		detectable += c.detectable / TIMES;
		shown += c.verdict == COMPARE_BETTER;
		assert_int_not_equal(c.verdict, COMPARE_WORSE);
	}
	/*
	 * The power is 80 % at the detectable difference, and follows a normal distribution at
	 * others.
	 */
	double errors = is / detectable * (1.96 + 0.8416) - 1.96;
	double expected = 0.5 * erfc(-errors / sqrt(2));

	printf("%.2f of what is detectable: %d of %d, expected %.0f\n", is / detectable, shown,
	       TIMES, expected * TIMES);
	assert_true(fabs(shown / (double)TIMES - expected) < 0.12);
}

static void add(struct rows *rows, int arm, __u32 block, __u32 us)
{
	struct row row = {
		.arm = arm,
		.block = block,
		.rtts = 1,
		.rtt_min_us = us,
		.end = EXPERIMENT_CLOSED,
		.raddr = { 0, 0, htonl(0xffff), htonl(rows->n << 8) },
	};

	rows_add(rows, &row);
}

/* The load changes from round to round much more than the arms differ: the pairs show it. */
static void test_rounds_are_pairs(void **state)
{
	struct rows rows = {};
	struct comparison c;

	(void)state;
	for (__u32 block = 0; block < 10; block++) {
		int arm = experiment_block_arm(switchback.seed, 2, block);

		for (int i = 0; i < 30; i++)
			add(&rows, arm, block,
			    10000 * (1 + block / 2) + 100 * arm + (block / 2 % 2) * 10 * arm);
	}
	c = compare_rows("rtt_min", &rows, &switchback, 1);
	assert_int_equal(c.lack, COMPARE_HAS_ALL);
	assert_int_equal(c.control.units, 5);
	assert_true(fabs(c.difference - 104) < 1e-6);
	/* The paired t test of 100, 110, 100, 110, 100. */
	assert_true(fabs(c.high - (104 + 2.7764 * 5.4772 / sqrt(5))) < 0.01);
	assert_int_equal(c.verdict, COMPARE_WORSE);
	assert_true(fabs(c.control.value - 30000) < 1e-6);
	rows_free(&rows);
}

/* Each block of arm 1 has one connection that failed, no block of arm 0 has one. */
static struct comparison compare_failures(__u32 rounds, bool are_equal)
{
	struct rows rows = {};
	struct comparison c;

	for (__u32 block = 0; block < 2 * rounds; block++) {
		int arm = experiment_block_arm(switchback.seed, 2, block);
		int n = 30 + (are_equal ? 0 : (int)block % 3);

		for (int i = 0; i < n; i++) {
			add(&rows, arm, block, 10000);
			if (arm && !i)
				rows.at[rows.n - 1].end = EXPERIMENT_RESET;
		}
	}
	c = compare_rows("failed", &rows, &switchback, 1);
	rows_free(&rows);
	assert_int_equal(c.lack, COMPARE_HAS_ALL);
	return c;
}

/*
 * In each round one arm has one failure more. By the sign test that is a chance of 1 in 16 with five
 * rounds, and of 1 in 32 with six. All rounds differ by the same amount, or nearly, which says nothing
 * about the error.
 */
static void test_rounds_that_differ_by_one_connection(void **state)
{
	(void)state;
	for (int are_equal = 0; are_equal < 2; are_equal++)
		for (__u32 rounds = COMPARE_MIN_ROUNDS; rounds < 10; rounds++) {
			struct comparison c = compare_failures(rounds, are_equal);

			assert_true(fabs(c.difference - 1 / 31.0) < 2e-3);
			assert_true(c.high - c.low > 1 / 31.0);
			assert_int_equal(c.verdict, rounds < 6 ? COMPARE_UNDECIDED : COMPARE_WORSE);
		}
}

static void test_a_round_without_its_pair_does_not_count(void **state)
{
	struct rows rows = {};
	struct comparison c;

	(void)state;
	for (__u32 block = 0; block < 7; block++)
		add(&rows, experiment_block_arm(switchback.seed, 2, block), block, 10000);
	c = compare_rows("rtt_min", &rows, &switchback, 1);
	assert_int_equal(c.lack, COMPARE_FEW_ROUNDS);
	assert_int_equal(c.control.units, 3);
	assert_int_equal(c.verdict, COMPARE_UNDECIDED);
	rows_free(&rows);
}

/*
 * A connection from before its block shows what the previous arm did. It does not count, unless
 * asked for.
 */
static void test_parts_of_connections_from_before_their_block(void **state)
{
	struct rows rows = {};
	struct comparison c;

	(void)state;
	for (__u32 block = 0; block < 10; block++) {
		int arm = experiment_block_arm(switchback.seed, 2, block);

		add(&rows, arm, block, 10000 + block);
		for (int i = 0; i < 2; i++) {
			add(&rows, arm, block, arm ? 20000 + block : 10000 + block);
			rows.at[rows.n - 1].continued = true;
		}
	}
	c = compare_rows("rtt_min", &rows, &switchback, 1);
	assert_int_equal(c.control.connections, 5);
	assert_int_equal(c.treated.connections, 5);
	assert_int_equal(c.verdict, COMPARE_UNDECIDED);
	rows.with_continued = true;
	c = compare_rows("rtt_min", &rows, &switchback, 1);
	assert_int_equal(c.control.connections, 15);
	assert_int_equal(c.treated.connections, 15);
	assert_int_equal(c.verdict, COMPARE_WORSE);
	rows_free(&rows);
}

static void test_lacks(void **state)
{
	struct rows rows = {};

	(void)state;
	assert_int_equal(compare_rows("rtt_min", &rows, &ab, 1).lack, COMPARE_NO_CONNECTIONS);
	add(&rows, 0, 0, 1000);
	assert_int_equal(compare_rows("rtt_min", &rows, &ab, 1).lack, COMPARE_NO_CONNECTIONS);
	for (int i = 0; i < 8; i++)
		add(&rows, i % 2, 0, 1000 + i);
	assert_int_equal(compare_rows("rtt_min", &rows, &ab, 1).lack, COMPARE_FEW_UNITS);
	for (int i = 0; i < 6; i++)
		add(&rows, i % 2, 0, 1000 + i);
	/* None of the connections so far has a byte, so none has goodput. */
	assert_int_equal(compare_rows("goodput_p50", &rows, &ab, 1).lack, COMPARE_NO_CONNECTIONS);
	for (int i = 0; i < 40; i++)
		add(&rows, i % 2, 0, 1000 + i);
	assert_int_equal(compare_rows("rtt_min", &rows, &ab, 1).lack, COMPARE_HAS_ALL);
	for (int lack = COMPARE_NO_CONNECTIONS; lack < COMPARE_LACKS; lack++)
		for (int by = ROWS_BY_CONNECTION; by <= ROWS_BY_BLOCK; by++)
			assert_non_null(compare_lack_text(lack, by));
	assert_null(compare_lack_text(COMPARE_HAS_ALL, ROWS_BY_BLOCK));
	rows_free(&rows);
}

/* Arms that are exactly alike: the interval contains 0, whatever rounding does. */
static void test_equal_values(void **state)
{
	struct rows rows = {};
	struct comparison c;

	(void)state;
	for (int i = 0; i < 200; i++)
		add(&rows, i % 2, 0, 4000 * (1 + i % 3 / 2));
	c = compare_rows("rtt_min", &rows, &ab, 1);
	assert_true(c.low <= 0 && c.high >= 0);
	assert_int_equal(c.verdict, COMPARE_UNDECIDED);
	c = compare_rows("failed", &rows, &ab, 1);
	assert_int_equal(c.verdict, COMPARE_UNDECIDED);
	assert_true(c.lack != COMPARE_HAS_ALL || (c.low <= 0 && c.high >= 0));
	rows_free(&rows);
}

/*
 * Transfers of 100 kB whose time has steps of 4 ms, as a kernel with 250 ticks a second counts it:
 * an experiment on a real path. With both arms' ties at the same values, the median of the values
 * tells little, and their shares do.
 */
static void test_steps_of_a_clock(void **state)
{
	static const int n[][2] = {
		{ 0, 1 },  { 2, 1 },  { 1, 2 },	  { 0, 1 },   { 2, 1 },	  { 2, 2 },   { 5, 1 },
		{ 9, 3 },  { 10, 6 }, { 29, 15 }, { 48, 31 }, { 64, 69 }, { 79, 86 }, { 43, 55 },
		{ 7, 13 }, { 0, 4 },  { 0, 2 },	  { 0, 1 },   { 0, 2 },
	};
	static const char *const names[] = { "goodput_p10", "goodput_p50" };
	struct rows rows = {};
	struct comparison c;

	(void)state;
	for (__u32 i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		for (int arm = 0; arm < 2; arm++)
			for (int k = 0; k < n[i][arm]; k++) {
				add(&rows, arm, 0, 20000);
				rows.at[rows.n - 1].raddr[3] = 0;
				rows.at[rows.n - 1].acked = 100000;
				rows.at[rows.n - 1].busy_us = 12000 + 4000 * i;
			}
	for (int i = 0; i < 2; i++) {
		c = compare_rows(names[i], &rows, &ab, 1);
		printf("%s: %.0f, from %.0f to %.0f\n", names[i], c.difference, c.low, c.high);
		/* 50 of 301 and 77 of 296 have at most 12.5 Mbit/s: p is 0.005 by Fisher's test. */
		assert_int_equal(c.verdict, COMPARE_WORSE);
		assert_true(c.low < c.difference - 1e5 && c.difference + 1e5 < c.high);
		assert_true(c.high < 0 && c.low > -1e6);
	}
	/* Without the slowest of arm 1 the arms are nearly alike. */
	for (size_t k = 0; k < rows.n; k++)
		if (rows.at[k].arm && rows.at[k].busy_us >= 64000 && k % 3)
			rows.at[k].busy_us -= 8000;
	for (int i = 0; i < 2; i++) {
		c = compare_rows(names[i], &rows, &ab, 1);
		printf("%s: %.0f, from %.0f to %.0f\n", names[i], c.difference, c.low, c.high);
		assert_int_equal(c.verdict, COMPARE_UNDECIDED);
		assert_true(c.low < -1e4 && c.high > 1e4);
		assert_true(c.low <= c.difference && c.difference <= c.high);
	}
	rows_free(&rows);
}

/* If all are equal, none can be called different: there is nothing that would differ by chance. */
static void test_all_values_equal(void **state)
{
	struct rows rows = {};
	struct comparison c;

	(void)state;
	for (int i = 0; i < 400; i++) {
		add(&rows, i % 2, i / 50, 16000);
		rows.at[i].acked = 100000;
		rows.at[i].busy_us = 16000;
		rows.at[i].sent = 123457;
		rows.at[i].retransmitted = 12345;
		rows.at[i].arm = experiment_block_arm(switchback.seed, 2, i / 50);
	}
	for (int design = 0; design < 2; design++)
		for (int m = 0; m < n_metrics; m++) {
			c = compare_rows(metrics[m].name, &rows, design ? &switchback : &ab, 1);
			assert_true(c.lack == COMPARE_NOTHING || c.lack == COMPARE_EQUAL ||
				    c.lack == COMPARE_NO_CONNECTIONS);
			assert_true(c.difference == 0);
			assert_int_equal(c.verdict, COMPARE_UNDECIDED);
		}
	c = compare_rows("goodput_p10", &rows, &ab, 1);
	assert_true(c.control.value == 50e6 && c.treated.value == 50e6);
	/* All of one arm differ from all of the other. */
	for (int i = 0; i < 400; i++)
		if (rows.at[i].arm)
			rows.at[i].busy_us = 20000;
	for (int design = 0; design < 2; design++) {
		c = compare_rows("goodput_p50", &rows, design ? &switchback : &ab, 1);
		assert_int_equal(c.verdict, COMPARE_WORSE);
		assert_true(c.low <= c.difference && c.difference <= c.high);
		assert_true(fabs(c.difference + 10e6) < 3e6);
		assert_true(c.high - c.low > 1e4);
	}
	for (int i = 0; i < 400; i++)
		rows.at[i].end = rows.at[i].arm ? EXPERIMENT_RESET : EXPERIMENT_CLOSED;
	for (int design = 0; design < 2; design++) {
		c = compare_rows("failed", &rows, design ? &switchback : &ab, 1);
		assert_int_equal(c.verdict, COMPARE_WORSE);
		assert_true(c.low < 0.999 && c.difference == 1 && c.high > 1.001);
	}
	rows_free(&rows);
}

/* An interval is no point, whatever else the connections have. */
static void test_no_interval_is_a_point(void **state)
{
	struct rows rows = {};
	struct comparison c;

	(void)state;
	for (int i = 0; i < 400; i++) {
		add(&rows, i % 2, i / 50, 16000);
		rows.at[i].acked = 100000 + i / 2 % 10 * 100;
		rows.at[i].busy_us = 16000;
		rows.at[i].arm = experiment_block_arm(switchback.seed, 2, i / 50);
		rows.at[i].sent = 100000 << rows.at[i].arm;
		rows.at[i].retransmitted = 1448;
	}
	/* The same bytes, of more in one arm: no values differ, but shares do. */
	for (int design = 0; design < 2; design++) {
		c = compare_rows("retransmitted", &rows, design ? &switchback : &ab, 1);
		assert_int_equal(c.verdict, COMPARE_BETTER);
		assert_true(c.high - c.low > 1e-4);
	}
	/* One with a rate of 2^60 bytes in 4 ms. */
	rows.at[0].acked = 1ull << 60;
	rows.at[0].busy_us = 4000;
	for (int i = 0; i < 400; i++)
		rows.at[i].arm = i % 2;
	c = compare_rows("goodput_p50", &rows, &ab, 1);
	assert_true(c.low < -1e4 && c.high > 1e4 && c.high < 1e6);
	rows_free(&rows);
}

/* Each arm is compared with arm 0 alone. */
static void test_more_arms(void **state)
{
	struct rows rows = {};
	struct experiment e = ab;

	(void)state;
	e.arms = 3;
	for (int i = 0; i < 600; i++)
		add(&rows, i % 3, 0, 10000 + (i % 3 == 2) * 5000 + i % 7 * 100);
	assert_int_equal(compare_rows("rtt_min", &rows, &e, 1).verdict, COMPARE_UNDECIDED);
	assert_int_equal(compare_rows("rtt_min", &rows, &e, 2).verdict, COMPARE_WORSE);
	rows_free(&rows);
}

static void test_size_classes(void **state)
{
	static const __u64 sizes[] = { 0,	16383,	 16384,	   65535,   65536,
				       1048575, 1048576, 10485759, 10485760 };
	static const int classes[] = { 0, 0, 1, 1, 2, 2, 3, 3, 4 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct row row = { .acked = sizes[i] };

		assert_int_equal(size_class_of(&row), classes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals_hold_the_truth),
		cmocka_unit_test(test_what_can_be_shown),
		cmocka_unit_test(test_rounds_are_pairs),
		cmocka_unit_test(test_rounds_that_differ_by_one_connection),
		cmocka_unit_test(test_a_round_without_its_pair_does_not_count),
		cmocka_unit_test(test_parts_of_connections_from_before_their_block),
		cmocka_unit_test(test_lacks),
		cmocka_unit_test(test_equal_values),
		cmocka_unit_test(test_steps_of_a_clock),
		cmocka_unit_test(test_all_values_equal),
		cmocka_unit_test(test_no_interval_is_a_point),
		cmocka_unit_test(test_more_arms),
		cmocka_unit_test(test_size_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
