/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connections are shown, in which order, and which one is chosen.
 */
#ifndef TOOLS_TOP_VIEW_H
#define TOOLS_TOP_VIEW_H

#include "filter/filter.h"
#include "top_table.h"

#define FILTER_LEN 256

struct view {
	struct conn **rows;
	size_t n, size;
	enum column sort;
	bool reverse;
	struct filter filter; /* of the rows that are shown; the text "": all are */
	char filter_text[FILTER_LEN];

	__u64 chosen; /* serial of the row that the cursor stays on; 0: it stays where it is */
	size_t cursor, top; /* rows */
};

/*
 * Changes the filter, which may name the fields of these algorithms. Returns false after printing
 * what is wrong: then the filter stays.
 */
bool view_filter(struct view *v, const char *text, const struct known *known);

/* Call this after each change of the table, the order or the filter. */
void view_build(struct view *v, const struct conn_table *t);

/* Moves the cursor; it stays on its connection from then on. */
void view_move(struct view *v, long rows);
/* Moves it to the first row, whichever connection is there. */
void view_home(struct view *v);

/* The connection that the cursor is on; NULL: none is shown. */
struct conn *view_chosen(const struct view *v);

/* Scrolls so that the cursor is among the `height` rows that are visible. */
void view_scroll(struct view *v, size_t height);

void view_free(struct view *v);

#endif
