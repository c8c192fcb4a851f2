// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how often experiments with equal arms find a difference. It should be 5 % at the level
 * of 95 %; a test with fewer than 3 % would detect nothing. Traffic has heavy tails, and prefixes
 * of very different weight whose connections are alike. Clocks may be coarse, so that most values
 * are tied.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "experiment/analysis/compare.h"
#include "made_up_traffic.h"

struct setting {
	const char *name;
	__u32 design, unit;
	int connections, prefixes;
	double zipf, alike;
	double share; /* of arm 1 */
	__u32 blocks;
	int experiments;
	bool is_tied; /* with a clock of `step`, see traffic_round() */
	__u32 step;
};

static const struct setting by_connection[] = {
	{ "200, few prefixes", EXPERIMENT_AB, 0, 200, 5, 0, 0.5, 0.5, 0, 200, false, 0 },
	{ "1000, few prefixes, 10 %", EXPERIMENT_AB, 0, 1000, 10, 1, 0.5, 0.1, 0, 100, false, 0 },
	{ "2000, few prefixes", EXPERIMENT_AB, 0, 2000, 10, 1, 0.5, 0.5, 0, 60, false, 0 },
	{ "300 of 30 prefixes", EXPERIMENT_AB, 0, 300, 30, 1, 0.5, 0.5, 0, 150, false, 0 },
	{ "1000 of 100 prefixes, 10 %", EXPERIMENT_AB, 0, 1000, 100, 1, 0.5, 0.1, 0, 100, false,
	  0 },
	{ "2000 of 40 prefixes, very alike", EXPERIMENT_AB, 0, 2000, 40, 1, 1, 0.5, 0, 60, false,
	  0 },
};

static const struct setting by_prefix[] = {
	{ "200 of 40", EXPERIMENT_AB, 1, 200, 40, 0.5, 0.5, 0.5, 0, 150, false, 0 },
	{ "500 of 100, equal", EXPERIMENT_AB, 1, 500, 100, 0, 0.5, 0.5, 0, 80, false, 0 },
	{ "1000 of 100, very unequal", EXPERIMENT_AB, 1, 1000, 100, 1, 0.5, 0.5, 0, 80, false, 0 },
	{ "1000 of 40, very alike", EXPERIMENT_AB, 1, 1000, 40, 0.5, 1, 0.5, 0, 80, false, 0 },
	{ "2000 of 300, 20 %", EXPERIMENT_AB, 1, 2000, 300, 0.8, 0.5, 0.2, 0, 40, false, 0 },
};

/* One prefix has 61 or 45 % of the connections, and the second 15 %. */
static const struct setting by_few_prefixes[] = {
	{ "600 of 30, 61 % in one", EXPERIMENT_AB, 1, 600, 30, 2, 0.5, 0.5, 0, 100, false, 0 },
	{ "600 of 30, 45 % in one", EXPERIMENT_AB, 1, 600, 30, 1.5, 0.5, 0.5, 0, 100, false, 0 },
	{ "600 of 60, 61 % in one", EXPERIMENT_AB, 1, 600, 60, 2, 0.5, 0.5, 0, 100, false, 0 },
	{ "600 of 60, 45 % in one", EXPERIMENT_AB, 1, 600, 60, 1.5, 0.5, 0.5, 0, 100, false, 0 },
};

static const struct setting by_block[] = {
	{ "8 blocks", EXPERIMENT_SWITCHBACK, 0, 400, 50, 1, 0.5, 0, 8, 200, false, 0 },
	{ "16 blocks", EXPERIMENT_SWITCHBACK, 0, 800, 50, 1, 0.5, 0, 16, 120, false, 0 },
	{ "40 blocks", EXPERIMENT_SWITCHBACK, 0, 2000, 50, 1, 0.5, 0, 40, 60, false, 0 },
};

/* Each design, with clocks of 1, 4 and 10 ms and with ten values. */
#define TIED(name, design, unit, n, prefixes, share, blocks)                                           \
	{ name ", 1 ms", design, unit, n, prefixes, 0.7, 0.5, share, blocks, 30, true, 1000 },         \
		{ name ", 4 ms", design, unit, n, prefixes, 0.7, 0.5, share, blocks, 30, true, 4000 }, \
		{ name ", 10 ms", design, unit, n,    prefixes, 0.7, 0.5,                              \
		  share,	  blocks, 60,	true, 10000 },                                         \
	{                                                                                              \
		name ", ten values", design, unit, n, prefixes, 0.7, 0.5, share, blocks, 30, true,     \
			TRAFFIC_TEN_VALUES                                                             \
	}

static const struct setting tied_by_connection[] = {
	TIED("300", EXPERIMENT_AB, 0, 300, 5, 0.5, 0),
	TIED("500 of 60 prefixes", EXPERIMENT_AB, 0, 500, 60, 0.3, 0),
};
static const struct setting tied_canary[] = {
	TIED("canary, 10 % of 600", EXPERIMENT_CANARY, 0, 600, 10, 0.1, 0),
	TIED("canary, 30 % of 80 prefixes", EXPERIMENT_CANARY, 1, 500, 80, 0.3, 0),
};
static const struct setting tied_by_prefix[] = {
	TIED("300 of 60", EXPERIMENT_AB, 1, 300, 60, 0.5, 0),
	TIED("500 of 100", EXPERIMENT_AB, 1, 500, 100, 0.5, 0),
};
static const struct setting tied_by_block[] = {
	TIED("8 blocks", EXPERIMENT_SWITCHBACK, 0, 300, 50, 0, 8),
	TIED("20 blocks", EXPERIMENT_SWITCHBACK, 0, 600, 50, 0, 20),
};

/* With so few connections, blocks often differ by one that failed or timed out. */
static const struct setting few_by_block[] = {
	{ "8 blocks of 40", EXPERIMENT_SWITCHBACK, 0, 320, 50, 0.7, 0.5, 0, 8, 300, true, 4000 },
	{ "10 blocks of 30", EXPERIMENT_SWITCHBACK, 0, 300, 50, 0.7, 0.5, 0, 10, 300, true, 4000 },
	{ "20 blocks of 20", EXPERIMENT_SWITCHBACK, 0, 400, 50, 0.7, 0.5, 0, 20, 150, true, 4000 },
};

struct tally {
	int compared, different;
};

static __u8 draw_arm(struct traffic *t, const struct setting *s, const struct experiment *e,
		     const struct row *row)
{
	if (s->blocks)
		return experiment_block_arm(e->seed, e->arms, row->block);
	if (s->unit)
		return experiment_mix(e->seed ^ row->raddr[3]) < s->share * 4294967296.0;
	return traffic_uniform(t) < s->share;
}

/*
 * The interval has the difference in it, and is no rounding noise: it is much wider than that. No
 * difference of 0 is called better or worse.
 */
static void check_interval(const struct comparison *c)
{
	double value = fmax(c->control.value, c->treated.value);

	assert_true(c->low <= c->difference && c->difference <= c->high);
	assert_true(!c->verdict || c->difference);
	assert_true(c->high - c->low > 1e-4 * value);
	assert_true(!c->low || fabs(c->low) > 1e-9 * value);
	assert_true(!c->high || fabs(c->high) > 1e-9 * value);
}

/* One experiment, all its metrics. */
static void run(const struct setting *s, __u64 seed, struct tally *tally)
{
	const struct experiment e = {
		.design = s->design,
		.unit = s->unit,
		.arms = 2,
		.seed = experiment_mix(seed),
		.prefix4 = 96 + 24,
	};
	struct rows_units units;
	struct traffic traffic;
	struct rows rows = {};
	struct comparison c;
	double slow = 1;

	traffic_begin(&traffic, seed, s->prefixes, s->zipf, s->alike);
	for (int i = 0; i < s->connections; i++) {
		__u32 block = (__u64)i * s->blocks / s->connections;
		struct row row;

		if (s->blocks && (!i || block != rows.at[i - 1].block))
			slow = exp(0.3 * traffic_normal(&traffic)); /* the network's load now */
		traffic_next(&traffic, &row, slow);
		if (s->is_tied)
			traffic_round(&traffic, &row, s->step);
		row.block = block;
		row.arm = draw_arm(&traffic, s, &e, &row);
		rows_add(&rows, &row);
	}
	units = rows_find_units(&rows, &e);
	for (int m = 0; m < n_metrics; m++) {
		c = compare(&metrics[m], &rows, &units, 1, SIZE_ALL);
		tally[m].compared += c.lack == COMPARE_HAS_ALL;
		tally[m].different += c.verdict != COMPARE_UNDECIDED;
		if (c.lack == COMPARE_HAS_ALL)
			check_interval(&c);
	}
	rows_free(&rows);
}

static double share(const struct tally *t)
{
	return t->compared ? 100.0 * t->different / t->compared : 0;
}

/*
 * Over all metrics, between 3 and 7 %. For one metric, within the chance of so many experiments
 * (three standard deviations), because these are not the experiments that the settings were chosen
 * by.
 */
static void check(const struct setting *settings, int n)
{
	struct tally tally[32] = {}, all = {}, before;

	assert_true(n_metrics <= 32);
	for (int i = 0; i < n; i++) {
		before = all;
		for (int k = 0; k < settings[i].experiments; k++)
			run(&settings[i], 1000 * i + k, tally);
		all = (struct tally){};
		for (int m = 0; m < n_metrics; m++) {
			all.compared += tally[m].compared;
			all.different += tally[m].different;
		}
		before = (struct tally){ all.compared - before.compared,
					 all.different - before.different };
		printf("%-34s %5.1f %% of %d\n", settings[i].name, share(&before), before.compared);
	}
	for (int m = 0; m < n_metrics; m++) {
		printf("%-34s %5.1f %% of %d\n", metrics[m].name, share(&tally[m]),
		       tally[m].compared);
		if (tally[m].compared >= 100)
			assert_true(share(&tally[m]) <
				    5 + 300 * sqrt(0.05 * 0.95 / tally[m].compared));
	}
	printf("%-34s %5.1f %% of %d\n", "all", share(&all), all.compared);
	assert_true(share(&all) > 3 && share(&all) < 7);
}

#define CHECK(settings) check(settings, sizeof(settings) / sizeof(settings[0]))

static void test_by_connection(void **state)
{
	(void)state;
	CHECK(by_connection);
}

static void test_by_prefix(void **state)
{
	(void)state;
	CHECK(by_prefix);
	CHECK(by_few_prefixes);
}

static void test_by_block(void **state)
{
	(void)state;
	CHECK(by_block);
}

static void test_ties(void **state)
{
	(void)state;
	CHECK(tied_by_connection);
	CHECK(tied_canary);
	CHECK(tied_by_prefix);
	CHECK(tied_by_block);
	CHECK(few_by_block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_connection),
		cmocka_unit_test(test_by_prefix),
		cmocka_unit_test(test_by_block),
		cmocka_unit_test(test_ties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
