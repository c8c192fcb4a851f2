/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A filter expression while it is parsed, and the parsers of its parts.
 */
#ifndef TOOLS_EXPRESSION_H
#define TOOLS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "filter.h"

/*
 * Reads the words, signs and values of a filter expression, and prints messages that point at a
 * place in it.
 */
struct lexer {
	const char *text;
	size_t at; /* where the next one begins */
	size_t word_at; /* of the last word, sign or value that was read */
};

/* Is there nothing left but blanks? Skips them. */
bool lexer_is_at_end(struct lexer *l);

/* Takes a sign, or a word as a whole. False: something else is next. */
bool lexer_take(struct lexer *l, const char *word);

/* Copies the next word without taking it. False: there is none, or no room for it. */
bool lexer_peek(struct lexer *l, char *buf, size_t size);

/*
 * Takes a value: everything up to a blank or a sign that may follow. A backslash makes the next
 * character part of the value. Returns false after printing what is wrong.
 */
bool lexer_take_value(struct lexer *l, char *buf, size_t size);

/* Prints what is wrong, where, and what to do. */
bool lexer_refuse(const struct lexer *l, size_t at, const char *why, const char *what_to_do);

/* The same if what is wrong was already printed. Both return false. */
bool lexer_point(const struct lexer *l, size_t at, const char *what_to_do);

/* Does this character separate words? */
bool lexer_is_blank(char c);

struct expression {
	struct filter *f;
	const struct filter_system *system; /* NULL: the expression is for events */
	const struct known *known;
	struct lexer lexer;
	int depth; /* of parentheses and "not" */
};

/* Adds a node to the filter. Returns its index, or -1 after printing that there is no room. */
int expression_node(struct expression *x, enum filter_op op, int left, int right);

/*
 * Notes that the condition that was read last tests what only a socket has. Returns false after
 * printing that an event does not have it.
 */
bool expression_needs_socket(struct expression *x);

/* Reads what "state" and "exclude" say, which come before the first condition. */
bool states_parse(struct expression *x);

/* Reads one condition. Returns the index of its node, or -1 after printing what is wrong. */
int condition_parse(struct expression *x);

/*
 * The values of a filter's conditions. Each function puts the value that the lexer read last into a
 * condition, or prints what is wrong and returns false. It may change the text of the value.
 */
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
