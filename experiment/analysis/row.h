/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The outcome of a connection, or of its part in one block, in units that need no kernel. A row is
 * a line of a file, and an observation of the analysis.
 */
#ifndef EXPERIMENT_ROW_H
#define EXPERIMENT_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "experiment/experiment.h"

struct row {
	__u64 number;
	__u64 connection;
	__u64 begin_ns, last_ns; /* since the experiment began */
	__u64 acked, sent, retransmitted; /* bytes */
	__u64 busy_us, rwnd_us, sndbuf_us; /* in steps of the kernel's tick */
	__u32 block, netns, timeouts;
	__u32 raddr[4], laddr[4];
	__u16 rport, lport; /* network byte order */
	__u8 arm, end;
	bool continued; /* switchback: established before this part; see rows.with_continued */
	__u32 rtts; /* round trips; 0: the four below are not known */
	__u32 rtt_min_us, rtt_mean_us;
	__u32 rtt_above_p50_us, rtt_above_p95_us; /* above the least */
	__u32 first_us[EXPERIMENT_FIRSTS]; /* 0: not known */
	__u32 unit; /* see rows_find_units() */
};

struct rows {
	struct row *at;
	size_t n;
	/*
	 * Which connections are still open when a block begins depends on the arm before: if it is
	 * slow, the slow ones are. So what they do in the new block counts only if this is set.
	 */
	bool with_continued;
};

/*
 * Copies an outcome from the ring, as it was at one moment, while the experiment's program writes to
 * it. false: it was being written whenever we looked.
 */
bool outcome_read(const struct experiment_outcome *place, struct experiment_outcome *to);

void row_from_outcome(struct row *row, const struct experiment *e,
		      const struct experiment_outcome *outcome);

void rows_add(struct rows *rows, const struct row *row);
void rows_free(struct rows *rows);

enum rows_unit {
	ROWS_BY_CONNECTION,
	ROWS_BY_PREFIX,
	ROWS_BY_BLOCK,
};

struct rows_units {
	const struct experiment *of;
	enum rows_unit by;
	__u32 n; /* the rows' units are 0 to n - 1 */
	__u32 prefixes; /* remote prefixes among the rows, whatever the unit is */
};

/*
 * Finds the units, which are independent of each other by the experiment's design: blocks; remote
 * prefixes, if the draw was by prefix or if there are at least EXPERIMENT_CLUSTERS of them;
 * otherwise connections. Notes in each row which unit it belongs to.
 */
#define EXPERIMENT_CLUSTERS 20
struct rows_units rows_find_units(struct rows *rows, const struct experiment *e);

/*
 * The metrics by which the arms of an experiment are compared. A metric is a statistic of one
 * number that each connection has.
 */
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

#define METRIC_TEXT_LEN 32
#define METRIC_TEXTS 8

enum metric_form {
	METRIC_VALUE,
	METRIC_AMOUNT, /* of a difference: a share is in "pp", percentage points */
	METRIC_DIFFERENCE, /* the same, with its sign */
};

/*
 * A metric's value for people: "94.5Mbit/s", "12.3ms", "0.52%", "0.031". It is valid until the
 * METRIC_TEXTS-th call after this one.
 */
const char *metric_text(enum metric_unit unit, enum metric_form form, double value);

#endif
