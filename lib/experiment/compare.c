// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>

#include "compare.h"
#include "contrast.h"

#define TWO_SIDED (1 - (1 - COMPARE_LEVEL) / 2)

static void note_arm(struct compare_arm *to, const struct contrast_arm *from)
{
	to->connections = from->all.n;
	to->units = from->units;
}

/* Draws the conclusion from an interval of `errors` standard errors to each side. */
static void conclude(struct comparison *to, double errors, double errors_of_power)
{
	bool is_more = to->low > 0;

	to->lack = COMPARE_HAS_ALL;
	to->detectable = (to->high - to->low) / 2 * (1 + errors_of_power / errors);
	if (to->low > 0 || to->high < 0)
		to->verdict =
			is_more == to->metric->more_is_better ? COMPARE_BETTER : COMPARE_WORSE;
}

static void compare_units(struct comparison *to, const struct contrast *c,
			  const struct experiment *e)
{
	double df = c->effective - 2, errors;

	to->control.value = c->arm[0].estimate;
	to->treated.value = c->arm[1].estimate;
	to->control.has_value = to->treated.has_value = true;
	to->difference = contrast_difference(c);
	to->lack = COMPARE_NOTHING;
	if (!to->control.value && !to->treated.value)
		return;
	to->lack = COMPARE_EQUAL;
	if (contrast_is_equal(c))
		return;
	to->lack = COMPARE_FEW_UNITS;
	if (c->arm[0].units < COMPARE_MIN_UNITS || c->arm[1].units < COMPARE_MIN_UNITS ||
	    (df < 1 && !c->draws_units))
		return;
	errors = c->draws_units ? contrast_drawn_errors(c, e->seed, COMPARE_LEVEL) :
				  student_quantile(TWO_SIDED, df);
	if (contrast_interval(c, errors, &to->low, &to->high))
		conclude(to, errors, student_quantile(COMPARE_POWER, fmax(df, 1)));
	else
		to->lack = COMPARE_FEW_CONNECTIONS;
}

/* The metric of a block, if any of its connections has it. */
struct block_value {
	double value;
	bool is_known;
};

/* Finds the values of an arm's blocks. false: no memory. */
static bool find_block_values(struct block_value *values, const struct metric *metric,
			      const struct rows *rows, int arm, int size_class,
			      struct compare_arm *to)
{
	struct observations all;
	bool done = observations_collect(&all, metric, rows, arm, size_class);

	to->connections = all.n;
	for (size_t i = 0, end; done && i < all.n; i = end) {
		struct block_value *block = &values[all.at[i].unit];

		for (end = i; end < all.n && all.at[end].unit == all.at[i].unit;)
			end++;
		done = observations_estimate(metric, &all.at[i], end - i, &block->value);
		block->is_known = true;
	}
	observations_free(&all);
	return done;
}

/* The block of this round in which the arm ran. */
static __u32 block_of_round(const struct experiment *e, __u32 round, __u32 arm)
{
	__u32 block = round * e->arms;

	while (experiment_block_arm(e->seed, e->arms, block) != arm)
		block++;
	return block;
}

/*
 * The paired t test. Each round of blocks has each arm once, so what differs from round to round is
 * in both arms. A round is left out if either block has no value.
 */
static void compare_rounds(struct comparison *to, const struct experiment *e,
			   const struct block_value *control, const struct block_value *treated,
			   __u32 rounds)
{
	double sum = 0, squares = 0, errors, error, size;
	__u32 n = 0;

	for (__u32 i = 0; i < rounds; i++) {
		const struct block_value *a = &control[block_of_round(e, i, 0)];
		const struct block_value *b = &treated[block_of_round(e, i, to->arm)];
		double step;

		if (!a->is_known || !b->is_known)
			continue;
		/* Welford's sum of squares. */
		n++;
		to->control.value += (a->value - to->control.value) / n;
		to->treated.value += (b->value - to->treated.value) / n;
		step = b->value - a->value - sum;
		sum += step / n;
		squares += step * (b->value - a->value - sum);
	}
	to->control.units = to->treated.units = n;
	to->control.has_value = to->treated.has_value = n;
	to->lack = n ? COMPARE_FEW_ROUNDS : COMPARE_NO_CONNECTIONS;
	size = fmax(to->control.value, to->treated.value);
	to->difference = sum = without_rounding(sum, size);
	if (n < COMPARE_MIN_ROUNDS)
		return;
	to->lack = COMPARE_NOTHING;
	if (!to->control.value && !to->treated.value)
		return;
	errors = student_quantile(TWO_SIDED, n - 1);
	error = without_rounding(sqrt(squares / (n - 1) / n), size);
	to->lack = COMPARE_EQUAL;
	if (!sum && !error)
		return;
	to->low = sum - errors * error;
	to->high = sum + errors * error;
	conclude(to, errors, student_quantile(COMPARE_POWER, n - 1));
}

static bool compare_blocks(struct comparison *to, const struct rows *rows, __u32 blocks,
			   const struct experiment *e)
{
	__u32 rounds = (blocks + e->arms - 1) / e->arms;
	size_t n = (size_t)rounds * e->arms;
	struct block_value *values = calloc(2 * n + 1, sizeof(*values));
	bool done = values &&
		    find_block_values(values, to->metric, rows, 0, to->size_class, &to->control) &&
		    find_block_values(values + n, to->metric, rows, to->arm, to->size_class,
				      &to->treated);

	if (done)
		compare_rounds(to, e, values, values + n, rounds);
	free(values);
	return done;
}

bool compare(struct comparison *to, const struct metric *metric, const struct rows *rows,
	     const struct rows_units *units, const struct experiment *e, int arm, int size_class)
{
	struct contrast c;
	bool done;

	*to = (struct comparison){ .metric = metric, .size_class = size_class, .arm = arm };
	if (units->by == ROWS_BY_BLOCK)
		return compare_blocks(to, rows, units->n, e);
	done = contrast_init(&c, metric, rows, units, e, arm, size_class);
	note_arm(&to->control, &c.arm[0]);
	note_arm(&to->treated, &c.arm[1]);
	to->lack = COMPARE_NO_CONNECTIONS;
	if (done && to->control.connections && to->treated.connections)
		compare_units(to, &c, e);
	contrast_free(&c);
	return done;
}

const char *compare_lack_text(enum compare_lack lack, enum rows_unit by)
{
	bool by_prefix = by == ROWS_BY_PREFIX;

	switch (lack) {
	case COMPARE_NO_CONNECTIONS:
		return "no connections to compare";
	case COMPARE_NOTHING:
		return "0 in both arms";
	case COMPARE_EQUAL:
		return by == ROWS_BY_BLOCK ? "the same in both blocks of all rounds" :
					     "the same in all connections";
	case COMPARE_FEW_UNITS:
		return by_prefix ? "too few prefixes" : "too few connections";
	case COMPARE_FEW_CONNECTIONS:
		return "too few connections for this quantile";
	case COMPARE_FEW_ROUNDS:
		return "too few rounds of blocks";
	default:
		return NULL;
	}
}
