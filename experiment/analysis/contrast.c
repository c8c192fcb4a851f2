// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>

#include "cli/err.h"
#include "contrast.h"

#define ROUNDING 1e-9 /* less than this, relative to the values, is no difference */
#define DRAW_WEIGHT 500
#define DRAWS 999 /* with the actual draw, a thousand */

struct contrast_part {
	double value, of; /* sums; for a quantile, value is what is below it */
	double n; /* connections */
};

static bool is_mean(const struct contrast *c)
{
	return c->metric->quantile == METRIC_MEAN;
}

/* ---- what is computed once */

static void add_square(struct contrast_sums *sums, double value, double of)
{
	sums->value2 += value * value;
	sums->value_of += value * of;
	sums->of2 += of * of;
}

static void sum_up(struct contrast *c, struct contrast_arm *arm)
{
	for (size_t i = 0; i < arm->all.n; i++) {
		const struct observation *o = &arm->all.at[i];
		struct contrast_part *part = &arm->parts[o->unit];

		c->least = fmin(c->least, o->value / o->of);
		c->most = fmax(c->most, o->value / o->of);
		part->value += o->value;
		part->of += o->of;
		part->n++;
		arm->of += o->of;
		if (!c->draws_units)
			add_square(&arm->sums, o->value, o->of);
	}
	for (__u32 i = 0; i < c->n_units; i++) {
		arm->units += arm->parts[i].n > 0;
		if (c->draws_units)
			add_square(&arm->sums, arm->parts[i].value, arm->parts[i].of);
	}
}

/*
 * What one unit adds to the error of an arm's mean. The unit is itself part of that mean, so its
 * residual is too small, by the unit's own weight. 0 for the only unit of an arm, about which
 * nothing is known.
 */
static double influence(double residual, double of, double all)
{
	return of < all ? residual / sqrt(all * (all - of)) : 0;
}

static void find_variances(struct contrast *c)
{
	for (__u32 i = 0; i < c->n_units; i++) {
		double in[2];

		for (int a = 0; a < 2; a++) {
			struct contrast_arm *arm = &c->arm[a];
			const struct contrast_part *part = &arm->parts[i];

			in[a] = influence(part->value - arm->estimate * part->of, part->of,
					  arm->of);
			arm->variance += in[a] * in[a];
		}
		c->covariance += in[0] * in[1];
	}
}

/*
 * Finds how many equal parts have a sum of squares like these parts of different size
 * (Satterthwaite); and the same for the units beside the largest, whichever arms they are in.
 */
static void find_effective(struct contrast *c)
{
	double sum = 0, squares = 0, others = 0, squares_of_others = 0, most = 0;
	double n[2] = { c->arm[0].all.n, c->arm[1].all.n };

	for (__u32 i = 0; i < c->n_units; i++) {
		double expected = 0, in_both = 0;

		for (int a = 0; a < 2; a++) {
			expected += c->arm[a].parts[i].n / n[a] / n[a];
			in_both += c->arm[a].parts[i].n;
		}
		sum += expected;
		squares += expected * expected;
		others += in_both;
		squares_of_others += in_both * in_both;
		most = fmax(most, in_both);
	}
	c->effective_units = sum * sum / squares;
	others -= most;
	squares_of_others -= most * most;
	c->effective_others = squares_of_others > 0 ? others * others / squares_of_others : 0;
	sum = 1 / n[0] + 1 / n[1];
	squares = 1 / pow(n[0], 3) + 1 / pow(n[1], 3);
	c->effective = c->draws_units ? c->effective_units : sum * sum / squares;
}

static void estimate(const struct contrast *c, struct contrast_arm *arm)
{
	const struct observations *all = &arm->all;

	if (is_mean(c)) {
		arm->estimate = observations_mean(all->at, all->n);
		return;
	}
	arm->distribution = distribution_make(all->at, all->n);
	arm->estimate = distribution_quantile(&arm->distribution, c->metric->quantile);
}

void contrast_init(struct contrast *c, const struct metric *metric, const struct rows *rows,
		   const struct rows_units *units, int arm, int size_class)
{
	*c = (struct contrast){
		.metric = metric,
		.by = units->by,
		.n_units = units->n,
		.draws_units = units->of->unit == EXPERIMENT_BY_PREFIX,
		.least = INFINITY,
		.most = -INFINITY,
	};
	for (int a = 0; a < 2; a++) {
		c->arm[a].parts = mem_new(units->n, sizeof(*c->arm[a].parts));
		c->arm[a].all = observations_collect(metric, rows, a ? arm : 0, size_class);
	}
	if (!c->arm[0].all.n || !c->arm[1].all.n)
		return;
	for (int a = 0; a < 2; a++) {
		estimate(c, &c->arm[a]);
		sum_up(c, &c->arm[a]);
	}
	if (is_mean(c))
		find_variances(c);
	find_effective(c);
}

void contrast_free(struct contrast *c)
{
	for (int a = 0; a < 2; a++) {
		observations_free(&c->arm[a].all);
		distribution_free(&c->arm[a].distribution);
		free(c->arm[a].parts);
	}
}

/* ---- the test of means */

/* The sum of squared residuals, value - mean * of, over what was drawn. */
static double squares(const struct contrast_sums *sums, double mean)
{
	return sums->value2 - 2 * mean * sums->value_of + mean * mean * sums->of2;
}

/* The variance that the draw of the arms alone causes, from the sum of squared residuals. */
static double variance_of_draw(const struct contrast *c, double squares)
{
	double of[2] = { c->arm[0].of, c->arm[1].of };

	return squares / (of[0] * of[1]);
}

double without_rounding(double value, double size)
{
	return fabs(value) > ROUNDING * fabs(size) ? value : 0;
}

/* The variance of the difference if each arm is known to one connection more or less. */
static double variance_of_steps(const struct contrast *c, double factor, const double of[2])
{
	double step = is_mean(c) ? c->arm[0].all.apart : 1;

	return variance_of_step(factor * step / of[0]) + variance_of_step(step / of[1]);
}

/*
 * The difference in standard errors. Averages both variances; by_draw weighs as much as DRAW_WEIGHT
 * equal units.
 */
static double standardised(const struct contrast *c, double difference, double by_units,
			   double by_draw, double least)
{
	double weight = c->effective_units / (c->effective_units + DRAW_WEIGHT);
	double variance = fmax(weight * by_units + (1 - weight) * by_draw, least);

	return variance > 0 ? difference / sqrt(variance) : 0;
}

static double test_means(const struct contrast *c, double factor, double shift)
{
	const struct contrast_arm *a = &c->arm[0], *b = &c->arm[1];
	double mean[2] = { factor * a->estimate, b->estimate - shift };
	double of[2] = { a->of, b->of };
	double all = (mean[0] * a->of + mean[1] * b->of) / (a->of + b->of);
	double variance = factor * factor * a->variance + b->variance - 2 * factor * c->covariance;
	double drawn = squares(&b->sums, all + shift);

	if (factor > 0)
		drawn += factor * factor * squares(&a->sums, all / factor);
	return standardised(c, without_rounding(mean[1] - mean[0], fmax(fabs(shift), a->estimate)),
			    variance, variance_of_draw(c, drawn), variance_of_steps(c, factor, of));
}

/* ---- the test of quantiles */

/*
 * Finds the quantile of both arms together, with arm 0 multiplied and the other one shifted, as a
 * value of each arm.
 */
static void find_common(const struct contrast *c, double factor, double shift, double x[2])
{
	const struct distribution *a = &c->arm[0].distribution, *b = &c->arm[1].distribution;
	double wanted = c->metric->quantile * (a->all + b->all);
	double low = fmin(factor * a->at[0].x, b->at[0].x - shift);
	double high = fmax(factor * a->at[a->n - 1].x, b->at[b->n - 1].x - shift);

	for (int i = 0; i < BISECTIONS && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (distribution_below(a, middle / factor) +
			    distribution_below(b, middle + shift) >=
		    wanted)
			high = middle;
		else
			low = middle;
	}
	x[0] = high / factor;
	x[1] = high + shift;
}

/* Sums in the value of each unit's part what is below x of the arm. Returns the share below x. */
static double sum_below(const struct contrast *c, int arm, double x)
{
	struct contrast_part *parts = c->arm[arm].parts;
	const struct observations *all = &c->arm[arm].all;
	bool has_parts = c->by != ROWS_BY_CONNECTION;
	double sum = 0;

	for (__u32 i = 0; i < c->n_units && has_parts; i++)
		parts[i].value = 0;
	for (size_t i = 0; i < all->n; i++) {
		double below = observation_below(&all->at[i], x);

		if (has_parts)
			parts[all->at[i].unit].value += below;
		sum += below;
	}
	return sum / all->n;
}

/*
 * Returns the sum of squared residuals from p, over what was drawn. *variance is that of the
 * difference of the shares, by unit.
 */
static double sum_of_squares(const struct contrast *c, const double x[2], const double share[2],
			     double p, double *variance)
{
	double sum = 0;

	*variance = 0;
	for (int a = 0; a < 2 && !c->draws_units; a++) {
		const struct observations *all = &c->arm[a].all;
		double squares = 0, n = all->n;

		for (size_t i = 0; i < all->n; i++) {
			double below = observation_below(&all->at[i], x[a]);

			squares += (below - share[a]) * (below - share[a]);
			sum += (below - p) * (below - p);
		}
		if (c->by == ROWS_BY_CONNECTION && n > 1)
			*variance += squares / (n - 1) / (n - 1);
	}
	for (__u32 i = 0; i < c->n_units && c->by != ROWS_BY_CONNECTION; i++) {
		double in[2];

		for (int a = 0; a < 2; a++) {
			const struct contrast_part *part = &c->arm[a].parts[i];
			double r = part->value - p * part->n;

			in[a] = influence(part->value - share[a] * part->n, part->n, c->arm[a].of);
			if (c->draws_units)
				sum += r * r;
		}
		*variance += (in[1] - in[0]) * (in[1] - in[0]);
	}
	return sum;
}

static double test_quantiles(const struct contrast *c, double factor, double shift)
{
	double n[2] = { c->arm[0].all.n, c->arm[1].all.n }, x[2], share[2], p, variance, drawn;

	find_common(c, factor, shift, x);
	for (int a = 0; a < 2; a++)
		share[a] = sum_below(c, a, x[a]);
	p = (share[0] * n[0] + share[1] * n[1]) / (n[0] + n[1]);
	drawn = sum_of_squares(c, x, share, p, &variance);
	return standardised(c, without_rounding(share[0] - share[1], 1), variance,
			    variance_of_draw(c, drawn), variance_of_steps(c, 1, n));
}

double contrast_test(const struct contrast *c, double factor, double shift)
{
	return is_mean(c) ? test_means(c, factor, shift) : test_quantiles(c, factor, shift);
}

/* ---- the distribution that the draw alone causes */

/* The sums of a unit, whose ratio is compared. */
struct drawn {
	double value, of;
};

/*
 * Finds the units that have connections, arm 0's first. Returns how many; *first is how many of
 * them are arm 0's.
 */
static __u32 find_drawn(const struct contrast *c, struct drawn *drawn, __u32 *first)
{
	double x[2];
	__u32 n = 0;

	if (!is_mean(c))
		find_common(c, 1, 0, x);
	for (int a = 0; a < 2; a++) {
		const struct contrast_part *parts = c->arm[a].parts;

		if (!is_mean(c))
			sum_below(c, a, x[a]);
		for (__u32 i = 0; i < c->n_units; i++)
			if (parts[i].n)
				drawn[n++] = (struct drawn){ parts[i].value, parts[i].of };
		if (!a)
			*first = n;
	}
	return n;
}

/* The test of the first `first` units against the rest. */
static double test_drawn(const struct contrast *c, const struct drawn *drawn, __u32 n, __u32 first)
{
	double value[2] = {}, of[2] = {}, variance = 0, squares = 0, all;

	for (__u32 i = 0; i < n; i++) {
		value[i >= first] += drawn[i].value;
		of[i >= first] += drawn[i].of;
	}
	all = (value[0] + value[1]) / (of[0] + of[1]);
	for (__u32 i = 0; i < n; i++) {
		int a = i >= first;
		double in = influence(drawn[i].value - value[a] / of[a] * drawn[i].of, drawn[i].of,
				      of[a]);
		double r = drawn[i].value - all * drawn[i].of;

		variance += in * in;
		squares += r * r;
	}
	return standardised(c, value[1] / of[1] - value[0] / of[0], variance,
			    squares / (of[0] * of[1]), variance_of_steps(c, 1, of));
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double contrast_drawn_errors(const struct contrast *c, __u32 seed, double level)
{
	struct drawn *drawn AUTO_FREE = mem_new(2 * (size_t)c->n_units, sizeof(*drawn));
	__u32 first = 0, n = find_drawn(c, drawn, &first), random = 0;
	double tests[DRAWS];

	for (int i = 0; i < DRAWS; i++) {
		/* Fisher and Yates: the first `first` units become a random choice. */
		for (__u32 k = 0; k < first; k++) {
			__u32 other = k + experiment_mix(seed ^ experiment_mix(++random)) % (n - k);
			struct drawn swapped = drawn[k];

			drawn[k] = drawn[other];
			drawn[other] = swapped;
		}
		tests[i] = fabs(test_drawn(c, drawn, n, first));
	}
	qsort(tests, DRAWS, sizeof(*tests), ascending);
	return tests[(int)ceil(level * (DRAWS + 1)) - 1];
}
