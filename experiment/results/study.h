/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An experiment and all that is known about its connections, from the kernel or from a file.
 */
#ifndef EXPERIMENT_STUDY_H
#define EXPERIMENT_STUDY_H

#include <stddef.h>
#include <stdio.h>

#include "experiment/analysis/compare.h"
#include "experiment/analysis/row.h"
#include "experiment/handle.h"

struct openmetrics;

struct study {
	struct experiment experiment;
	char *cgroup; /* or NULL */
	__u64 until_ns; /* when this was read, since the experiment began */
	struct experiment_control control; /* as it was then; a file has only what is counted */
	__u64 overwritten; /* outcomes that left the ring before they were read, or ended */
	__u64 open; /* outcomes that have not ended yet */
	struct rows rows; /* what has ended, by number */
	bool is_cut; /* the file ends within a line, which is left out */
};

void study_free(struct study *s);

/* Reads a running experiment. Each further reading adds what has ended since. */
struct collector {
	struct experiment_handle handle;
	struct place *places;
};

/* Name NULL: the only experiment. Returns an exit status, after printing what failed. */
int collector_open(struct collector *c, struct study *s, const char *name);
/* The same for a handle, which it takes over. */
void collector_take(struct collector *c, struct study *s, struct experiment_handle *handle);
void collector_read(struct collector *c, struct study *s);
void collector_close(struct collector *c);

/*
 * An experiment as a file: lines "# key=value" for the experiment, then comma-separated values with
 * named columns, one connection a line. Reading it needs neither the kernel nor this version.
 */
void file_write_head(FILE *out, const struct study *s);
/* Writes the rows from this one on. */
void file_write_rows(FILE *out, const struct study *s, size_t from);
/* Writes the counters. If a file has several of them, the last ones hold. */
void file_write_counters(FILE *out, const struct study *s);

/* Returns an exit status, after printing what failed. Skips unknown columns and keys. */
int file_read(const char *path, struct study *s);

/*
 * All that an experiment has shown so far.
 */
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

void analysis_print_text(FILE *out, const struct analysis *a);
void analysis_print_json(FILE *out, const struct analysis *a);
/* As one page of HTML that needs nothing else. */
void analysis_print_page(FILE *out, const struct analysis *a);

/*
 * The running experiments, by arm. The kernel's counters are passed on. Outcomes are those that
 * have ended, beginning with the oldest in the ring when the exporter found the experiment.
 */
#define EXPERIMENTS_TOLD 16 /* more are left out */

struct exported_experiment;

struct experiments {
	struct exported_experiment *at;
	int n;
};

/* 0 or -errno */
int experiments_update(struct experiments *x);
/* has_outcomes: with outcomes and guards */
void experiments_print(const struct experiments *x, struct openmetrics *om, bool has_outcomes);
void experiments_close(struct experiments *x);

#endif
