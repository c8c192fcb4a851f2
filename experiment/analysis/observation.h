/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The numbers from which a metric is computed.
 */
#ifndef EXPERIMENT_OBSERVATION_H
#define EXPERIMENT_OBSERVATION_H

#include "row.h"

/*
 * What is measured with a clock has steps, and values that lie within a step are tied. So for
 * quantiles a value is spread evenly over its cell, as in grouped data, from halfway to the next
 * lower value to halfway to the next higher one, the nearer of both to each side. The cells depend
 * on all arms, and are the same in each of them. A quantile then changes a little if a connection
 * does, and not by a step or not at all. This is the mid-distribution function (Parzen, Statistical
 * Science 19, 2004), which has asymptotically normal quantiles even if values are discrete (Ma,
 * Genton and Parzen, Annals of the Institute of Statistical Mathematics 63, 2011): half of the ties
 * count as below a value. Between tied values it is linear here.
 */
struct observation {
	double value, of; /* see struct quantity */
	double low, high; /* its cell */
	double clock; /* see struct quantity */
	__u32 unit;
	__u8 arm;
};

struct observations {
	struct observation *at;
	size_t n;
	double apart; /* the mean difference of two that differ, in all arms; 0: none do */
};

/*
 * Collects them from an arm's rows that count and have this metric, of one size class or SIZE_ALL,
 * sorted by unit.
 */
struct observations observations_collect(const struct metric *metric, const struct rows *rows,
					 int arm, int size_class);
void observations_free(struct observations *o);

/* The share of an observation that is below x, of 1. */
double observation_below(const struct observation *o, double x);

double observations_mean(const struct observation *at, size_t n); /* n > 0 */

/* How many observations are below each x: linear between these points, which are sorted by x. */
struct distribution {
	struct distribution_point {
		double x, below;
	} *at;
	size_t n;
	double all;
};

struct distribution distribution_make(const struct observation *at, size_t n); /* n > 0 */
void distribution_free(struct distribution *d);
double distribution_below(const struct distribution *d, double x);
double distribution_quantile(const struct distribution *d, double p); /* 0 < p < 1 */

/*
 * The mean, or a quantile of few, and how far the limits of its precision are from it: one typical
 * connection more or less for a mean, and half a rank for a quantile; 0 if no connections differ.
 */
struct estimate {
	double value, step;
};

/* Of n of these observations, n > 0. */
struct estimate observations_estimate(const struct metric *metric, const struct observations *of,
				      const struct observation *at, size_t n);

/* The variance of what may be anywhere between such limits (GUM 4.3.7). */
static inline double variance_of_step(double step)
{
	return step * step / 3;
}

#endif
