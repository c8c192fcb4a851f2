/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The numbers from which a metric is computed.
 */
#ifndef LIB_OBSERVATION_H
#define LIB_OBSERVATION_H

#include "metric.h"

struct observation {
	double value, of; /* see struct quantity */
	__u32 unit;
};

struct observations {
	struct observation *at;
	size_t n;
};

/*
 * Collects them from an arm's rows that count and have this metric, of one size class or SIZE_ALL.
 * false: no memory. Call observations_free() in either case.
 */
bool observations_collect(struct observations *to, const struct metric *metric,
			  const struct rows *rows, int arm, int size_class);
void observations_free(struct observations *o);

/* Sorts by value; or by unit, and within each unit by value. */
void observations_sort(struct observations *o);
void observations_sort_by_unit(struct observations *o);

/* The mean, or a quantile of observations sorted by value. n > 0 */
double observations_mean(const struct observation *at, size_t n);
double observations_quantile(const struct observation *at, size_t n, double p);
double observations_estimate(const struct metric *metric, const struct observation *at, size_t n);

#endif
