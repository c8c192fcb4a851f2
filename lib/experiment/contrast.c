// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contrast.h"

#define BISECTIONS 64
#define DRAW_WEIGHT 500
#define DRAWS 999 /* with the actual draw, a thousand */

struct contrast_part {
	double value, of; /* sums */
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

static void sum_up(struct contrast *c, struct contrast_arm *arm, struct contrast_part *parts)
{
	for (size_t i = 0; i < arm->all.n; i++) {
		const struct observation *o = &arm->all.at[i];
		struct contrast_part *part = &parts[o->unit];

		part->value += o->value;
		part->of += o->of;
		part->n++;
		arm->of += o->of;
		if (!c->draws_units)
			add_square(&arm->sums, o->value, o->of);
	}
	for (__u32 i = 0; i < c->n_units; i++) {
		arm->units += parts[i].n > 0;
		if (c->draws_units)
			add_square(&arm->sums, parts[i].value, parts[i].of);
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
			const struct contrast_part *part = &c->parts[a * (size_t)c->n_units + i];

			in[a] = influence(part->value - arm->estimate * part->of, part->of,
					  arm->of);
			arm->variance += in[a] * in[a];
		}
		c->covariance += in[0] * in[1];
	}
}

/*
 * Finds how many equal parts have a sum of squares like these parts of different size
 * (Satterthwaite).
 */
static void find_effective(struct contrast *c)
{
	double sum = 0, squares = 0;
	double n[2] = { c->arm[0].all.n, c->arm[1].all.n };

	for (__u32 i = 0; i < c->n_units; i++) {
		double expected = 0;

		for (int a = 0; a < 2; a++)
			expected += c->parts[a * (size_t)c->n_units + i].n / n[a] / n[a];
		sum += expected;
		squares += expected * expected;
	}
	c->effective_units = sum * sum / squares;
	sum = 1 / n[0] + 1 / n[1];
	squares = 1 / pow(n[0], 3) + 1 / pow(n[1], 3);
	c->effective = c->draws_units ? c->effective_units : sum * sum / squares;
}

bool contrast_init(struct contrast *c, const struct metric *metric, const struct rows *rows,
		   const struct rows_units *units, const struct experiment *e, int arm,
		   int size_class)
{
	*c = (struct contrast){
		.metric = metric,
		.by = units->by,
		.n_units = units->n,
		.draws_units = e->unit == EXPERIMENT_BY_PREFIX,
		.parts = calloc(2 * (size_t)units->n + 1, sizeof(*c->parts)),
	};
	for (int a = 0; a < 2; a++) {
		struct observations *all = &c->arm[a].all;

		if (!c->parts || !observations_collect(all, metric, rows, a ? arm : 0, size_class))
			return false;
		if (!is_mean(c))
			observations_sort(all);
	}
	if (!c->arm[0].all.n || !c->arm[1].all.n)
		return true;
	for (int a = 0; a < 2; a++) {
		const struct observations *all = &c->arm[a].all;

		c->arm[a].estimate = observations_estimate(metric, all->at, all->n);
		sum_up(c, &c->arm[a], c->parts + a * (size_t)c->n_units);
	}
	if (is_mean(c))
		find_variances(c);
	find_effective(c);
	return true;
}

void contrast_free(struct contrast *c)
{
	observations_free(&c->arm[0].all);
	observations_free(&c->arm[1].all);
	free(c->parts);
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

/*
 * The difference in standard errors. Averages both variances; by_draw weighs as much as DRAW_WEIGHT
 * equal units.
 */
static double standardised(const struct contrast *c, double difference, double by_units,
			   double by_draw)
{
	double weight = c->effective_units / (c->effective_units + DRAW_WEIGHT);
	double variance = weight * by_units + (1 - weight) * by_draw;

	return variance > 0 ? difference / sqrt(variance) : 0;
}

static double test_means(const struct contrast *c, double factor, double shift)
{
	const struct contrast_arm *a = &c->arm[0], *b = &c->arm[1];
	double mean[2] = { factor * a->estimate, b->estimate - shift };
	double all = (mean[0] * a->of + mean[1] * b->of) / (a->of + b->of);
	double variance = factor * factor * a->variance + b->variance - 2 * factor * c->covariance;
	double drawn = squares(&b->sums, all + shift);

	if (factor > 0)
		drawn += factor * factor * squares(&a->sums, all / factor);
	return standardised(c, mean[1] - mean[0], variance, variance_of_draw(c, drawn));
}

/* ---- the test of quantiles */

/* How many of the sorted values are at most x? */
static size_t at_most(const struct observations *all, double x)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->at[middle].value <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Counts the values of each arm that are at most the quantile of both arms together, with arm 0
 * multiplied and the other one shifted.
 */
static void count_below(const struct contrast *c, double factor, double shift, size_t below[2])
{
	const struct observations *a = &c->arm[0].all, *b = &c->arm[1].all;
	size_t wanted = ceil(c->metric->quantile * (a->n + b->n));
	double low = fmin(factor * a->at[0].value, b->at[0].value - shift);
	double high = fmax(factor * a->at[a->n - 1].value, b->at[b->n - 1].value - shift);

	for (int i = 0; i < BISECTIONS && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (at_most(a, middle / factor) + at_most(b, middle + shift) >= wanted)
			high = middle;
		else
			low = middle;
	}
	below[0] = at_most(a, high / factor);
	below[1] = at_most(b, high + shift);
}

/* Counts, in the value of each unit's part, how many of the arm's first `below` values it has. */
static void count_in_parts(const struct contrast *c, int arm, size_t below)
{
	struct contrast_part *parts = c->parts + arm * (size_t)c->n_units;

	for (__u32 i = 0; i < c->n_units; i++)
		parts[i].value = 0;
	for (size_t i = 0; i < below; i++)
		parts[c->arm[arm].all.at[i].unit].value++;
}

/*
 * Returns the sum of squared residuals from p, over what was drawn. *variance is that of the
 * difference of the shares, by unit.
 */
static double sum_of_squares(const struct contrast *c, const size_t below[2], const double share[2],
			     double p, double *variance)
{
	double sum = 0;

	*variance = 0;
	if (c->by == ROWS_BY_CONNECTION) {
		for (int a = 0; a < 2; a++) {
			double n = c->arm[a].all.n;

			if (n > 1)
				*variance += share[a] * (1 - share[a]) * n / (n - 1) / (n - 1);
			sum += below[a] * (1 - p) * (1 - p) + (n - below[a]) * p * p;
		}
		return sum;
	}
	for (int a = 0; a < 2; a++) {
		count_in_parts(c, a, below[a]);
		if (!c->draws_units)
			sum += below[a] * (1 - p) * (1 - p) + (c->arm[a].all.n - below[a]) * p * p;
	}
	for (__u32 i = 0; i < c->n_units; i++) {
		double in[2];

		for (int a = 0; a < 2; a++) {
			const struct contrast_part *part = &c->parts[a * (size_t)c->n_units + i];
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
	double n[2] = { c->arm[0].all.n, c->arm[1].all.n }, share[2], p, variance, drawn;
	size_t below[2];

	count_below(c, factor, shift, below);
	share[0] = below[0] / n[0];
	share[1] = below[1] / n[1];
	p = (below[0] + below[1]) / (n[0] + n[1]);
	drawn = sum_of_squares(c, below, share, p, &variance);
	return standardised(c, share[0] - share[1], variance, variance_of_draw(c, drawn));
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
	size_t below[2] = {};
	__u32 n = 0;

	if (!is_mean(c))
		count_below(c, 1, 0, below);
	for (int a = 0; a < 2; a++) {
		struct contrast_part *parts = c->parts + a * (size_t)c->n_units;

		if (!is_mean(c))
			count_in_parts(c, a, below[a]);
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
			    squares / (of[0] * of[1]));
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double contrast_drawn_errors(const struct contrast *c, __u32 seed, double level)
{
	struct drawn *drawn = malloc((2 * (size_t)c->n_units + 1) * sizeof(*drawn));
	double tests[DRAWS], errors = INFINITY;
	__u32 n, first, random = 0;

	if (drawn && (n = find_drawn(c, drawn, &first))) {
		for (int i = 0; i < DRAWS; i++) {
			/* Fisher and Yates: the first `first` units become a random choice. */
			for (__u32 k = 0; k < first; k++) {
				__u32 other = k + experiment_mix(seed ^ experiment_mix(++random)) %
							  (n - k);
				struct drawn swapped = drawn[k];

				drawn[k] = drawn[other];
				drawn[other] = swapped;
			}
			tests[i] = fabs(test_drawn(c, drawn, n, first));
		}
		qsort(tests, DRAWS, sizeof(*tests), ascending);
		errors = tests[(int)ceil(level * (DRAWS + 1)) - 1];
	}
	free(drawn);
	return errors;
}

/* ---- the interval */

/* Beyond this shift the arms have no value in common. */
static double largest_shift(const struct contrast *c)
{
	double low = INFINITY, high = -INFINITY;

	for (int a = 0; a < 2; a++)
		for (size_t i = 0; i < c->arm[a].all.n; i++) {
			const struct observation *o = &c->arm[a].all.at[i];

			low = fmin(low, o->value / o->of);
			high = fmax(high, o->value / o->of);
		}
	return 2 * (high - low) + 1;
}

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

bool contrast_interval(const struct contrast *c, double errors, double *low, double *high)
{
	double most = largest_shift(c), here = contrast_test(c, 1, 0);

	if (contrast_test(c, 1, -most) <= errors || contrast_test(c, 1, most) >= -errors)
		return false;
	*low = find_shift(c, -most, most, errors);
	*high = find_shift(c, -most, most, -errors);
	/*
	 * If many values are equal, an end of the interval is a difference of two, which may be 0.
	 */
	if (here <= errors && *low > 0)
		*low = 0;
	if (here >= -errors && *high < 0)
		*high = 0;
	return true;
}
