/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of bbrmon top share.
 */
#ifndef TOOLS_TOP_H
#define TOOLS_TOP_H

#include "filter/filter.h"
#include "sockets/sockets.h"
#include "stream/event_source.h"
#include "top_table.h"

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
/* Groups by this, or not at all. */
void view_group_by(struct view *v, enum group_by by);
/* Shows the connections of a group alone; NULL: all groups again. */
void view_enter(struct view *v, const struct top_group *g);

/* Chooses the columns for a width from what these rows have. */
void view_layout(struct view *v, int width, const struct row *rows, size_t n);

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

#define INTERVAL_MIN_NS (100 * NS_PER_MS)

/* An event_handler; ctx is the struct top. */
bool top_handle_event(void *ctx, const struct origin *origin, const struct bbr_event *e);

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

/* Appends "  piece" if all of it fits. */
void line_add(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The two lines above the table, in ASCII. */
void top_header(const struct top *t, struct line *first, struct line *second, int width);

/* Prints a block of --batch. */
void top_print_block(struct top *t);

#endif
