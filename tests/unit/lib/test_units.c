/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rates as ss(8) prints them: the expected texts are what ss of iproute2 6.1 printed for these
 * rates. And numbers as printf() prints them: the tests compare with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/units.h"

static void prints(double bps, const char *expected)
{
	char buf[UNITS_LEN];

	format_rate_ss(buf, sizeof(buf), bps);
	assert_string_equal(buf, expected);
}

static void test_below_a_kilobit_nothing_is_rounded(void **state)
{
	(void)state;
	prints(0, "0bps");
	prints(8, "8bps");
	prints(992, "992bps");
	prints(214.103, "214bps"); /* a delivery rate is a quotient */
}

static void test_three_digits(void **state)
{
	(void)state;
	prints(9992, "9.99kbps");
	prints(10050000, "10.1Mbps");
	prints(10149992, "10.1Mbps");
	prints(94512000, "94.5Mbps");
	prints(37040000000, "37Gbps");
	prints(98765431209872, "98.8Tbps");
}

/* No trailing zeros after the point. */
static void test_whole_values(void **state)
{
	(void)state;
	prints(1000, "1kbps");
	prints(10000, "10kbps");
	prints(1000000, "1Mbps");
	prints(1500000, "1.5Mbps");
	prints(37000000000, "37Gbps");
	prints(1000000000000, "1Tbps");
}

static void test_a_fourth_digit(void **state)
{
	(void)state;
	prints(99992, "100kbps");
	prints(999499992, "999Mbps");
	prints(999500000, "1e+03Mbps");
	prints(999992, "1e+03kbps");
	prints(9223372036854775808.0, "9.22e+06Tbps");
}

/* xorshift64: of any order of magnitude */
static __u64 any(void)
{
	static __u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> (state & 63);
}

static void ratio_is_that_of_printf(__u64 n, __u64 d, unsigned int digits)
{
	char buf[UNITS_LEN], expected[UNITS_LEN];

	snprintf(expected, sizeof(expected), "%.*g", (int)digits, n / (double)d);
	assert_int_equal(format_ratio(buf, n, d, digits), strlen(expected));
	assert_string_equal(buf, expected);
}

static void test_ratios(void **state)
{
	(void)state;
	for (__u64 n = 0; n < 1 << 16; n++) { /* all gains */
		ratio_is_that_of_printf(n, 256, 6);
		ratio_is_that_of_printf(n, 1000, 6);
	}
	for (int i = 0; i < 200000; i++) {
		ratio_is_that_of_printf(any(), 1000, 6);
		ratio_is_that_of_printf(any() / 50 * 50, 1000, 3); /* halfway between two */
		ratio_is_that_of_printf(any(), 1000000000000, 3);
	}
	ratio_is_that_of_printf(~0ull, 256, 6);
	ratio_is_that_of_printf(1, 100000, 6); /* 1e-05 */
}

static void seconds_are_those_of_printf(__s64 ns)
{
	char buf[UNITS_LEN], expected[UNITS_LEN];

	snprintf(expected, sizeof(expected), "%.6f", ns / 1e9);
	assert_int_equal(format_seconds(buf, ns), strlen(expected));
	assert_string_equal(buf, expected);
}

static void test_seconds(void **state)
{
	(void)state;
	for (__s64 ns = -2000; ns < 2000; ns++)
		seconds_are_those_of_printf(ns);
	for (int i = 0; i < 200000; i++) {
		seconds_are_those_of_printf(any() >> 1);
		seconds_are_those_of_printf(-(__s64)(any() >> 1));
	}
	seconds_are_those_of_printf(999999999501); /* 1000.000000 */
	seconds_are_those_of_printf(INT64_MIN);
}

static void test_counts(void **state)
{
	char buf[UNITS_LEN], expected[UNITS_LEN];

	(void)state;
	for (__u64 value = 1;; value *= 10) {
		for (int i = -1; i <= 1; i++) {
			snprintf(expected, sizeof(expected), "%llu", value + i);
			assert_int_equal(format_count(buf, value + i), strlen(expected));
			assert_string_equal(buf, expected);
		}
		if (value == 10000000000000000000ull)
			break;
	}
}

static void test_plural(void **state)
{
	(void)state;
	assert_string_equal(plural(0), "s");
	assert_string_equal(plural(1), "");
	assert_string_equal(plural(2), "s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_below_a_kilobit_nothing_is_rounded),
		cmocka_unit_test(test_three_digits),
		cmocka_unit_test(test_whole_values),
		cmocka_unit_test(test_a_fourth_digit),
		cmocka_unit_test(test_ratios),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_plural),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
