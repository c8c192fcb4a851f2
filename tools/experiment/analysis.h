/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that an experiment has shown so far.
 */
#ifndef TOOLS_ANALYSIS_H
#define TOOLS_ANALYSIS_H

#include <stdio.h>

#include "cli/json.h"
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
	__u64 continued_bytes, bytes; /* acknowledged: of these, of all */
	struct comparison *comparison; /* by arm, size class, metric; of SIZE_ALL first */
	int n;
	struct curve *curve; /* by quantity, arm */
	int curves;
};

/* Sorts the rows. */
void analyse(struct analysis *a, struct study *s);
void analysis_free(struct analysis *a);

/* The name of the units: "prefixes". */
const char *analysis_units_name(enum rows_unit by);
/* A line that says that an A/B test misleads if arms share queues; NULL for a switchback. */
const char *analysis_warning(const struct study *s);

void analysis_print_text(FILE *out, const struct analysis *a);
void analysis_print_json(FILE *out, const struct analysis *a);
/* As one page of HTML that needs nothing else. */
void analysis_print_page(FILE *out, const struct analysis *a);

/* Adds the members to an open object. */
void analysis_add_json(struct json *j, const struct analysis *a);

#endif
