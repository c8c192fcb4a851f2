/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The values of a filter's conditions. Each function puts the value that the lexer read last into a
 * condition, or prints what is wrong and returns false. It may change the text of the value.
 */
#ifndef TOOLS_VALUE_H
#define TOOLS_VALUE_H

#include "expression.h"

/* `word` is the condition's word, for messages. */
bool value_host(const struct lexer *l, const char *word, struct filter_node *node, char *value);
bool value_port(const struct lexer *l, struct filter_node *node, const char *value);
bool value_mark(const struct lexer *l, const char *word, struct filter_node *node, char *value);

/* A name, which must be shorter than `size`. */
bool value_name(const struct lexer *l, struct filter_node *node, const char *value, size_t size);

/* A mode, "PROBE_BW", or one with its phase, "PROBE_BW/UP", of any of the algorithms. */
bool value_mode(const struct expression *x, struct filter_node *node, const char *value);
bool value_reason(const struct expression *x, struct filter_node *node, const char *value);
/* The name of a value of the field whose key the condition has, in any of the algorithms. */
bool value_field_name(const struct expression *x, struct filter_node *node, const char *value);
/* Any value of this field: a name, a flag, or a number for the condition to compare with. */
bool value_field(const struct expression *x, struct filter_node *node, const struct field *f,
		 const char *value);

#endif
