/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One JSON object of simple values, written as it comes. For what is printed a hundred thousand times: as a tree of
 * json-c it takes five times as long, most of that to allocate and to free.
 */
#ifndef LIB_JSON_LINE_H
#define LIB_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <linux/types.h>

struct json_line {
	FILE *out;
	bool has_members;
	size_t n;
	char buf[4096];
};

void json_begin(struct json_line *j, FILE *out);
/* Ends the object, and the line. */
void json_end(struct json_line *j);

/* Members. Keys are literals with nothing in them that would have to be escaped. */
void json_add_int(struct json_line *j, const char *key, __u64 value);
void json_add_bool(struct json_line *j, const char *key, bool value);
void json_add_null(struct json_line *j, const char *key);
/* So many 256ths. */
void json_add_gain(struct json_line *j, const char *key, __u16 gain);
/* The text is UTF-8; NULL is null. */
void json_add_string(struct json_line *j, const char *key, const char *text);
/* Something that is JSON already. */
void json_add_raw(struct json_line *j, const char *key, const char *json);

#endif
