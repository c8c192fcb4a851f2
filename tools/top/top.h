/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of bbrmon top share.
 */
#ifndef TOOLS_TOP_H
#define TOOLS_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "conns/conn_table.h"
#include "descriptor.h"
#include "event/field.h"
#include "filter/filter.h"
#include "snapshot/grouping.h"
#include "sockets/sockets.h"
#include "stream/event_source.h"

/*
 * Values in few columns, as text and as bars, for bbrmon top.
 */
#define BAR_STEPS 8
#define BAR_BYTES 4 /* of one bar, with its closing 0 */

/* "94.5M", at most 5 columns; "-" for NAN. */
void format_short(char *buf, size_t size, double value);
/* Packets, in four columns. */
void format_packets(char *buf, size_t size, double value);
/* Microseconds as milliseconds: "12.3", "0.045". */
void format_ms(char *buf, size_t size, double us);
/* A duration: "1.5s", "3m04", "2h15". */
void format_age(char *buf, size_t size, __u64 ns);
/* An endpoint in `width` columns, at least 21: groups of an IPv6 address may be left out. */
void format_endpoint_in(char *buf, size_t size, const __u32 addr[4], __u16 port, int width,
			bool utf8);
/* A name, with '?' for what a terminal must not get; "-" if it is empty. */
void format_name(char *buf, size_t size, const char *name);

/* A bar of this many eighths of a cell's height, 0 to 8; without UTF-8, a character as heavy. */
const char *bar(int eighths, bool utf8);

/* The height of a value in eighths of `cells` cells, at least one if it is above lowest. NAN: 0. */
int bar_height(double value, double lowest, double highest, int cells);

/*
 * The top of a scale for n values: the highest, or less if a few are far above the rest, which would
 * be flat.
 */
double scale_top(const float *values, int n);

/*
 * Draws n values, scaled between lowest and highest, into buf, which has room for n * 3 + 1 bytes.
 * Unknown values (NAN) are blanks; one above the highest is an arrow.
 */
void sparkline(char *buf, const float *values, int n, double lowest, double highest, bool utf8);

#define OWN_COLUMNS 8 /* at most */

enum column {
	COL_GROUP, /* this and the next only in a list of groups */
	COL_CONNS,
	COL_INSTANCE,
	COL_PROFILE,
	COL_LOCAL,
	COL_REMOTE,
	COL_SERVICE,
	COL_PROCESS,
	COL_MODE,
	COL_TIME,
	COL_RATE,
	COL_BW,
	COL_PACING,
	COL_RTT,
	COL_MIN_RTT,
	COL_INFLIGHT,
	COL_CWND,
	COL_LOST,
	COL_LOST_NOW,
	COL_RETRANS,
	COL_RETRANS_NOW,
	COL_RWND,
	COL_SNDBUF,
	COL_RECOVERY,
	COL_OWN, /* the first of those that algorithms have */
	COL_NETNS = COL_OWN + OWN_COLUMNS,
	COL_MPTCP,
	COL_SPARK,
	COLUMNS,
};

#define CELL_BYTES 256 /* of the widest cell in UTF-8 */

/* How cells look. */
struct cell_style {
	__u64 now_ns;
	bool utf8;
	bool rtt_line; /* the sparkline shows the RTT, not the rate */
};

/* A group of connections: sums of their values, or means. */
struct top_group {
	struct group group;
	double sum[COLUMNS];
	__u32 known[COLUMNS]; /* values in it */
};

void top_group_add(struct top_group *g, const struct conn *c);
void top_group_merge(void *to, const void *from);

/* A row of the list: a connection or, without, a group. */
struct row {
	struct conn *conn;
	const struct top_group *group;
};

/* Columns that were asked for. */
struct column_choice {
	enum column list[COLUMNS];
	int n; /* 0: as the width allows */
	bool is_more; /* these before others, not only these */
};

/* Parses "remote,rate" or "+process". Returns false after printing what is wrong. */
bool option_columns(const char *option, const char *value, void *to);
bool column_is_chosen(const struct column_choice *choice, enum column column);

/*
 * From call to call columns do not come, go or get narrower because other rows are seen, as long as
 * the width, the order and the kind of rows stay.
 */
struct top_layout {
	int n;
	struct {
		enum column column;
		int x, width;
	} place[COLUMNS];

	int made_for; /* the width */
	bool is_of_groups;
	int least[COLUMNS]; /* width so far */
};

#define SPARK_MAX 60 /* columns: all of the history */

enum summing {
	NOT_SUMMED,
	SUM,
	MEAN,
};

struct column_def {
	const char *name, *title;
	int min, max; /* width */
	int priority; /* 1 is chosen first; 0: only if it is asked for */
	bool left; /* left-aligned */
	const char *help; /* what it shows, in a line */
	enum summing summing; /* of a group */
	void (*show)(char *buf, size_t size, double value); /* NULL: see cell_text() */
	/* Its key in JSON; the value is the event's field of this key unless value_of() has it. */
	struct field_of field;
	const struct field *own; /* that defines it; NULL: every connection has it */
};

struct column_def *column_def(enum column c);

/* The text of a cell, in at most `width` columns if the column has no smaller maximum. */
void cell_text(enum column column, char *buf, size_t size, int width,
	       const struct cell_style *style, const struct row *row);

const char *column_title(enum column c, const struct cell_style *style);
/* Finds a column by its name or the JSON key of what it shows; COLUMNS: there is none. */
enum column column_by_name(const char *name);
/* The next or previous one that rows of this kind can be sorted by. */
enum column column_next(enum column c, int step, bool is_of_groups);
/* True if a high number comes first unless something else is asked for. */
bool column_is_number(enum column c);
/* Says that there is no such column, and which ones there are. Returns false. */
bool column_refuse(const char *option, const char *value, const char *name, const char *what_to_do);

/* True if the cell shows the field's finding. */
bool column_has_finding(enum column c, const struct conn *conn);

/* The column's value of a row; NAN: not known, or no number. */
double column_value(enum column c, const struct row *row);

/* Compares by a column: the highest number comes first, or last if reversed; what is unknown last. */
int column_compare(enum column c, const struct row *a, const struct row *b, bool reverse);

/* A cell padded to its width; without a row, the column's title. Returns its bytes. */
int cell_format(char buf[CELL_BYTES], const struct top_layout *l, int place,
		const struct cell_style *style, const struct row *row);

/*
 * Writes the state of a connection in pieces, each after a newline: "mode PROBE_BW/3 for 1.5s", "bw
 * 94.5M", ... These are the values that every connection has and, between them, the fields of its
 * algorithm.
 */
void top_fields(FILE *out, const struct conn *c, __u64 now_ns);

/*
 * Which connections are shown, in which order, and which one is chosen.
 */
#define FILTER_LEN 256

struct view {
	struct row *rows;
	size_t n;
	enum column sort;
	bool reverse;
	struct grouping grouping; /* BY_NONE: rows are connections */
	__u64 largest; /* groups that have a row by themselves; 0: GROUPS_LARGEST */
	struct groups groups; /* struct top_group, those of the rows */
	char *in_group; /* label: only the connections of this group; NULL: all groups */
	struct column_choice choice;
	struct top_layout layout;
	struct filter filter; /* of the rows that are shown; the text "": all are */
	char filter_text[FILTER_LEN];

	__u64 chosen; /* row_serial() of the row that the cursor stays on; 0: it stays where it is */
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

/* The row that the cursor is on; NULL: none is shown. */
const struct row *view_chosen(const struct view *v);

/* True if rows are groups, not connections. */
bool view_has_groups(const struct view *v);
/* Groups by this, or not at all. top_read_names() then reads what the labels need. */
void view_group_by(struct view *v, enum group_by by);
/* Shows the connections of a group alone; NULL: all groups again. */
void view_enter(struct view *v, const struct top_group *g);

/*
 * Chooses the columns for a width: those that were asked for, the one that is sorted by, then by
 * priority. Widens some to what these rows need. Width 0: all columns.
 */
void view_layout(struct view *v, int width, const struct row *rows, size_t n_rows);

/* Scrolls so that the cursor is among the `height` rows that are visible. */
void view_scroll(struct view *v, size_t height);

void view_free(struct view *v);

struct top {
	struct watch_config config;
	bool batch, json, no_colour, reverse;
	__u64 count; /* with --batch: blocks; 0: no limit */
	__u64 width; /* with --batch: columns; 0: no limit */
	__u64 interval_ns;
	const char *filter; /* of the view; NULL: none */

	struct known known; /* what filters may name */
	struct event_source source;
	/* Shows connections without events: all sockets are read now and then. */
	struct sockets sockets;
	bool has_sockets; /* not with a recording, nor if they cannot be read */
	__u64 next_reading_ns; /* no reading of them before this */
	bool is_reading;
	/*
	 * A reading of many connections takes a while, and meanwhile the screen looks at the keys. It
	 * returns false if there is to be no more.
	 */
	bool (*look)(void *ctx); /* NULL: nobody does */
	void *look_ctx;
	__u64 next_look_ns;
	struct conn_table table;
	struct view view;
	struct cell_style style;

	__u64 next_ns; /* the next refresh, in the time of events */
	__u64 last_ns; /* the latest event */
	bool has_news; /* since the last refresh */
	bool is_over; /* the recording is, and its last events are shown */
	__u64 blocks; /* printed so far, with --batch */
	__u64 events, unseen; /* received, and those of them since the pause began */
	bool paused;
};

/* Finds out what rows are called by, from the sockets that were read last. */
void top_read_names(struct top *t);

/* Ends an interval. */
void top_refresh(struct top *t, __u64 now);
/* Ends the interval if it is time. */
void top_follow_now(struct top *t);
/* The time until then, at most `most`. */
int top_wait_ms(const struct top *t, int most);

/* True if --count, a signal or a closed pipe ended it. */
bool top_is_done(const struct top *t);

/* Runs on a terminal, until a key ends it. Returns an exit status. */
int top_run_screen(struct top *t);

struct line {
	char text[512];
	int width; /* columns available; 0: any number */
};

/* Appends "  piece" if all of it fits; else it returns false. */
bool line_add(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The two lines above the table, in ASCII. */
void top_header(const struct top *t, struct line *first, struct line *second, int width);

/* Prints a block of --batch. */
void top_print_block(struct top *t);

/*
 * The terminal. It is given back whatever happens; messages on stderr are kept meanwhile.
 */
#define SCREEN_MIN_WIDTH 40
#define SCREEN_MIN_HEIGHT 6

enum hue {
	HUE_NONE,
	HUE_DIM,
	HUE_TITLE,
	HUE_CURSOR,
	HUE_GREEN,
	HUE_BLUE,
	HUE_CYAN,
	HUE_MAGENTA,
	HUE_WARN,
	HUE_BAD,
	HUES,
};

/* Exit status; has printed what failed unless it is EXIT_DONE. */
int screen_open(bool colour);
void screen_close(void);

/* The next key, which may be one of curses' keys; -1: none now. */
int screen_key(void);

/* True if the terminal has gone. */
bool screen_is_gone(void);

/* Writes text at a place; a line may have several hues. Writes nothing beyond the screen. */
void screen_put(int y, int x, enum hue hue, const char *text);
/* Writes a line of ASCII from the left edge, as much of it as there is room for. */
void screen_put_line(int y, enum hue hue, const char *text);
int screen_attributes(enum hue hue);

/* The hue of an algorithm's mode, by its number. */
enum hue mode_hue(const struct algorithm *a, unsigned int mode);

/* The last message on stderr, for some seconds; NULL: none. */
const char *screen_message(void);

/* Draws the page of a connection; NULL: it has ended. The caller draws the footer. */
void page_draw(const struct top *t, const struct conn *c);

#endif
