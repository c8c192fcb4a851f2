// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include <curses.h>

#include "event/event.h"
#include "top_screen.h"

#define HEADER_LINES 3
#define FOOTER_LINES 1

int list_height(void)
{
	return LINES - HEADER_LINES - FOOTER_LINES;
}

static void draw_titles(const struct top *t)
{
	const struct top_layout *l = &t->view.layout;

	for (int i = 0; i < l->n; i++) {
		enum hue hue = l->place[i].column == t->view.sort ? HUE_CURSOR : HUE_TITLE;
		char cell[CELL_BYTES];

		cell_format(cell, l, i, &t->style, NULL);
		screen_put(2, l->place[i].x, hue, cell);
	}
}

static enum hue cell_hue(const struct conn *c, enum column column)
{
	if (c->ended_ns)
		return HUE_DIM;
	switch (column) {
	case COL_MODE:
		return mode_hue(c->algorithm, c->e.mode);
	case COL_RECOVERY:
		return c->e.ca_state >= 4 ? HUE_BAD : c->e.ca_state ? HUE_WARN : HUE_NONE;
	case COL_LOST_NOW:
		return c->lost ? HUE_BAD : HUE_NONE;
	case COL_RETRANS_NOW:
		return c->retrans ? HUE_WARN : HUE_NONE;
	default:
		return column_has_finding(column, c) ? HUE_BAD : HUE_NONE;
	}
}

static void draw_row(const struct top *t, int y, const struct row *row, bool is_cursor)
{
	const struct top_layout *l = &t->view.layout;

	if (is_cursor) {
		attrset(screen_attributes(HUE_CURSOR));
		mvhline(y, 0, ' ' | screen_attributes(HUE_CURSOR), COLS);
	}
	for (int i = 0; i < l->n; i++) {
		enum hue hue = is_cursor ? HUE_CURSOR :
			       row->conn ? cell_hue(row->conn, l->place[i].column) :
					   HUE_NONE;
		char cell[CELL_BYTES];

		cell_format(cell, l, i, &t->style, row);
		screen_put(y, l->place[i].x, hue, cell);
	}
}

void list_draw(struct top *t)
{
	struct view *v = &t->view;
	struct line first, second;
	size_t height = list_height(), shown;

	view_scroll(v, height);
	shown = v->n - v->top < height ? v->n - v->top : height;
	top_header(t, &first, &second, COLS);
	screen_put(0, 0, t->paused ? HUE_CURSOR : HUE_TITLE, first.text);
	screen_put(1, 0, HUE_NONE, second.text);
	view_layout(v, COLS, v->rows + v->top, shown);
	draw_titles(t);
	for (size_t i = 0; i < shown; i++)
		draw_row(t, HEADER_LINES + i, &v->rows[v->top + i], v->top + i == v->cursor);
	if (!v->n)
		screen_put(HEADER_LINES, 0, HUE_DIM,
			   t->table.n ? "no connection matches the filter" : "no connections yet");
}

/* The lines of the help, one after the other; NULL: there are no more. */
static const char *help_line(int i)
{
	static const char *const keys[] = {
		"q              end",
		"up down k j    move; the cursor stays on its row",
		"pgup pgdn      a screen up or down",
		"home g  end G  the first row, the last row",
		"enter          the page of a connection, or the connections of a group; esc or",
		"               left: back",
		"b              by cgroup, process, prefix of the remote address, network "
		"namespace,",
		"               or each connection",
		"< >            sort by the previous, next column; r: reverse",
		"/              filter: 10.0.0.0/8, :443, mode = DRAIN and cwnd > 20, ... (as",
		"               bbrmon's FILTER); esc: no filter",
		"p space        pause, continue: events are counted, but not shown",
		"s              line of the rate or of the RTT, a second a column",
		"+ -            refresh more often, less often",
		"",
		"Columns (--columns). Of a group: sums; RTT, MIN, RWND, SNDB are means.",
	};
	const int n = sizeof(keys) / sizeof(keys[0]);
	static const struct cell_style style;
	static char line[128];

	if (i < n)
		return keys[i];
	for (int c = 0; c < COLUMNS; c++) {
		if (!column_help(c) || i-- > n)
			continue;
		snprintf(line, sizeof(line), "%-9s %s", column_title(c, &style), column_help(c));
		return line;
	}
	return NULL;
}

int help_draw(int from)
{
	int height = LINES - 1 - FOOTER_LINES, n = 0;

	while (help_line(n))
		n++;
	if (from > n - height)
		from = n - height;
	if (from < 0)
		from = 0;
	screen_put(0, 0, HUE_TITLE, "bbrmon top: keys and columns (up, down)");
	for (int y = 0; y < height && from + y < n; y++)
		screen_put_line(1 + y, HUE_NONE, help_line(from + y));
	return from;
}
