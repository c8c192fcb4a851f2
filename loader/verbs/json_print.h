/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_JSON_PRINT_H
#define LOADER_JSON_PRINT_H

#include <stdio.h>

#include <json-c/json.h>

/* Prints an object, indented, on stdout, and drops it. */
static inline void json_print(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

#endif
