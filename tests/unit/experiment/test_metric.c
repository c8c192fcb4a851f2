/* SPDX-License-Identifier: GPL-2.0-only */
/* Metrics: which connections have one, its value, its estimate over connections, and its text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "experiment/analysis/row.h"
#include "experiment/analysis/observation.h"

/* ---- what a connection has */

static const struct row typical = {
	.acked = 2000000,
	.sent = 2100000,
	.retransmitted = 21000,
	.busy_us = 1000000,
	.timeouts = 3,
	.end = EXPERIMENT_CLOSED,
	.rtts = 10,
	.rtt_min_us = 10000,
	.rtt_mean_us = 15000,
	.rtt_above_p95_us = 7000,
	.first_us = { 100, 200, 300 },
};

static const struct metric *find(const char *name)
{
	const struct metric *m = metric_find(name, strlen(name));

	assert_non_null(m);
	return m;
}

static void expect(const struct row *row, const char *name, double value)
{
	double found, of = 1;

	assert_true(quantity_get(find(name)->of, row, &found, &of));
	assert_true(fabs(found / of - value) < 1e-9 * fabs(value) + 1e-12);
}

static void expect_none(const struct row *row, const char *name)
{
	double found, of = 1;

	assert_false(quantity_get(find(name)->of, row, &found, &of));
}

static void values_of_a_connection(void **state)
{
	(void)state;
	expect(&typical, "goodput_p50", 16e6);
	expect(&typical, "first_16k_p50", 100);
	expect(&typical, "first_64k_p95", 200);
	expect(&typical, "first_1m_p50", 300);
	expect(&typical, "rtt_min", 10000);
	expect(&typical, "rtt_mean", 15000);
	expect(&typical, "rtt_p95", 7000);
	expect(&typical, "retransmitted", 0.01);
	expect(&typical, "timeouts", 3);
	expect(&typical, "failed", 0);
}

static void values_that_a_connection_does_not_have(void **state)
{
	struct row none = {};
	struct row part = typical;

	(void)state;
	expect_none(&none, "goodput_p50");
	expect_none(&none, "first_16k_p50");
	expect_none(&none, "rtt_min");
	expect_none(&none, "rtt_mean");
	expect_none(&none, "rtt_p95");
	expect_none(&none, "retransmitted");
	expect(&none, "timeouts", 0);
	none.acked = 1;
	expect_none(&none, "goodput_p50"); /* in less than a tick */
	none.busy_us = 1;
	expect(&none, "goodput_p50", 8e6);
	/* A part that continues another one began in its middle. */
	part.continued = true;
	expect_none(&part, "first_16k_p50");
	expect_none(&part, "first_1m_p95");
	expect(&part, "goodput_p50", 16e6);
}

static void how_a_connection_ended(void **state)
{
	static const double failed[EXPERIMENT_ENDS] = {
		[EXPERIMENT_RESET] = 1,
		[EXPERIMENT_TIMED_OUT] = 1,
	};
	struct row row = typical;

	(void)state;
	for (row.end = 0; row.end < EXPERIMENT_ENDS; row.end++)
		if (row.end == EXPERIMENT_SEAM) /* it goes on */
			expect_none(&row, "failed");
		else
			expect(&row, "failed", failed[row.end]);
}

static void a_metric_is_found_by_its_whole_name(void **state)
{
	(void)state;
	for (int i = 0; i < n_metrics; i++)
		assert_ptr_equal(find(metrics[i].name), &metrics[i]);
	assert_ptr_equal(metric_find("rtt_min < +1ms", 7), find("rtt_min"));
	assert_null(metric_find("rtt_min", 0));
	assert_null(metric_find("rtt_min", 6));
	assert_null(metric_find("rtt_minx", 8));
	assert_null(metric_find("RTT_MIN", 7));
}

static void classes_by_size(void **state)
{
	struct row row = {};

	(void)state;
	assert_int_equal(size_class_of(&row), 0);
	for (int i = 1; i < SIZE_CLASSES; i++) {
		row.acked = size_classes[i].from - 1;
		assert_int_equal(size_class_of(&row), i - 1);
		row.acked++;
		assert_int_equal(size_class_of(&row), i);
	}
	row.acked = ~0ull;
	assert_int_equal(size_class_of(&row), SIZE_CLASSES - 1);
}

/* ---- over connections */

/* As observations_collect() spreads them: the least of the gaps to both neighbours is a width. */
static const struct observation five[] = {
	{ 1, 1, 0.75, 1.25, 0, 0, 0 }, { 2, 1, 1.5, 2.5, 0, 0, 0 }, { 3, 1, 2.5, 3.5, 0, 0, 0 },
	{ 10, 1, 6.5, 13.5, 0, 0, 0 }, { 20, 1, 15, 25, 0, 0, 0 },
};

static void expect_quantile(const struct observation *at, size_t n, double p, double value)
{
	struct distribution d = distribution_make(at, n);

	assert_true(fabs(distribution_quantile(&d, p) - value) < 1e-9);
	assert_true(fabs(distribution_below(&d, value) - p * n) < 1e-9);
	distribution_free(&d);
}

/* Within a cell it is interpolated; between cells it is the middle, as a median of two is. */
static void quantiles_are_interpolated(void **state)
{
	static const struct observation tied[] = {
		{ 8, 1, 6, 10, 0, 0, 0 },
		{ 8, 1, 6, 10, 0, 0, 0 },
		{ 8, 1, 6, 10, 0, 0, 0 },
		{ 12, 1, 10, 14, 0, 0, 0 },
	};
	static const struct observation equal[] = { { 8, 1, 8, 8, 0, 0, 0 },
						    { 8, 1, 8, 8, 0, 0, 0 } };
	struct distribution d;

	(void)state;
	expect_quantile(five, 5, 0.1, 1);
	expect_quantile(five, 5, 0.2, 1.375); /* (1.25 + 1.5) / 2 */
	expect_quantile(five, 5, 0.5, 3);
	expect_quantile(five, 5, 0.6, 5);
	expect_quantile(five, 5, 0.95, 22.5);
	expect_quantile(tied, 4, 0.5, 6 + 4 * 2 / 3.0);
	expect_quantile(tied, 4, 0.75, 10);
	expect_quantile(tied, 4, 0.8, 10.8);
	d = distribution_make(equal, 2);
	for (double p = 0.05; p < 1; p += 0.05)
		assert_true(distribution_quantile(&d, p) == 8);
	assert_true(distribution_below(&d, 7.999) == 0 && distribution_below(&d, 8) == 2);
	distribution_free(&d);
}

static void expect_estimate(const char *metric, double value)
{
	static const struct observations all;

	assert_true(fabs(observations_estimate(find(metric), &all, five, 5).value - value) < 1e-12);
}

/* A connection that sent more weighs more. */
static void a_mean_of_shares_is_that_of_all_bytes(void **state)
{
	static const struct observation two[] = { { .value = 1, .of = 10 },
						  { .value = 0, .of = 90 } };

	(void)state;
	assert_true(fabs(observations_mean(two, 2) - 0.01) < 1e-12);
	assert_true(fabs(observations_mean(five, 5) - 7.2) < 1e-12);
	expect_estimate("timeouts", 7.2);
	expect_estimate("rtt_min", 3);
}

static void add(struct rows *rows, int arm, __u64 acked, __u32 unit, bool continued)
{
	struct row row = typical;

	row.arm = arm;
	row.acked = acked;
	row.unit = unit;
	row.continued = continued;
	rows_add(rows, &row);
}

static size_t count(const struct rows *rows, const char *metric, int arm, int size_class)
{
	struct observations o = observations_collect(find(metric), rows, arm, size_class);

	observations_free(&o);
	return o.n;
}

static void what_is_collected(void **state)
{
	struct rows rows = {};
	struct observations o;

	(void)state;
	assert_int_equal(count(&rows, "timeouts", 0, SIZE_ALL), 0);
	add(&rows, 0, 300, 2, false);
	add(&rows, 0, 100, 2, false);
	add(&rows, 0, 20000, 1, false);
	add(&rows, 0, 0, 1, false); /* no goodput */
	add(&rows, 0, 400, 1, true);
	add(&rows, 1, 500, 1, false);
	assert_int_equal(count(&rows, "goodput_p50", 0, SIZE_ALL), 3);
	assert_int_equal(count(&rows, "timeouts", 0, SIZE_ALL), 4);
	assert_int_equal(count(&rows, "goodput_p50", 0, 0), 2);
	assert_int_equal(count(&rows, "goodput_p50", 0, 1), 1);
	assert_int_equal(count(&rows, "goodput_p50", 1, SIZE_ALL), 1);
	assert_int_equal(count(&rows, "goodput_p50", 2, SIZE_ALL), 0);
	rows.with_continued = true;
	assert_int_equal(count(&rows, "goodput_p50", 0, SIZE_ALL), 4);
	o = observations_collect(find("goodput_p50"), &rows, 0, SIZE_ALL);
	for (size_t i = 1; i < o.n; i++)
		assert_true(
			o.at[i - 1].unit < o.at[i].unit ||
			(o.at[i - 1].unit == o.at[i].unit && o.at[i - 1].value <= o.at[i].value));
	observations_free(&o);
	rows_free(&rows);
}

/* ---- text */

static void expect_text(enum metric_unit unit, double value, const char *text)
{
	assert_string_equal(metric_text(unit, METRIC_VALUE, value), text);
}

static void values_as_text(void **state)
{
	(void)state;
	expect_text(METRIC_BPS, 94512345, "94.5Mbit/s");
	expect_text(METRIC_BPS, 1e9, "1.00Gbit/s");
	expect_text(METRIC_BPS, 2.5e12, "2500Gbit/s");
	expect_text(METRIC_BPS, 0, "0.00bit/s");
	expect_text(METRIC_BPS, -1500, "-1.50kbit/s");
	expect_text(METRIC_US, 12345, "12.3ms");
	expect_text(METRIC_US, 0.5, "0.50us");
	expect_text(METRIC_US, 61e6, "61.0s");
	expect_text(METRIC_SHARE, 0.0052, "0.52%");
	expect_text(METRIC_SHARE, 1, "100%");
	expect_text(METRIC_COUNT, 0.0312, "0.0312");
}

/* Never "1000kbit/s" or "10.00ms". */
static void rounding_does_not_add_a_digit(void **state)
{
	(void)state;
	expect_text(METRIC_BPS, 999499, "999kbit/s");
	expect_text(METRIC_BPS, 999500, "1.00Mbit/s");
	expect_text(METRIC_US, 9994, "9.99ms");
	expect_text(METRIC_US, 9995, "10.0ms");
	expect_text(METRIC_US, 99949, "99.9ms");
	expect_text(METRIC_US, 99950, "100ms");
	expect_text(METRIC_US, -9995, "-10.0ms");
}

static void differences_have_a_sign(void **state)
{
	(void)state;
	assert_string_equal(metric_text(METRIC_SHARE, METRIC_DIFFERENCE, 0.005), "+0.5pp");
	assert_string_equal(metric_text(METRIC_SHARE, METRIC_DIFFERENCE, -0.005), "-0.5pp");
	assert_string_equal(metric_text(METRIC_US, METRIC_DIFFERENCE, 0), "+0.00us");
	assert_string_equal(metric_text(METRIC_US, METRIC_DIFFERENCE, -2000), "-2.00ms");
	assert_string_equal(metric_text(METRIC_SHARE, METRIC_AMOUNT, 0.005), "0.5pp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_a_connection),
		cmocka_unit_test(values_that_a_connection_does_not_have),
		cmocka_unit_test(how_a_connection_ended),
		cmocka_unit_test(a_metric_is_found_by_its_whole_name),
		cmocka_unit_test(classes_by_size),
		cmocka_unit_test(quantiles_are_interpolated),
		cmocka_unit_test(a_mean_of_shares_is_that_of_all_bytes),
		cmocka_unit_test(what_is_collected),
		cmocka_unit_test(values_as_text),
		cmocka_unit_test(rounding_does_not_add_a_digit),
		cmocka_unit_test(differences_have_a_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
