/* SPDX-License-Identifier: GPL-2.0-only */
/* Rates as ss(8) prints them. The expected texts are what ss of iproute2 6.1 printed for these rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* No zeros behind the point. */
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
		cmocka_unit_test(test_plural),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
