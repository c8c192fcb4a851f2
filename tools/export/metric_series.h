/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is counted for each combination of instance, profile and network namespace that occurs.
 * Counts stay, whatever becomes of the connections and of the instance.
 */
#ifndef TOOLS_METRIC_SERIES_H
#define TOOLS_METRIC_SERIES_H

#include <stdbool.h>

#include <linux/types.h>

#include "descriptor.h"
#include "openmetrics.h"

#define SERIES_MAX 256
#define SERIES_INSTANCES 64
#define SERIES_PROFILES 64
#define SERIES_NETNS 32
/* Modes of a series, fields of an algorithm, and of all series: a recording may describe thousands. */
#define SERIES_MODES 128
#define SERIES_FIELDS 128

/* A mode by its name: algorithms whose modes have equal names are counted together. */
struct mode_counts {
	const char *name;
	__u64 entered; /* times, from another mode */
	__u64 ns; /* spent in it, by all connections together */
	__u64 connections; /* now, see metrics_print() */
};

/* A field by its key: algorithms whose fields have equal keys are counted together. */
struct field_counts {
	const struct field *field; /* of one of the algorithms */
	__u64 found; /* times that a connection got into the state that is its finding */
	struct om_histogram samples; /* see below */
};

struct metric_series {
	int instance, profile, netns; /* indexes of labels */
	__u64 started, ended;
	__u64 sent, acked, retrans; /* bytes */
	__u64 lost; /* packets */
	__u64 rtos, recoveries;
	struct mode_counts *modes; /* of all algorithms that it had, in the order of their tables */
	int n_modes;
	struct field_counts *fields; /* of all of them, too */
	int n_fields;
	const struct algorithm *latest; /* of these */
	struct om_histogram rtt, bw, pacing;
};

struct metric_table {
	struct labels instances, profiles, netns;
	int n;
	struct metric_series all[SERIES_MAX];
	const struct field *fields[SERIES_FIELDS]; /* that some of these have, each key once */
	int n_fields;
	bool is_full; /* modes or fields beyond these bounds are not counted */
};

extern const struct om_bounds rtt_bounds; /* RTT over min_rtt */

void metric_table_init(struct metric_table *t);
void metric_table_free(struct metric_table *t);

/*
 * The series with these labels, or with "other" if there are too many. It has the modes and the
 * fields of this algorithm. Valid as long as the table.
 */
struct metric_series *metric_series_get(struct metric_table *t, const struct algorithm *a,
					const char *instance, const char *profile, int netns);

/* Index of a mode of the algorithm in series->modes; -1: it is not known. */
int metric_series_mode(const struct metric_series *s, const struct algorithm *a, unsigned int mode);
/* The end of an algorithm's fields that may have counts. */
static inline const struct field *metric_fields_end(const struct algorithm *a)
{
	return a->fields + (a->n_fields < SERIES_FIELDS ? a->n_fields : SERIES_FIELDS);
}

/* The counts of a field; NULL: the series has none. */
struct field_counts *metric_series_field(const struct metric_series *s, const struct field *f);

/*
 * The fields of an algorithm's own part of an event as metrics: histograms of their values at the
 * ACKs that were sampled. A field has one if it is drawn in a plot of numbers.
 */
#define FIELD_METRIC_LEN 300 /* room for the longest key that a recording may have */

extern const struct om_bounds rate_bounds; /* bytes per second */

/* NULL: the field has no histogram. */
const struct om_bounds *field_metric_bounds(const struct field *f);
/* "bbr_bw_hi_bytes_per_second" of bw_hi_bps. Returns its unit. */
const char *field_metric_name(char buf[FIELD_METRIC_LEN], const struct field *f);
/* The value in that unit. False: not known. */
bool field_metric_value(const struct field *f, const struct bbr_event *e, double *value);

#endif
