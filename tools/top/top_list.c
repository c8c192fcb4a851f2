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

static void draw_titles(const struct top *t, const struct top_layout *l)
{
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

static void draw_row(const struct top *t, const struct top_layout *l, int y, const struct conn *c,
		     bool is_cursor)
{
	if (is_cursor) {
		attrset(screen_attributes(HUE_CURSOR));
		mvhline(y, 0, ' ' | screen_attributes(HUE_CURSOR), COLS);
	}
	for (int i = 0; i < l->n; i++) {
		enum hue hue = is_cursor ? HUE_CURSOR : cell_hue(c, l->place[i].column);
		char cell[CELL_BYTES];

		cell_format(cell, l, i, &t->style, c);
		screen_put(y, l->place[i].x, hue, cell);
	}
}

void list_draw(struct top *t)
{
	struct view *v = &t->view;
	struct line first, second;
	struct top_layout layout;
	size_t height = list_height(), shown;

	view_scroll(v, height);
	shown = v->n - v->top < height ? v->n - v->top : height;
	top_header(t, &first, &second, COLS);
	screen_put(0, 0, t->paused ? HUE_CURSOR : HUE_TITLE, first.text);
	screen_put(1, 0, HUE_NONE, second.text);
	layout_choose(&layout, COLS, v->sort, v->rows + v->top, shown);
	draw_titles(t, &layout);
	for (size_t i = 0; i < shown; i++)
		draw_row(t, &layout, HEADER_LINES + i, v->rows[v->top + i],
			 v->top + i == v->cursor);
	if (!v->n)
		screen_put(HEADER_LINES, 0, HUE_DIM,
			   t->table.n ? "no connection matches the filter" : "no connections yet");
}

/* Writes a line of the help, if there is room for it above the footer. */
static void put_help(int y, const char *text)
{
	if (y < LINES - FOOTER_LINES)
		screen_put_line(y, HUE_NONE, text);
}

void help_draw(void)
{
	static const char *const lines[] = {
		"q              end",
		"up down k j    move; the cursor stays on its connection",
		"pgup pgdn      a screen up or down",
		"home g  end G  the first row, the last row",
		"enter          the page of one connection; esc or left: back",
		"< >            sort by the previous, next column; r: reverse",
		"/              filter: 10.0.0.0/8, :443, mode = DRAIN and cwnd > 20, ... (as",
		"               bbrmon's FILTER); esc: no filter",
		"p space        pause, continue: events are counted, but not shown",
		"s              sparkline of the rate or of the RTT, a second a column",
		"+ -            refresh more often, less often",
		"",
		"RATE delivered in the last interval, BW the estimate, PACE: bits per second",
		"RTT MIN        smoothed and lowest RTT, milliseconds",
		"INFL/BDP CWND  packets; LOST packets, RETR bytes; with + in the last interval",
		"SINCE          time in the mode",
	};
	int y = 2;

	screen_put(0, 0, HUE_TITLE, "bbrmon top: keys and columns");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		put_help(y++, lines[i]);
	for (int i = 0; i < OWN_COLUMNS; i++) {
		const struct field_column *own = column_own(COL_OWN + i);
		char line[128];

		if (!own)
			continue;
		snprintf(line, sizeof(line), "%-14s %s", own->title, own->help);
		put_help(y++, line);
	}
}
