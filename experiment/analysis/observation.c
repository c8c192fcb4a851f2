// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>

#include "cli/err.h"
#include "observation.h"

#define ROUNDING 1e-9 /* values that differ by less, relative to their size, are equal */

/* ---- cells */

static int by_value(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static int by_clock(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	return (x->clock > y->clock) - (x->clock < y->clock);
}

static int by_unit(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	return x->unit == y->unit ? by_value(a, b) : x->unit < y->unit ? -1 : 1;
}

/*
 * The step of a clock: the least difference of two times, or the least time. 0: all are equal, so
 * it is not known.
 */
static double find_step(struct observation *at, size_t n)
{
	double step = 0;

	qsort(at, n, sizeof(*at), by_clock);
	for (size_t i = 1; i < n; i++) {
		double between = at[i].clock - at[i - 1].clock;

		if (between > 0 && (!step || between < step))
			step = between;
	}
	return n ? fmin(step, at[0].clock) : 0;
}

/*
 * Finds the cells. The lowest value has no lower neighbour: its cell begins no further below it than
 * halfway to 0. If all values are equal, nothing is known of a cell, and it has no width.
 */
static void spread(struct observation *at, size_t n, bool has_clock)
{
	double step = has_clock ? find_step(at, n) : 0, before = 0;
	size_t end;

	qsort(at, n, sizeof(*at), by_value);
	for (size_t i = 0; i < n; i = end) {
		double value = at[i].value, gap = i ? value - before : value / 2;

		for (end = i + 1; end < n && at[end].value - value <= ROUNDING * at[end].value;)
			end++;
		before = at[end - 1].value;
		if (end < n && (!gap || at[end].value - before < gap))
			gap = at[end].value - before;
		if (!i && end == n)
			gap = 0;
		for (size_t k = i; k < end; k++) {
			struct observation *o = &at[k];

			o->value = value;
			o->low = value - gap / 2;
			o->high = value + gap / 2;
			if (!step)
				continue;
			/* A time is known to half a step, so a rate is between the amount and its ends. */
			o->low = fmin(o->low, value / (1 + step / 2 / o->clock));
			o->high = fmax(o->high, value / (1 - step / 2 / o->clock));
		}
	}
}

/* See observations.apart. Compares each value with all lower ones. */
static double find_apart(struct observation *at, size_t n)
{
	double sum = 0, lower = 0, pairs = 0, least = INFINITY, most = 0;
	size_t end;

	qsort(at, n, sizeof(*at), by_value);
	for (size_t i = 0; i < n; i = end) {
		double value = at[i].value, ties;

		for (end = i; end < n && at[end].value - value <= ROUNDING * at[end].value; end++) {
			least = fmin(least, at[end].value / at[end].of);
			most = fmax(most, at[end].value / at[end].of);
		}
		ties = end - i;
		sum += ties * (i * value - lower);
		pairs += ties * i;
		lower += ties * value;
	}
	if (most - least <= ROUNDING * most)
		return 0;
	return pairs ? sum / pairs : at[0].value; /* the same bytes, but of more or fewer */
}

static size_t count(const struct rows *rows, const struct metric *metric, int size_class,
		    struct observation *to)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->at[i];
		struct observation o = { .of = 1, .unit = row->unit, .arm = row->arm };

		if ((row->continued && !rows->with_continued) ||
		    (size_class != SIZE_ALL && size_class_of(row) != size_class) ||
		    !quantity_get(metric->of, row, &o.value, &o.of))
			continue;
		if (metric->of->has_clock)
			o.clock = row->busy_us;
		to[n++] = o;
	}
	return n;
}

struct observations observations_collect(const struct metric *metric, const struct rows *rows,
					 int arm, int size_class)
{
	struct observations to = { .at = mem_new(rows->n, sizeof(*to.at)) };
	size_t all = count(rows, metric, size_class, to.at);

	to.apart = find_apart(to.at, all);
	if (metric->quantile != METRIC_MEAN)
		spread(to.at, all, metric->of->has_clock);
	for (size_t i = 0; i < all; i++)
		if (to.at[i].arm == arm)
			to.at[to.n++] = to.at[i];
	qsort(to.at, to.n, sizeof(*to.at), by_unit);
	return to;
}

void observations_free(struct observations *o)
{
	free(o->at);
}

double observation_below(const struct observation *o, double x)
{
	if (x >= o->high)
		return 1;
	return x > o->low ? (x - o->low) / (o->high - o->low) : 0;
}

double observations_mean(const struct observation *at, size_t n)
{
	double value = 0, of = 0;

	for (size_t i = 0; i < n; i++) {
		value += at[i].value;
		of += at[i].of;
	}
	return value / of;
}

/* ---- distributions */

/* An end of a cell. */
struct edge {
	double x, slope; /* 1 / width; negative at the upper end; 0: a cell without a width */
};

/* The upper ends first, so that no cell is open where one follows the other. */
static int by_x(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->x != y->x)
		return x->x < y->x ? -1 : 1;
	return (x->slope > y->slope) - (x->slope < y->slope);
}

static void add_point(struct distribution *d, double x, double below)
{
	if (d->n && d->at[d->n - 1].x == x && d->at[d->n - 1].below == below)
		return;
	d->at[d->n++] = (struct distribution_point){ x, below };
}

/* Where no cell is open, the count is exact: rounding does not add up. */
static void find_points(struct distribution *d, const struct edge *edge, size_t n)
{
	double slope = 0, below = 0, before = 0;
	size_t open = 0, done = 0;

	for (size_t i = 0; i < n; i++) {
		const struct edge *e = &edge[i];

		if (open)
			below = fmin(below + fmax(0, slope) * (e->x - before), done + open);
		before = e->x;
		add_point(d, e->x, below);
		if (e->slope > 0)
			open++;
		if (e->slope < 0)
			open--;
		if (e->slope <= 0)
			done++;
		slope = open ? slope + e->slope : 0;
		if (!open)
			add_point(d, e->x, below = done);
	}
}

struct distribution distribution_make(const struct observation *at, size_t n)
{
	struct distribution d = { .at = mem_new(4 * n, sizeof(*d.at)), .all = n };
	struct edge *edge AUTO_FREE = mem_new(2 * n, sizeof(*edge));
	size_t edges = 0;

	for (size_t i = 0; i < n; i++) {
		double width = at[i].high - at[i].low;

		if (width > 0)
			edge[edges++] = (struct edge){ at[i].low, 1 / width };
		edge[edges++] = (struct edge){ at[i].high, width > 0 ? -1 / width : 0 };
	}
	qsort(edge, edges, sizeof(*edge), by_x);
	find_points(&d, edge, edges);
	return d;
}

void distribution_free(struct distribution *d)
{
	free(d->at);
}

/* How many points have an x, or otherwise a number below, that is less than this, or equal. */
static size_t points_before(const struct distribution *d, bool by_x, double value, bool or_equal)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		double is = by_x ? d->at[middle].x : d->at[middle].below;

		if (is < value || (or_equal && is == value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Between this point and the one before, the x with this many below. */
static double x_before(const struct distribution_point *p, double below)
{
	double share = (below - p[-1].below) / (p->below - p[-1].below);

	return p[-1].x + share * (p->x - p[-1].x);
}

/* Where no observation is, the distribution has a flat part: its middle. */
double distribution_quantile(const struct distribution *d, double p)
{
	double below = p * d->all;
	size_t from = points_before(d, false, below, false);
	size_t to = points_before(d, false, below, true);

	if (from == to)
		return x_before(&d->at[from], below);
	return (d->at[from].x + d->at[to - 1].x) / 2;
}

double distribution_below(const struct distribution *d, double x)
{
	const struct distribution_point *at;
	size_t i = points_before(d, true, x, true);
	double share;

	if (!i || i == d->n)
		return i ? d->all : 0;
	at = &d->at[i];
	share = (x - at[-1].x) / (at->x - at[-1].x);
	return at[-1].below + share * (at->below - at[-1].below);
}

/* The mean value of the observations from one rank to another, in order: of parts of them at the ends. */
static double mean_between(const struct distribution *d, double from, double to)
{
	double sum = 0;

	for (size_t i = points_before(d, false, from, true); i < d->n && d->at[i - 1].below < to;
	     i++) {
		double low = fmax(from, d->at[i - 1].below), high = fmin(to, d->at[i].below);

		if (high > low)
			sum += (high - low) * x_before(&d->at[i], (low + high) / 2);
	}
	return sum / (to - from);
}

/*
 * Of a few observations, as in a block, a quantile is the mean over one observation's width: type 7
 * of Hyndman and Fan (American Statistician 50, 1996) if no values are tied.
 */
struct estimate observations_estimate(const struct metric *metric, const struct observations *of,
				      const struct observation *at, size_t n)
{
	struct distribution d AUTO(distribution_free) = {};
	double p = metric->quantile, half = 0.5 / n, all = 0;

	if (p == METRIC_MEAN) {
		for (size_t i = 0; i < n; i++)
			all += at[i].of;
		return (struct estimate){ observations_mean(at, n), of->apart / all };
	}
	d = distribution_make(at, n);
	return (struct estimate){
		mean_between(&d, p * (n - 1), p * (n - 1) + 1),
		(distribution_quantile(&d, fmin(p + half, 1)) -
		 distribution_quantile(&d, fmax(p - half, 0))) /
			2,
	};
}
