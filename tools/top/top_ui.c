// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon top on a terminal: the list of connections, the help, keys.
 */
#define _GNU_SOURCE /* strsep() */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

#include "cli/err.h"
#include "cli/text.h"
#include "top.h"
#include "verbs.h"

#define LOOK_MS 50 /* between two looks at the time and, in a recording, at its events */
#define DRAW_NS (50 * NS_PER_MS) /* between two drawings without a key, at least */
#define KEY_ESCAPE 27
#define KEY_DELETE 127

enum shown {
	SCREEN_LIST,
	SCREEN_PAGE,
	SCREEN_HELP,
};

/* Between two lists of what a first reading has found so far. */
#define PREVIEW_NS (250 * NS_PER_MS)

/* What the keys have chosen. */
struct ui {
	struct top *top;
	enum shown screen;
	__u64 page; /* serial of its connection */
	int help; /* its first line */
	bool typing; /* a filter */
	char text[FILTER_LEN]; /* what was typed */
	char *refused; /* why this is no filter; NULL: not tried yet */
	bool quit;
	bool changed; /* the screen must be drawn */
	bool idle; /* there was nothing more to read */
	__u64 drawn_ns, previewed_ns;
};

#define HEADER_LINES 3
#define FOOTER_LINES 1

static int list_height(void)
{
	return LINES - HEADER_LINES - FOOTER_LINES;
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

/* The titles, if there is no row. */
static void draw_row(const struct top *t, int y, const struct row *row, bool is_cursor)
{
	const struct top_layout *l = &t->view.layout;

	if (is_cursor) {
		attrset(screen_attributes(HUE_CURSOR));
		mvhline(y, 0, ' ' | screen_attributes(HUE_CURSOR), COLS);
	}
	for (int i = 0; i < l->n; i++) {
		enum column column = l->place[i].column;
		bool is_marked = row ? is_cursor : column == t->view.sort;
		enum hue hue = is_marked ? HUE_CURSOR :
			       !row	 ? HUE_TITLE :
			       row->conn ? cell_hue(row->conn, column) :
					   HUE_NONE;
		char cell[CELL_BYTES];

		cell_format(cell, l, i, &t->style, row);
		screen_put(y, l->place[i].x, hue, cell);
	}
}

static void draw_list(struct top *t)
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
	draw_row(t, HEADER_LINES - 1, NULL, false);
	for (size_t i = 0; i < shown; i++)
		draw_row(t, HEADER_LINES + i, &v->rows[v->top + i], v->top + i == v->cursor);
	if (!v->n)
		screen_put(HEADER_LINES, 0, HUE_DIM,
			   t->table.n ? "no connection matches the filter" : "no connections yet");
}

#define HELP_KEY 15 /* columns of a key before what it does */
#define HELP_COLUMN 10 /* of a title before what the column shows */
#define HELP_WIDTH 159 /* at most */

/* The help in lines of this width; from the second line of a text on they are indented. */
static char *make_help(int width)
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
	};
	static const struct cell_style style;
	char line[160], *text = NULL;
	size_t size;
	FILE *out = mem_need(open_memstream(&text, &size));

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		text_print_wrapped(out, keys[i], 0, HELP_KEY, width, false);
	fputc('\n', out);
	text_print_wrapped(out,
			   "Columns (--columns). Of a group: sums; RTT, MIN, RWND, SNDB are means.",
			   0, 0, width, false);
	for (int c = 0; c < COLUMNS; c++) {
		if (!column_def(c)->help)
			continue;
		snprintf(line, sizeof(line), "%-*s%s", HELP_COLUMN,
			 c == COL_SPARK ? "line" : column_title(c, &style), column_def(c)->help);
		text_print_wrapped(out, line, 0, HELP_COLUMN, width, false);
	}
	mem_check(!fclose(out));
	return text;
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* Draws the help from a line on, or its end. Returns the first line that is shown. */
static int draw_help(int from)
{
	char *text AUTO_FREE = make_help(COLS < HELP_WIDTH ? COLS : HELP_WIDTH), *rest = text;
	int height = LINES - 1 - FOOTER_LINES, last = lines_of(text) - height;

	if (from > last)
		from = last;
	if (from < 0)
		from = 0;
	screen_put(0, 0, HUE_TITLE, "bbrmon top: keys and columns (up, down)");
	for (int y = -from; rest && y < height; y++) {
		const char *line = strsep(&rest, "\n");

		if (y >= 0)
			screen_put_line(1 + y, HUE_NONE, line);
	}
	return from;
}

static struct conn *page_conn(const struct top *t, const struct ui *ui)
{
	for (__u32 i = 0; i < t->table.n; i++)
		if (t->table.all[i]->serial == ui->page)
			return t->table.all[i];
	return NULL;
}

static void draw_footer(const struct top *t, const struct ui *ui)
{
	struct line l = { .width = COLS };
	const char *message = screen_message();

	if (ui->typing) {
		size_t len = strlen(ui->text), room = COLS - strlen("filter: _");

		/* Of a long one the end is seen. */
		line_add(&l, "filter: %s_", ui->text + (len > room ? len - room : 0));
	} else if (message) {
		screen_put_line(LINES - 1, HUE_WARN, message);
		return;
	} else if (ui->screen == SCREEN_LIST) {
		if (t->view.filter_text[0])
			line_add(&l, "filter \"%s\"", t->view.filter_text);
		if (t->view.in_group)
			line_add(&l, "esc back");
		line_add(&l, "q quit");
		line_add(&l, "h help");
		line_add(&l, "<> sort %s%s", column_title(t->view.sort, &t->style),
			 t->view.reverse ? " reversed" : "");
		line_add(&l, "r reverse");
		line_add(&l, "b by %s",
			 t->view.grouping.by ? group_by_names[t->view.grouping.by] : "cgroup, ...");
		line_add(&l, "/ filter");
		line_add(&l, t->paused ? "p continue" : "p pause");
		line_add(&l, view_has_groups(&t->view) ? "enter connections" : "enter page");
		line_add(&l, "s line");
		line_add(&l, "+- every %gs", t->interval_ns / (double)NS_PER_S);
	} else {
		line_add(&l, "esc back");
		line_add(&l, "q quit");
		if (ui->screen == SCREEN_PAGE)
			line_add(&l, t->paused ? "p continue" : "p pause");
	}
	screen_put(LINES - 1, 0, ui->typing ? HUE_CURSOR : HUE_DIM, l.text);
}

/* Writes it above the footer, from its first line on as much as there is room for. */
static void draw_refusal(const struct ui *ui)
{
	char *text AUTO_FREE = mem_copy(ui->refused), *rest = text;
	int n = lines_of(text), y = n < LINES - 1 ? LINES - 1 - n : 0;

	for (; n > 0 && y < LINES - 1; n--, y++) {
		move(y, 0);
		clrtoeol();
		screen_put_line(y, HUE_WARN, strsep(&rest, "\n"));
	}
}

static void forget_refusal(struct ui *ui)
{
	free(ui->refused);
	ui->refused = NULL;
}

static void draw(struct top *t, struct ui *ui)
{
	erase();
	if (COLS < SCREEN_MIN_WIDTH || LINES < SCREEN_MIN_HEIGHT) {
		char text[64];

		snprintf(text, sizeof(text), "terminal too small: %dx%d", COLS, LINES);
		screen_put_line(0, HUE_NONE, text);
		snprintf(text, sizeof(text), "at least %dx%d", SCREEN_MIN_WIDTH, SCREEN_MIN_HEIGHT);
		screen_put_line(1, HUE_NONE, text);
	} else {
		if (ui->screen == SCREEN_HELP)
			ui->help = draw_help(ui->help);
		else if (ui->screen == SCREEN_PAGE)
			page_draw(t, page_conn(t, ui));
		else
			draw_list(t);
		if (ui->refused)
			draw_refusal(ui);
		draw_footer(t, ui);
	}
	/* Parks the hidden cursor: otherwise curses writes its place after each change. */
	move(LINES - 1, 0);
	wnoutrefresh(stdscr);
	doupdate();
	ui->changed = false;
}

static void toggle_pause(struct top *t)
{
	t->paused = !t->paused;
	t->unseen = 0;
	if (t->paused)
		return;
	conn_table_go_on(&t->table);
	if (t->next_ns)
		top_refresh(t, event_source_is_over(&t->source) ? t->last_ns :
								  event_source_now_ns(&t->source));
}

static void change_interval(struct top *t, int step)
{
	static const __u64 steps[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	const int n = sizeof(steps) / sizeof(steps[0]);
	__u64 before = t->interval_ns;
	int i = 0;

	while (i < n - 1 && steps[i] * NS_PER_MS < before)
		i++;
	if (steps[i] * NS_PER_MS == before || step < 0)
		i += step;
	i = i < 0 ? 0 : i < n ? i : n - 1;
	t->interval_ns = steps[i] * NS_PER_MS;
	if (t->next_ns)
		t->next_ns = t->next_ns - before + t->interval_ns;
}

static void set_sort(struct top *t, int step)
{
	t->view.sort = column_next(t->view.sort, step, view_has_groups(&t->view));
	t->view.reverse = false;
}

/* Takes what was typed as the filter. If it is none, typing goes on. */
static void enter_filter(struct top *t, struct ui *ui)
{
	size_t size;
	FILE *said = open_memstream(&ui->refused, &size);

	if (!said)
		return;
	err_to(said);
	ui->typing = !view_filter(&t->view, ui->text, &t->known);
	err_to(NULL);
	fclose(said);
	if (!ui->typing)
		forget_refusal(ui);
	view_build(&t->view, &t->table);
}

static void type_filter(struct top *t, struct ui *ui, int key)
{
	size_t len = strlen(ui->text);

	forget_refusal(ui);
	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		enter_filter(t, ui);
	} else if (key == KEY_ESCAPE) {
		ui->typing = false;
	} else if (key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') {
		if (len)
			ui->text[len - 1] = 0;
	} else if (key >= ' ' && key <= '~' && len + 1 < FILTER_LEN) {
		ui->text[len] = key;
		ui->text[len + 1] = 0;
	}
}

static void open_page(struct top *t, struct ui *ui)
{
	const struct row *row = view_chosen(&t->view);

	if (!row || (!row->conn && !row->group->group.label)) /* the sum of others */
		return;
	if (!row->conn) {
		view_enter(&t->view, row->group);
		return;
	}
	view_move(&t->view, 0); /* the cursor stays on it */
	ui->page = row->conn->serial;
	ui->screen = SCREEN_PAGE;
}

/* Recordings have neither cgroups nor processes. */
static void group_by_next(struct top *t)
{
	enum group_by by = t->view.grouping.by;

	if (t->view.in_group)
		by = BY_NONE;
	else if (by == BY_NONE && t->config.read)
		by = BY_PREFIX;
	else
		by = by == BY_NETNS ? BY_NONE : by + 1;
	view_group_by(&t->view, by);
	top_read_names(t);
}

static void take_list_key(struct top *t, struct ui *ui, int key)
{
	long height = list_height();

	switch (key) {
	case KEY_UP:
	case 'k':
		view_move(&t->view, -1);
		return;
	case KEY_DOWN:
	case 'j':
		view_move(&t->view, 1);
		return;
	case KEY_PPAGE:
		view_move(&t->view, -height);
		return;
	case KEY_NPAGE:
		view_move(&t->view, height);
		return;
	case KEY_HOME:
	case 'g':
		view_home(&t->view);
		return;
	case KEY_END:
	case 'G':
		view_move(&t->view, t->view.n);
		return;
	case '\n':
	case '\r':
	case KEY_ENTER:
	case KEY_RIGHT:
		open_page(t, ui); /* or a group's connections */
		break;
	case '<':
	case ',':
		set_sort(t, -1);
		break;
	case '>':
	case '.':
		set_sort(t, 1);
		break;
	case 'r':
		t->view.reverse = !t->view.reverse;
		break;
	case '/':
	case 'f':
		ui->typing = true;
		strcpy(ui->text, t->view.filter_text);
		return;
	case 'b':
		group_by_next(t);
		break;
	case KEY_LEFT:
	case KEY_ESCAPE:
		if (t->view.in_group)
			view_enter(&t->view, NULL);
		else if (key == KEY_ESCAPE)
			view_filter(&t->view, "", &t->known);
		break;
	default:
		return;
	}
	view_build(&t->view, &t->table);
}

static void take_key(struct top *t, struct ui *ui, int key)
{
	ui->changed = true;
	if (key == KEY_RESIZE)
		return;
	if (ui->typing) {
		type_filter(t, ui, key);
		return;
	}
	switch (key) {
	case 'q':
		ui->quit = true;
		break;
	case 'h':
	case '?':
	case KEY_F(1):
		ui->screen = ui->screen == SCREEN_HELP ? SCREEN_LIST : SCREEN_HELP;
		ui->help = 0;
		break;
	case 'p':
	case ' ':
		toggle_pause(t);
		break;
	case 's':
		t->style.rtt_line = !t->style.rtt_line;
		break;
	case '+':
	case '=':
		change_interval(t, -1);
		break;
	case '-':
		change_interval(t, 1);
		break;
	default:
		if (ui->screen == SCREEN_LIST)
			take_list_key(t, ui, key);
		else if (key == KEY_ESCAPE || key == KEY_LEFT || key == KEY_BACKSPACE)
			ui->screen = SCREEN_LIST;
		else if (key == KEY_DOWN || key == 'j')
			ui->help++;
		else if ((key == KEY_UP || key == 'k') && ui->help)
			ui->help--;
	}
}

static void take_keys(struct top *t, struct ui *ui)
{
	int key;

	while (!ui->quit && (key = screen_key()) >= 0) {
		take_key(t, ui, key);
		ui->drawn_ns = 0; /* shows it at once */
	}
}

static void draw_if_due(struct top *t, struct ui *ui)
{
	__u64 now = now_ns();

	if (!ui->changed || now - ui->drawn_ns < DRAW_NS)
		return;
	draw(t, ui);
	ui->drawn_ns = now;
}

/* While connections are read. The first time there is no list yet: shows what has been found so far. */
static bool look(void *ctx)
{
	struct ui *ui = ctx;
	struct top *t = ui->top;
	__u64 now = now_ns();

	take_keys(t, ui);
	if (!t->next_reading_ns && !t->view.grouping.by &&
	    now - ui->previewed_ns >= PREVIEW_NS) { /* groups need names, which come last */
		t->style.now_ns = event_source_now_ns(&t->source);
		view_build(&t->view, &t->table);
		ui->previewed_ns = now;
		ui->changed = true;
	}
	draw_if_due(t, ui);
	return !ui->quit && !t->paused && !top_is_done(t) && !screen_is_gone();
}

/* Looks once at the keys, the events and the time. */
static int step(struct top *t, struct ui *ui)
{
	__u64 shown = t->style.now_ns, unseen = t->unseen;
	int ret = EXIT_DONE;

	if (ui->idle)
		ret = event_source_wait(&t->source, STDIN_FILENO, top_wait_ms(t, LOOK_MS));
	take_keys(t, ui);
	if (!ret)
		ret = event_source_poll(&t->source, 0, &ui->idle);
	top_follow_now(t);
	ui->changed |= t->style.now_ns != shown || t->unseen != unseen;
	return ret;
}

int top_run_screen(struct top *t)
{
	struct ui ui = { .top = t, .changed = true };
	int ret;

	ret = screen_open(!t->no_colour && wants_colour());
	if (ret)
		return ret;
	t->look = look;
	t->look_ctx = &ui;
	while (!ret && !ui.quit && !top_is_done(t) && !screen_is_gone()) {
		draw_if_due(t, &ui);
		ret = step(t, &ui);
	}
	t->look = NULL;
	screen_close();
	forget_refusal(&ui);
	return ret;
}
