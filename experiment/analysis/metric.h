/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metrics by which the arms of an experiment are compared. A metric is a statistic of one
 * number that each connection has.
 */
#ifndef EXPERIMENT_METRIC_H
#define EXPERIMENT_METRIC_H

#include <stddef.h>

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
	bool has_clock; /* it is divided by row.busy_us, whose clock has steps */
};

/* The quantities; the first n_quantities have a curve of quantiles. */
extern const struct quantity quantities[];
extern const int n_quantities;

/*
 * Returns false if this connection does not have it. If `of` stays 1, it is *value. Otherwise it is
 * *value / *of, and a mean over connections is the sum of the values divided by the sum of `of`.
 */
bool quantity_get(const struct quantity *q, const struct row *row, double *value, double *of);

#define METRIC_MEAN 0.0 /* in place of a quantile */

struct metric {
	const char *name; /* in guards, JSON and files */
	const char *title; /* for people */
	const struct quantity *of;
	double quantile; /* over connections, between 0 and 1; or METRIC_MEAN */
	bool more_is_better;
	bool by_class; /* compared for each size class, too */
};

extern const struct metric metrics[];
extern const int n_metrics;

/* Finds a metric by its name of len characters; NULL: there is none. */
const struct metric *metric_find(const char *name, size_t len);

/* Connections by the bytes that were acknowledged. */
#define SIZE_CLASSES 5
#define SIZE_ALL -1
struct size_class {
	const char *name; /* for JSON */
	const char *title;
	__u64 from; /* bytes; up to the next one's */
};
extern const struct size_class size_classes[SIZE_CLASSES];
int size_class_of(const struct row *row);

/*
 * Formats values of metrics for people.
 */
#define METRIC_TEXT_LEN 32

/* "94.5Mbit/s", "12.3ms", "0.52%", "0.031". */
void metric_format(char *buf, size_t size, enum metric_unit unit, double value);

/* The same for a difference; a share is in "pp", percentage points. */
void metric_format_amount(char *buf, size_t size, enum metric_unit unit, double value);
/* With its sign. */
void metric_format_difference(char *buf, size_t size, enum metric_unit unit, double value);

#endif
