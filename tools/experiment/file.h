/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An experiment as a file: lines "# key=value" of the experiment, then comma-separated values, one connection a line, with
 * named columns. It needs neither the kernel nor this version to be read.
 */
#ifndef TOOLS_EXPERIMENT_FILE_H
#define TOOLS_EXPERIMENT_FILE_H

#include <stdio.h>

#include "study.h"

void file_write_head(FILE *out, const struct study *s);
/* The rows from this one on. */
void file_write_rows(FILE *out, const struct study *s, size_t from);
/* What was counted; the last of several in a file holds. */
void file_write_counters(FILE *out, const struct study *s);

/* Exit status; has printed what failed. Columns and keys that are not known are skipped. */
int file_read(const char *path, struct study *s);

#endif
