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

#define HELP_LINES 160
#define HELP_KEY 15 /* columns of a key before what it does */
#define HELP_COLUMN 10 /* of a title before what the column shows */

struct help {
	char line[HELP_LINES][160];
	int n;
};

/* Adds text in lines of the screen's width; from the second one on it is indented. */
static void add_help(struct help *h, const char *text, int indent)
{
	int before = 0, width = COLS < (int)sizeof(h->line[0]) ? COLS : (int)sizeof(h->line[0]) - 1;

	do {
		int room = width - before, len = strlen(text), at = len < room ? len : room;

		while (at < len && at > 1 && text[at] != ' ')
			at--;
		if (h->n == HELP_LINES)
			return;
		snprintf(h->line[h->n++], sizeof(h->line[0]), "%*s%.*s", before, "", at, text);
		text += at + strspn(text + at, " ");
		before = indent;
	} while (*text);
}

static void make_help(struct help *h)
{
	static const char *const keys[] = {
		"q              end",
		"up down k j    move; the cursor stays on its row",
		"pgup pgdn      a screen up or down",
		"home g  end G  the first row, the last row",
		"enter          the page of a connection, or the connections of a group; esc or "
		"left: back",
		"b              by cgroup, process, prefix of the remote address, network "
		"namespace, or each connection",
		"< >            sort by the previous, next column; r: reverse",
		"/              filter: 10.0.0.0/8, :443, mode = DRAIN and cwnd > 20, ... (as "
		"bbrmon's FILTER); esc: no filter",
		"p space        pause, continue: events are counted, but not shown",
		"s              line of the rate or of the RTT, a second a column",
		"+ -            refresh more often, less often",
		"",
		"Columns (--columns). Of a group: sums; RTT, MIN, RWND, SNDB are means.",
	};
	static const struct cell_style style;
	char line[160];

	h->n = 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		add_help(h, keys[i], i < sizeof(keys) / sizeof(keys[0]) - 1 ? HELP_KEY : 0);
	for (int c = 0; c < COLUMNS; c++) {
		if (!column_def(c)->help)
			continue;
		snprintf(line, sizeof(line), "%-*s%s", HELP_COLUMN,
			 c == COL_SPARK ? "line" : column_title(c, &style), column_def(c)->help);
		add_help(h, line, HELP_COLUMN);
	}
}

int help_draw(int from)
{
	int height = LINES - 1 - FOOTER_LINES;
	static struct help h;

	make_help(&h);
	if (from > h.n - height)
		from = h.n - height;
	if (from < 0)
		from = 0;
	screen_put(0, 0, HUE_TITLE, "bbrmon top: keys and columns (up, down)");
	for (int y = 0; y < height && from + y < h.n; y++)
		screen_put_line(1 + y, HUE_NONE, h.line[from + y]);
	return from;
}
