/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that an experiment has shown so far.
 */
#ifndef TOOLS_ANALYSIS_H
#define TOOLS_ANALYSIS_H

#include <stdio.h>

#include "experiment/compare.h"
#include "study.h"

#define CURVE_POINTS 99 /* the percentiles */

/* A quantity's percentiles over an arm's connections. */
struct curve {
	const struct quantity *of;
	int arm;
	__u64 connections; /* 0: there are no points */
	double point[CURVE_POINTS]; /* of 1 % to 99 % */
};

struct analysis {
	const struct study *study;
	struct rows_units units;
	__u64 ended[EXPERIMENT_ARMS]; /* rows */
	__u64 continued; /* rows of connections that began before their block's washout ended */
	__u64 continued_bytes, bytes; /* acknowledged: by these, by all */
	struct comparison *comparison; /* by arm, size class, metric; of SIZE_ALL first */
	int n;
	struct curve *curve; /* by quantity, arm */
	int curves;
};

/* Sorts the rows. false: no memory. To be freed in any case. */
bool analyse(struct analysis *a, struct study *s);
void analysis_free(struct analysis *a);

/* "prefixes" */
const char *analysis_units_name(enum rows_unit by);
/* Where arms share queues an A/B test is not what it seems: a line that says so; NULL for a switchback. */
const char *analysis_warning(const struct study *s);
/* Where a fact of the comparison is known: whether it is of a size class that nobody has. */
bool analysis_is_empty(const struct comparison *c);

void analysis_print_text(FILE *out, const struct analysis *a);
void analysis_print_json(FILE *out, const struct analysis *a);
/* As one page that needs nothing else. */
void analysis_print_page(FILE *out, const struct analysis *a);

#endif
