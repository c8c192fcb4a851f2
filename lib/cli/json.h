/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON that is written as it is produced: a tree of json-c takes five times as long, most of it to
 * allocate and free.
 *
 * Keys are short literals that need no escaping. Elements of an array have the key NULL.
 */
#ifndef LIB_JSON_H
#define LIB_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include <linux/types.h>

#include "text.h"

#define JSON_DEPTH_MAX 64 /* nested objects and arrays */

struct json {
	struct buffered to;
	bool is_pretty; /* a line for each member, indented; otherwise all on one line */
	bool is_in_script; /* escape what could end a <script>, or change where it ends */
	bool breaks_line; /* see json_new_line() */
	bool has_members; /* the innermost object or array has some */
	unsigned int depth;
	__u64 arrays; /* a bit for each depth, set for an array */
};

/* Begins an object on one line (perhaps for a <script> in HTML), or what takes several lines. */
enum json_form {
	JSON_LINE,
	JSON_IN_SCRIPT,
	JSON_PRETTY,
	JSON_PRETTY_ARRAY
};
void json_begin_as(struct json *j, FILE *out, enum json_form form);
#define json_begin(j, out) json_begin_as(j, out, JSON_LINE)
#define json_begin_in_script(j, out) json_begin_as(j, out, JSON_IN_SCRIPT)
#define json_begin_pretty(j, out) json_begin_as(j, out, JSON_PRETTY)
#define json_begin_pretty_array(j, out) json_begin_as(j, out, JSON_PRETTY_ARRAY)
/* Ends it and its last line, and writes what is left to the file. */
void json_end(struct json *j);

/* Makes the next member begin a line, unless it is the first. Not for pretty JSON. */
void json_new_line(struct json *j);

/* Objects and arrays within it. */
void json_open_object(struct json *j, const char *key);
void json_open_array(struct json *j, const char *key);
void json_close(struct json *j);
/*
 * An array with an object for each of the n elements of a list, as with for_each(). The statement
 * after it adds the members of an object; it must not leave the loop.
 */
#define json_objects(j, key, at, list, n)                                                 \
	for (__typeof__(*(list)) *at = (json_open_array(j, key), (list)),                 \
				 *at##_end = (n) > 0 ? at + (n) : at;                     \
	     at != at##_end ? (json_open_object(j, NULL), true) : (json_close(j), false); \
	     json_close(j), at++)

void json_add_int(struct json *j, const char *key, __u64 value);
/* null unless `has`. */
void json_add_int_if(struct json *j, const char *key, bool has, __u64 value);
/* Without decimals; null if it is not known or too large for a 64-bit integer. */
void json_add_whole(struct json *j, const char *key, double value);
void json_add_signed(struct json *j, const char *key, __s64 value);
/* With nine digits; null if it is not finite. */
void json_add_number(struct json *j, const char *key, double value);
void json_add_bool(struct json *j, const char *key, bool value);
/* null unless `has`. */
void json_add_bool_if(struct json *j, const char *key, bool has, bool value);
void json_add_null(struct json *j, const char *key);
/* The gain is in 256ths. */
void json_add_gain(struct json *j, const char *key, __u16 gain);
/*
 * NULL is null. Text that is not UTF-8, or that begins with a double quote, is added as
 * text_quote() writes it (text.h). So is, in a script, text that a page should not show as it is.
 */
void json_add_string(struct json *j, const char *key, const char *text);
/* Something that is JSON already. */
void json_add_raw(struct json *j, const char *key, const char *json);

#endif
