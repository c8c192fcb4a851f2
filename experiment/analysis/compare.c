// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "cli/err.h"
#include "compare.h"
#include "contrast.h"

#define TWO_SIDED (1 - (1 - COMPARE_LEVEL) / 2)
#define LEAST_BEYOND 5

/* ---- Student's t distribution */

#define PIECES 1000

/* The integral of cosh(x)^-df from 0 to u, by Simpson's rule. */
static double student_integral(double u, double df)
{
	double sum = 0, width = u / PIECES;

	for (int i = 0; i <= PIECES; i++)
		sum += (i % 2 ? 4 : i && i < PIECES ? 2 : 1) * pow(cosh(i * width), -df);
	return sum * width / 3;
}

/*
 * With t = sqrt(df) * sinh(u), the density of u is proportional to cosh(u)^-df. It falls from 0 on,
 * so Newton's steps from there never go too far, and end when rounding allows no further one.
 */
double student_quantile(double p, double df)
{
	double all, step, u = 0;

	if (p < 0.5)
		return -student_quantile(1 - p, df);
	all = 2 * student_integral(acosh(exp(45 / df)), df); /* beyond that it is below 1e-19 */
	do {
		step = ((p - 0.5) * all - student_integral(u, df)) * pow(cosh(u), df);
		u += step;
	} while (step > 1e-15 * u);
	return sqrt(df) * sinh(u);
}

/* ---- the interval */

/* The test falls as the shift grows. Finds the shift from which on it is not above `errors`. */
static double find_shift(const struct contrast *c, double from, double to, double errors)
{
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = from + (to - from) / 2;

		if (contrast_test(c, 1, middle) > errors)
			from = middle;
		else
			to = middle;
	}
	return to;
}

/*
 * Rounding moves the ends a little: the difference is in the interval in any case, and so is 0 if the
 * test does not reject it.
 */
static bool find_interval(struct comparison *to, const struct contrast *c, double errors)
{
	/* Beyond this shift the arms have no cell in common. */
	double most = 4 * (c->most - c->least) + c->most + 1;
	double here = contrast_test(c, 1, 0);
	double p = c->metric->quantile, n = c->arm[0].all.n + c->arm[1].all.n;
	double size = fmax(c->arm[0].estimate, c->arm[1].estimate);

	/*
	 * Of the connections beyond the quantile, on its rarer side, equal arms have so few that all
	 * of them are in one arm by chance: 4 are so in one of 8 experiments, 5 in one of 16.
	 */
	if (p != METRIC_MEAN && fmin(p, 1 - p) * n < LEAST_BEYOND)
		return false;
	if (contrast_test(c, 1, -most) <= errors || contrast_test(c, 1, most) >= -errors)
		return false;
	to->low = fmin(to->difference, without_rounding(find_shift(c, -most, most, errors), size));
	to->high =
		fmax(to->difference, without_rounding(find_shift(c, -most, most, -errors), size));
	if (here <= errors)
		to->low = fmin(to->low, 0);
	if (here >= -errors)
		to->high = fmax(to->high, 0);
	return true;
}

/* ---- the conclusion */

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

static void compare_units(struct comparison *to, const struct contrast *c, __u32 seed)
{
	double df = c->effective - 2, errors;

	to->control.value = c->arm[0].estimate;
	to->treated.value = c->arm[1].estimate;
	to->control.has_value = to->treated.has_value = true;
	to->difference = without_rounding(to->treated.value - to->control.value, to->control.value);
	to->lack = COMPARE_NOTHING;
	if (!to->control.value && !to->treated.value)
		return;
	to->lack = COMPARE_EQUAL;
	if (!without_rounding(c->most - c->least, c->most))
		return;
	to->lack = COMPARE_FEW_UNITS;
	if (c->arm[0].units < COMPARE_MIN_UNITS || c->arm[1].units < COMPARE_MIN_UNITS ||
	    (c->draws_units ? c->effective_others < COMPARE_MIN_OTHERS : df < 1))
		return;
	errors = c->draws_units ? contrast_drawn_errors(c, seed, COMPARE_LEVEL) :
				  student_quantile(TWO_SIDED, df);
	if (find_interval(to, c, errors))
		conclude(to, errors, student_quantile(COMPARE_POWER, fmax(df, 1)));
	else
		to->lack = COMPARE_FEW_CONNECTIONS;
}

/* The metric of a block, if any of its connections has it. */
struct block_value {
	struct estimate is;
	bool is_known;
};

/* Finds the values of an arm's blocks. */
static void find_block_values(struct block_value *values, const struct comparison *of,
			      const struct rows *rows, int arm, struct compare_arm *to)
{
	struct observations all = observations_collect(of->metric, rows, arm, of->size_class);

	to->connections = all.n;
	for (size_t i = 0, end; i < all.n; i = end) {
		for (end = i; end < all.n && all.at[end].unit == all.at[i].unit;)
			end++;
		values[all.at[i].unit] = (struct block_value){
			observations_estimate(of->metric, &all, &all.at[i], end - i),
			true,
		};
	}
	observations_free(&all);
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
 *
 * Blocks of few connections have few values, and all rounds may differ by the same amount by chance,
 * such as one failed connection. So the error is at least that of values which are known to a step.
 * If each round has one connection more on the same side, that is a verdict from six rounds on, as
 * with the sign test.
 */
static void compare_rounds(struct comparison *to, const struct experiment *e,
			   const struct block_value *control, const struct block_value *treated,
			   __u32 rounds)
{
	double sum = 0, squares = 0, steps = 0, errors, error, size;
	__u32 n = 0;

	for (__u32 i = 0; i < rounds; i++) {
		const struct block_value *a = &control[block_of_round(e, i, 0)];
		const struct block_value *b = &treated[block_of_round(e, i, to->arm)];
		double step;

		if (!a->is_known || !b->is_known)
			continue;
		/* Welford's sum of squares. */
		n++;
		to->control.value += (a->is.value - to->control.value) / n;
		to->treated.value += (b->is.value - to->treated.value) / n;
		step = b->is.value - a->is.value - sum;
		sum += step / n;
		squares += step * (b->is.value - a->is.value - sum);
		steps += variance_of_step(a->is.step) + variance_of_step(b->is.step);
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
	error = sqrt(fmax(squares / (n - 1), steps / n) / n);
	to->lack = COMPARE_EQUAL;
	if (!steps)
		return;
	to->low = sum - errors * error;
	to->high = sum + errors * error;
	conclude(to, errors, student_quantile(COMPARE_POWER, n - 1));
}

struct comparison compare(const struct metric *metric, const struct rows *rows,
			  const struct rows_units *units, int arm, int size_class)
{
	struct comparison to = { .metric = metric, .size_class = size_class, .arm = arm };
	struct contrast c;

	if (units->by == ROWS_BY_BLOCK) {
		__u32 arms = units->of->arms, rounds = (units->n + arms - 1) / arms;
		size_t n = (size_t)rounds * arms;
		struct block_value *values AUTO_FREE = mem_new(2 * n, sizeof(*values));

		find_block_values(values, &to, rows, 0, &to.control);
		find_block_values(values + n, &to, rows, arm, &to.treated);
		compare_rounds(&to, units->of, values, values + n, rounds);
		return to;
	}
	contrast_init(&c, metric, rows, units, arm, size_class);
	to.control.connections = c.arm[0].all.n;
	to.control.units = c.arm[0].units;
	to.treated.connections = c.arm[1].all.n;
	to.treated.units = c.arm[1].units;
	to.lack = COMPARE_NO_CONNECTIONS;
	if (to.control.connections && to.treated.connections)
		compare_units(&to, &c, units->of->seed);
	contrast_free(&c);
	return to;
}

const char *compare_lack_text(enum compare_lack lack, enum rows_unit by)
{
	static const char *const texts[COMPARE_LACKS] = {
		[COMPARE_NO_CONNECTIONS] = "no connections to compare",
		[COMPARE_NOTHING] = "0 in both arms",
		[COMPARE_EQUAL] = "the same in all connections",
		[COMPARE_FEW_UNITS] = "too few connections",
		[COMPARE_FEW_CONNECTIONS] = "too few connections for this quantile",
		[COMPARE_FEW_ROUNDS] = "too few rounds of blocks",
	};

	if (lack == COMPARE_FEW_UNITS && by == ROWS_BY_PREFIX)
		return "too few prefixes";
	return texts[lack];
}
