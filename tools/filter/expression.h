/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A filter expression while it is parsed, and the parsers of its parts.
 */
#ifndef TOOLS_EXPRESSION_H
#define TOOLS_EXPRESSION_H

#include "filter.h"
#include "lexer.h"

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

#endif
