/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names in a file: columns of rows, and keys of the experiment.
 */
#ifndef TOOLS_EXPERIMENT_FILE_FIELDS_H
#define TOOLS_EXPERIMENT_FILE_FIELDS_H

#include <stddef.h>

#include "study.h"

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
	FILE_KINDS,
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
