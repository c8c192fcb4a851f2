/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An experiment as a file: lines "# key=value" for the experiment, then comma-separated values with
 * named columns, one connection a line. Reading it needs neither the kernel nor this version.
 */
#ifndef TOOLS_EXPERIMENT_FILE_H
#define TOOLS_EXPERIMENT_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "study.h"

void file_write_head(FILE *out, const struct study *s);
/* Writes the rows from this one on. */
void file_write_rows(FILE *out, const struct study *s, size_t from);
/* Writes the counters. If a file has several of them, the last ones hold. */
void file_write_counters(FILE *out, const struct study *s);

/* Returns an exit status, after printing what failed. Skips unknown columns and keys. */
int file_read(const char *path, struct study *s);

/*
 * The names in a file: columns of rows, and keys of the experiment.
 */
enum file_kind {
	FILE_U8,
	FILE_U16,
	FILE_U32,
	FILE_U64,
	FILE_BOOL,
	FILE_PORT, /* network byte order */
	FILE_ADDRESS,
	FILE_END, /* enum experiment_end as a word */
	FILE_DESIGN,
	FILE_UNIT,
	FILE_PREFIX4, /* a length without the 96 bits before an IPv4 address */
	FILE_TEXT, /* an array of chars */
};

struct file_field {
	const char *name; /* NULL ends a table */
	enum file_kind kind;
	size_t at; /* offset */
	size_t size; /* of FILE_TEXT */
	bool may_be_unknown; /* 0 is unknown, and written as nothing */
	__u64 least, most; /* of a number as it is in the file; most 0: whatever its bytes hold */
};

extern const struct file_field file_columns[]; /* of struct row */
extern const struct file_field file_keys[]; /* of struct study */
extern const struct file_field file_counters[]; /* of struct study */

#define FILE_VALUE_LEN 96

void file_format_value(char *buf, size_t size, const struct file_field *f, const void *in);
/* False: it is not such a value. */
bool file_parse_value(const char *text, const struct file_field *f, void *in);

#endif
