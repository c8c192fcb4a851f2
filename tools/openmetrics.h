/* SPDX-License-Identifier: GPL-2.0-only */
/* Metrics as Prometheus reads them: OpenMetrics 1.0.0, or the older text format 0.0.4. */
#ifndef TOOLS_OPENMETRICS_H
#define TOOLS_OPENMETRICS_H

#include <stdbool.h>
#include <stdio.h>

#include <linux/types.h>

#define OPENMETRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define CLASSIC_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct openmetrics {
	FILE *out;
	bool classic; /* 0.0.4 */
};

enum om_type {
	OM_COUNTER,
	OM_GAUGE,
	OM_HISTOGRAM,
	OM_INFO,
};

struct om_family {
	const char *name; /* without what its type adds, _total or _info */
	enum om_type type;
	const char *unit; /* the end of the name, or NULL */
	const char *help;
};

/* A list ends with a name of NULL. In values, what is not printable ASCII becomes "?". */
struct om_label {
	const char *name, *value;
};

#define OM_BUCKETS 12

struct om_bounds {
	int n; /* at most OM_BUCKETS */
	double le[OM_BUCKETS];
};

struct om_histogram {
	__u64 bucket[OM_BUCKETS +
		     1]; /* not cumulative; the one after the last bound is for all above it */
	double sum;
};

void om_observe(struct om_histogram *h, const struct om_bounds *bounds, double value);

/* Begins a family: all its samples follow, before those of any other family. */
void om_family(struct openmetrics *om, const struct om_family *family);
void om_number(struct openmetrics *om, const struct om_family *family,
	       const struct om_label *labels, double value);
void om_histogram(struct openmetrics *om, const struct om_family *family,
		  const struct om_label *labels, const struct om_bounds *bounds,
		  const struct om_histogram *h);
void om_end(struct openmetrics *om);

/*
 * The values that a label has had, up to a limit: every value after that is "other". So nobody can
 * fill the memory of those who collect metrics by making namespaces or instances one after another.
 */
#define LABELS_MAX 64

struct labels {
	int max; /* values besides "other", up to LABELS_MAX */
	int n;
	char *value[LABELS_MAX]; /* their indexes begin at 1 */
};

#define LABEL_OTHER 0 /* the index of "other" */

/*
 * The index of a value, which is remembered. Control characters and bytes that are not ASCII, which
 * a metric should not have, become "?" in it.
 */
int labels_index(struct labels *l, const char *value);
const char *labels_value(const struct labels *l, int index);
void labels_free(struct labels *l);

#endif
