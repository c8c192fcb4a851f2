// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which columns of bbrmon top fit into a width, where they are, and the order of rows by them.
 */
#define _GNU_SOURCE /* strsep() */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "event/field.h"
#include "top.h"

#define SPARK_ALL 20 /* columns, where there is no width to fill */

/* Of a list of groups. */
static const enum column of_groups[] = {
	COL_GROUP,  COL_CONNS,	  COL_RATE,	   COL_BW,   COL_RTT,	  COL_RWND,
	COL_SNDBUF, COL_LOST_NOW, COL_RETRANS_NOW, COL_LOST, COL_RETRANS, COL_MIN_RTT,
};

static bool is_of_row(enum column c, bool is_of_groups)
{
	if (is_of_groups)
		return c == COL_GROUP || column_def(c)->summing;
	return c != COL_GROUP && c != COL_CONNS && column_def(c)->name;
}

enum column column_next(enum column c, int step, bool is_of_groups)
{
	do
		c = (c + step + COL_SPARK) % COL_SPARK;
	while (!is_of_row(c, is_of_groups));
	return c;
}

bool column_refuse(const char *option, const char *value, const char *name, const char *what_to_do)
{
	struct name_list names = {};

	err("%s %s: %s: no such column", option, value, name);
	for (int i = 0; i < COLUMNS; i++)
		if (column_def(i)->name)
			name_list_add(&names, column_def(i)->name);
	return name_list_refuse(&names, name, what_to_do);
}

bool option_columns(const char *option, const char *value, void *to)
{
	struct column_choice *choice = to;
	bool is_known = true;
	char *list, *at, *name;

	*choice = (struct column_choice){ .is_more = *value == '+' };
	list = at = mem_copy(value + choice->is_more);
	while (is_known && (name = strsep(&at, ","))) {
		enum column c = column_by_name(name);

		if (c == COLUMNS)
			is_known = column_refuse(
				option, value, name,
				"some of these, or in addition to the usual ones with a \"+\" "
				"before the first:");
		else if (!column_is_chosen(choice, c))
			choice->list[choice->n++] = c;
	}
	free(list);
	return is_known;
}

bool column_is_chosen(const struct column_choice *choice, enum column column)
{
	for (int i = 0; i < choice->n; i++)
		if (choice->list[i] == column)
			return true;
	return false;
}

static bool is_shown(const struct top_layout *l, enum column column)
{
	for (int i = 0; i < l->n; i++)
		if (l->place[i].column == column)
			return true;
	return false;
}

/* Adds a column, if there is such a one and room for it. Returns the width that all of them use. */
static int add_column(struct top_layout *l, enum column column, const int wide[COLUMNS], int width,
		      int used)
{
	int more = wide[column] + (l->n > 0);

	if (!wide[column] || (width && used + more > width) || is_shown(l, column))
		return used;
	l->place[l->n++].column = column;
	return used + more;
}

static int by_number(const void *a, const void *b)
{
	return *(const enum column *)a - *(const enum column *)b;
}

/* Chooses the columns that the width has room for, in their order. Returns the width that they use. */
static int choose(struct view *v, int width, const int wide[COLUMNS])
{
	const struct column_choice *choice = &v->choice;
	bool is_list = choice->n && !choice->is_more;
	struct top_layout *l = &v->layout;
	int used = 0;

	l->n = 0;
	if (l->is_of_groups)
		used = add_column(l, COL_GROUP, wide, width, used);
	else if (!is_list)
		used = add_column(l, v->sort, wide, width, used);
	for (int i = 0; i < choice->n; i++)
		if (is_of_row(choice->list[i], l->is_of_groups))
			used = add_column(l, choice->list[i], wide, width, used);
	if (is_list)
		return used;
	if (l->is_of_groups) {
		for (size_t i = 0; i < sizeof(of_groups) / sizeof(of_groups[0]); i++)
			used = add_column(l, of_groups[i], wide, width, used);
		return used;
	}
	for (int priority = 1; priority <= COLUMNS; priority++)
		for (int i = 0; i < COLUMNS; i++)
			if (column_def(i)->priority == priority)
				used = add_column(l, i, wide, width, used);
	qsort(l->place, l->n, sizeof(l->place[0]), by_number);
	return used;
}

/* The width that these rows need, at least `widest`. */
static int needed(enum column column, int widest, const struct row *rows, size_t n_rows)
{
	const struct cell_style style = {};
	int max = column_def(column)->max;

	for (size_t i = 0; i < n_rows && widest < max; i++) {
		char text[CELL_BYTES];
		int len;

		cell_text(column, text, sizeof(text), max, &style, &rows[i]);
		len = strlen(text);
		if (len > widest)
			widest = len;
	}
	return widest;
}

/* True if only some rows have it: of an algorithm, or of a socket that was read. */
static bool is_optional(enum column c)
{
	return column_def(c)->own || c == COL_SERVICE || c == COL_RWND || c == COL_SNDBUF ||
	       c == COL_MPTCP;
}

/* True if any of these rows has it. Without rows, what the first algorithm has counts. */
static bool has_column(enum column column, const struct row *rows, size_t n_rows)
{
	struct column_def *def = column_def(column);

	for (size_t i = 0; i < n_rows; i++) {
		const struct conn *c = rows[i].conn;

		if (def->own		  ? c && field_of(&def->field, c->algorithm) :
		    !c			  ? true :
		    column == COL_SERVICE ? c->service[0] :
					    !isnan(column_value(column, &rows[i])))
			return true;
	}
	return !n_rows && def->own && field_find(algorithms[0], def->name);
}

void view_layout(struct view *v, int width, const struct row *rows, size_t n_rows)
{
	static const enum column widened[] = { COL_GROUP, COL_REMOTE, COL_LOCAL };
	bool is_of_groups = view_has_groups(v);
	struct top_layout *l = &v->layout;
	int wide[COLUMNS] = {}, used, x = 0;

	if (l->made_for != width || l->is_of_groups != is_of_groups)
		*l = (struct top_layout){ .made_for = width, .is_of_groups = is_of_groups };
	for (int c = 0; c < COLUMNS; c++) {
		bool is_asked = c == (int)v->sort || column_is_chosen(&v->choice, c);
		int min = column_def(c)->min, *least = &l->least[c];

		if (!is_of_row(c, is_of_groups))
			continue;
		if (c == COL_SPARK)
			*least = min;
		else if (!is_optional(c) || has_column(c, rows, n_rows))
			*least = needed(c, *least > min ? *least : min, rows, n_rows);
		wide[c] = *least || !is_asked ? *least : min;
	}
	for (size_t i = 0; i < sizeof(widened) / sizeof(widened[0]); i++)
		if (wide[widened[i]])
			wide[widened[i]] = column_def(widened[i])->min;
	used = choose(v, width, wide);
	for (size_t i = 0; i < sizeof(widened) / sizeof(widened[0]); i++) {
		enum column c = widened[i];
		int more = is_shown(l, c) ? l->least[c] - wide[c] : 0;

		if (width && more > width - used)
			more = width - used;
		wide[c] += more;
		used += more;
	}
	wide[COL_SPARK] = width ? wide[COL_SPARK] + width - used : SPARK_ALL;
	if (wide[COL_SPARK] > SPARK_MAX)
		wide[COL_SPARK] = SPARK_MAX;
	for (int i = 0; i < l->n; i++) {
		l->place[i].width = wide[l->place[i].column];
		l->place[i].x = x;
		x += l->place[i].width + 1;
	}
}

/* The columns of a UTF-8 text: bytes that continue a character have none. */
static int columns_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

int cell_format(char buf[CELL_BYTES], const struct top_layout *l, int place,
		const struct cell_style *style, const struct row *row)
{
	enum column column = l->place[place].column;
	int width = l->place[place].width, space;
	bool left = column_def(column)->left;
	char text[CELL_BYTES - 64];

	if (row)
		cell_text(column, text, sizeof(text), width, style, row);
	else
		snprintf(text, sizeof(text), "%s", column_title(column, style));
	space = width - columns_of(text);
	if (space < 0)
		space = 0;
	return sprintf(buf, "%*s%s%*s", left ? 0 : space, "", text, left ? space : 0, "");
}
