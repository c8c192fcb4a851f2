/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connections are shown, in which order, and which one is chosen.
 */
#ifndef TOOLS_TOP_VIEW_H
#define TOOLS_TOP_VIEW_H

#include "top_table.h"

#define FILTER_LEN 64

struct view {
	struct conn **rows;
	size_t n, size;
	enum column sort;
	bool reverse;
	char filter
		[FILTER_LEN]; /* words that all must be somewhere in a row's names and addresses */

	__u64 chosen; /* serial of the row that the cursor stays on; 0: it stays where it is */
	size_t cursor, top; /* rows */
};

/* After each change of the table, the order or the filter. */
void view_build(struct view *v, const struct conn_table *t);

/* Moves the cursor; it stays on its connection from then on. */
void view_move(struct view *v, long rows);
/* To the first row, whoever is there. */
void view_home(struct view *v);

/* What the cursor is on; NULL: nothing is shown. */
struct conn *view_chosen(const struct view *v);

/* Has the cursor among those `height` rows that are seen. */
void view_scroll(struct view *v, size_t height);

void view_free(struct view *v);

#endif
