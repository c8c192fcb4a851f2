// SPDX-License-Identifier: GPL-2.0-only
/* Outcomes from the ring, as rows. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "experiment/analysis/row.h"

static struct experiment_outcome place;

static void test_one_that_is_being_written(void **state)
{
	struct experiment_outcome o;

	(void)state;
	place = (struct experiment_outcome){ .number = 3, .acked = 30, .version = 7 };
	assert_false(outcome_read(&place, &o));
	place.version = 8;
	assert_true(outcome_read(&place, &o));
	assert_int_equal(o.number, 3);
	assert_int_equal(o.acked, 30);
}

static bool stop;

/* All counters of an outcome are the same number, except while its version is odd. */
static void *write_all_the_time(void *unused)
{
	for (__u64 i = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		__atomic_fetch_add(&place.version, 1, __ATOMIC_SEQ_CST);
		*(volatile __u64 *)&place.acked = i;
		*(volatile __u64 *)&place.sent = i;
		*(volatile __u64 *)&place.rtt_sum_us = i;
		__atomic_fetch_add(&place.version, 1, __ATOMIC_SEQ_CST);
	}
	return unused;
}

static void test_it_is_of_one_moment(void **state)
{
	struct experiment_outcome o;
	pthread_t writer;
	int read = 0;

	(void)state;
	memset(&place, 0, sizeof(place));
	stop = false;
	assert_int_equal(pthread_create(&writer, NULL, write_all_the_time, NULL), 0);
	for (int i = 0; i < 200000; i++) {
		if (!outcome_read(&place, &o))
			continue;
		read++;
		assert_int_equal(o.acked, o.sent);
		assert_int_equal(o.acked, o.rtt_sum_us);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	assert_true(read > 1000);
}

static void test_a_row(void **state)
{
	const struct experiment e = { .hz = 250, .started = 1000000 };
	struct experiment_outcome o = {
		.number = 5,
		.arm = 1,
		.end = EXPERIMENT_RESET,
		.begin = 3000000,
		.last = 9000000,
		.busy_ticks = 10,
		.rwnd_ticks = 1,
		.rtt_min_us = 20000,
		.rtt_sum_us = 100000,
		.rtts = 4,
		.first_us = { 7, 0, 0 },
		.continued = 1,
	};
	struct row row;

	(void)state;
	o.rtt_above[0] = 3;
	o.rtt_above[experiment_bucket(10000)] = 1;
	row_from_outcome(&row, &e, &o);
	assert_int_equal(row.begin_ns, 2000000);
	assert_int_equal(row.last_ns, 8000000);
	assert_int_equal(row.busy_us, 40000);
	assert_int_equal(row.rwnd_us, 4000);
	assert_int_equal(row.rtt_mean_us, 25000);
	assert_int_equal(row.first_us[0], 7);
	assert_true(row.continued);
	/* 2 of 3 in the bucket from 0 to 64; 0.8 of the one of 10 ms, 8,192 to 10,240. */
	assert_int_equal(row.rtt_above_p50_us, 42);
	assert_int_equal(row.rtt_above_p95_us, 8192 + 2048 * 8 / 10);
	o.rtts = 0;
	o.sent = 1000;
	o.retransmitted = 1448;
	o.last = o.begin - 1;
	row_from_outcome(&row, &e, &o);
	assert_int_equal(row.rtt_above_p95_us, 0);
	assert_int_equal(row.retransmitted, 1000);
	assert_int_equal(row.last_ns, row.begin_ns);
	assert_int_equal(row.rtt_min_us, 0);
}

static void add(struct rows *rows, __u32 addr, __u32 block)
{
	struct row row = { .raddr = { 0, 0, htonl(0xffff), htonl(addr) }, .block = block };

	rows_add(rows, &row);
}

static void test_units(void **state)
{
	struct experiment e = { .prefix4 = 96 + 24, .prefix6 = 64 };
	struct rows_units units;
	struct rows rows = {};

	(void)state;
	for (__u32 i = 0; i < EXPERIMENT_CLUSTERS - 1; i++) {
		add(&rows, 0x0a000001 + (i << 8), i);
		add(&rows, 0x0a000002 + (i << 8), i);
	}
	units = rows_find_units(&rows, &e);
	assert_int_equal(units.by, ROWS_BY_CONNECTION);
	assert_int_equal(units.n, rows.n);
	assert_int_equal(units.prefixes, EXPERIMENT_CLUSTERS - 1);
	add(&rows, 0x0b000001, 7);
	units = rows_find_units(&rows, &e);
	assert_int_equal(units.by, ROWS_BY_PREFIX);
	assert_int_equal(units.n, EXPERIMENT_CLUSTERS);
	for (size_t i = 0; i + 1 < rows.n; i += 2)
		assert_int_equal(rows.at[i].unit, rows.at[i + 1].unit);
	assert_int_not_equal(rows.at[0].unit, rows.at[2].unit);
	e.prefix4 = 96 + 8;
	units = rows_find_units(&rows, &e);
	assert_int_equal(units.prefixes, 2);
	e.unit = EXPERIMENT_BY_PREFIX;
	units = rows_find_units(&rows, &e);
	assert_int_equal(units.by, ROWS_BY_PREFIX);
	e.design = EXPERIMENT_SWITCHBACK;
	units = rows_find_units(&rows, &e);
	assert_int_equal(units.by, ROWS_BY_BLOCK);
	assert_int_equal(rows.at[2].unit, rows.at[2].block);
	rows_free(&rows);
}

/* IPv6 prefixes have the bits of prefix6, whatever IPv4's are. */
static void test_units_of_ipv6(void **state)
{
	const struct experiment e = { .prefix4 = 128, .prefix6 = 48, .unit = EXPERIMENT_BY_PREFIX };
	struct row row = { .raddr = { htonl(0x20010db8), htonl(0x00010000), 0, htonl(1) } };
	struct rows_units units;
	struct rows rows = {};

	(void)state;
	rows_add(&rows, &row);
	row.raddr[1] = htonl(0x0001ffff);
	rows_add(&rows, &row);
	row.raddr[1] = htonl(0x00020000);
	rows_add(&rows, &row);
	units = rows_find_units(&rows, &e);
	assert_int_equal(units.n, 2);
	assert_int_equal(rows.at[0].unit, rows.at[1].unit);
	rows_free(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_that_is_being_written),
		cmocka_unit_test(test_it_is_of_one_moment),
		cmocka_unit_test(test_a_row),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_units_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
