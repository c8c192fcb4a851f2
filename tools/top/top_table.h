/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The columns of bbrmon top: what they show, how wide they are, and which of them fit into a width.
 */
#ifndef TOOLS_TOP_TABLE_H
#define TOOLS_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "conns/conn_table.h"
#include "event/field.h"
#include "snapshot/grouping.h"

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
	__u32 connections;
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

/*
 * Chooses columns for a width: those that were asked for, the one that is sorted by, then by
 * priority. Widens some to what these rows need. Width 0: all columns.
 */
struct layout_request {
	int width;
	enum column sort;
	const struct column_choice *choice; /* NULL: none */
	bool is_of_groups;
	const struct row *rows;
	size_t n_rows;
};

void layout_choose(struct top_layout *l, const struct layout_request *r);

/* A cell padded to its width; without a row, the column's title. Returns its bytes. */
int cell_format(char buf[CELL_BYTES], const struct top_layout *l, int place,
		const struct cell_style *style, const struct row *row);

/*
 * The state of one connection in pieces of text: the values that every connection has and, between
 * them, the fields of its algorithm.
 */
#define PIECE_LEN 128

/* Hands on the pieces in order: "mode PROBE_BW/3 for 1.5s", "bw 94.5M", ... */
void top_fields(const struct conn *c, __u64 now_ns, void (*put)(void *ctx, const char *piece),
		void *ctx);

#endif
