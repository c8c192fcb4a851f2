/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An experiment as a file: lines "# key=value" for the experiment, then comma-separated values with
 * named columns, one connection a line. Reading it needs neither the kernel nor this version.
 */
#ifndef TOOLS_EXPERIMENT_FILE_H
#define TOOLS_EXPERIMENT_FILE_H

#include <stdio.h>

#include "study.h"

void file_write_head(FILE *out, const struct study *s);
/* Writes the rows from this one on. */
void file_write_rows(FILE *out, const struct study *s, size_t from);
/* Writes the counters. If a file has several of them, the last ones hold. */
void file_write_counters(FILE *out, const struct study *s);

/* Returns an exit status, after printing what failed. Skips unknown columns and keys. */
int file_read(const char *path, struct study *s);

#endif
