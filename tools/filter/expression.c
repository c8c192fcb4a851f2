// SPDX-License-Identifier: GPL-2.0-only
#include "expression.h"

int expression_node(struct expression *x, enum filter_op op, int left, int right)
{
	struct filter *f = x->f;

	if (f->n == FILTER_NODES) {
		lexer_refuse(&x->lexer, x->lexer.word_at, "the expression is too long",
			     "at most 256 conditions and operators; use a prefix instead of its "
			     "addresses");
		return -1;
	}
	f->nodes[f->n] = (struct filter_node){ .op = op, .left = left, .right = right };
	return f->n++;
}

bool expression_needs_socket(struct expression *x)
{
	x->f->needs_socket = true;
	return x->system ||
	       lexer_refuse(&x->lexer, x->lexer.word_at, "events cannot be filtered by this",
			    "bbrmon snapshot has it");
}
