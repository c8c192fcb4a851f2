/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * By what the arms of an experiment are compared. A metric is a statistic of one number that each connection has.
 */
#ifndef LIB_METRIC_H
#define LIB_METRIC_H

#include "row.h"

enum metric_unit {
	METRIC_BPS, /* bits per second */
	METRIC_US, /* microseconds */
	METRIC_SHARE, /* 0 to 1 */
	METRIC_COUNT, /* per connection */
};

/* A number of a connection. */
struct quantity {
	const char *name;
	enum metric_unit unit;
	/*
	 * false: this connection has none. Where `of` stays 1, it is *value; otherwise it is *value / *of, and a mean over
	 * connections is the sum of the values over the sum of those.
	 */
	bool (*get)(const struct row *row, double *value, double *of);
};

#define METRIC_MEAN 0.0 /* in place of a quantile */

struct metric {
	const char *name; /* of guards, JSON and files */
	const char *title; /* for people */
	const struct quantity *of;
	double quantile; /* over connections, 0 to 1 without both; or METRIC_MEAN */
	bool more_is_better;
	bool by_class; /* also of each size class */
};

extern const struct metric metrics[];
extern const int n_metrics;

/* NULL: there is none of this name (len characters). */
const struct metric *metric_find(const char *name, size_t len);

/* Those of which a quantile is taken: what has a curve. */
extern const struct quantity *const quantities[];
extern const int n_quantities;

/* Connections by the bytes that were acknowledged. */
#define SIZE_CLASSES 5
#define SIZE_ALL -1
struct size_class {
	const char *name; /* for JSON */
	const char *title;
	__u64 from; /* bytes; until the next one's */
};
extern const struct size_class size_classes[SIZE_CLASSES];
int size_class_of(const struct row *row);

#endif
