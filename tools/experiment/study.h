/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An experiment and all that is known about its connections, from the kernel or from a file.
 */
#ifndef TOOLS_STUDY_H
#define TOOLS_STUDY_H

#include "experiment/row.h"
#include "kernel/experiment.h"
#include <stddef.h>
#include <stdio.h>

struct study_counters {
	__u64 assigned[EXPERIMENT_ARMS], refused[EXPERIMENT_ARMS];
	__u32 refused_error[EXPERIMENT_ARMS];
	__u64 chosen, no_memory, moved, lost; /* as in struct experiment_control */
	__u64 outcomes; /* begun */
	__u64 overwritten; /* gone from the ring before they were read, or before they ended */
	__u64 open; /* not ended yet */
};

struct study {
	struct experiment experiment;
	char *cgroup; /* or NULL */
	__u64 until_ns; /* when this was read, since the experiment began */
	struct study_counters counters;
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

#endif
