// SPDX-License-Identifier: GPL-2.0-only
/* The values of printed tables. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "experiment/analysis/compare.h"

#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 5e-4 * (1 + fabs(b)))

static void test_quantiles_of_the_tables(void **state)
{
	static const struct {
		double df, p, t;
	} table[] = {
		{ 1, 0.975, 12.7062 }, { 2, 0.975, 4.3027 }, { 3, 0.975, 3.1824 },
		{ 3, 0.8, 0.9785 },    { 5, 0.95, 2.0150 },  { 10, 0.975, 2.2281 },
		{ 30, 0.995, 2.7500 }, { 100, 0.9, 1.2901 }, { 1e6, 0.975, 1.9600 },
		{ 1, 0.75, 1 },	       { 7, 0.999, 4.7853 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		CLOSE(student_quantile(table[i].p, table[i].df), table[i].t);
		CLOSE(student_quantile(1 - table[i].p, table[i].df), -table[i].t);
	}
}

/* With 1 and 2 degrees of freedom there are closed forms. */
static void test_closed_forms(void **state)
{
	(void)state;
	for (double p = 0.01; p < 1; p += 0.0037) {
		assert_true(fabs(student_quantile(p, 1) - tan(M_PI * (p - 0.5))) < 1e-9);
		assert_true(fabs(student_quantile(p, 2) - (2 * p - 1) / sqrt(2 * p * (1 - p))) <
			    1e-9);
	}
}

static void test_between_whole_numbers(void **state)
{
	double before = INFINITY;

	(void)state;
	for (double df = 1; df < 60; df += 0.1) {
		double t = student_quantile(0.975, df);

		assert_true(t < before);
		before = t;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles_of_the_tables),
		cmocka_unit_test(test_closed_forms),
		cmocka_unit_test(test_between_whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
