/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The columns of bbrmon top: what they show, how wide they are, and which of them fit into a width.
 */
#ifndef TOOLS_TOP_TABLE_H
#define TOOLS_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "conns/conn_table.h"

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
 * Draws n values, scaled between lowest and highest, into buf, which has room for n * 3 + 1 bytes.
 * Unknown values (NAN) are blanks.
 */
void sparkline(char *buf, const float *values, int n, double lowest, double highest, bool utf8);

#define OWN_COLUMNS 8 /* at most */

enum column {
	COL_INSTANCE,
	COL_PROFILE,
	COL_LOCAL,
	COL_REMOTE,
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
	COL_RECOVERY,
	COL_OWN, /* the first of those that algorithms have */
	COL_NETNS = COL_OWN + OWN_COLUMNS,
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

struct top_layout {
	int n;
	struct {
		enum column column;
		int x, width;
	} place[COLUMNS];
};

const char *column_title(enum column c, const struct cell_style *style);
/* Finds a column by its name for --sort; COLUMNS: there is none, or it cannot be sorted by. */
enum column column_by_name(const char *name);
/* The next or previous one that can be sorted by. */
enum column column_next(enum column c, int step);
void print_column_names(char *buf, size_t size);

/* What an algorithm's own column is; NULL: another one, or none. */
const struct field_column *column_own(enum column c);
/* True if the cell shows the field's finding. */
bool column_has_finding(enum column c, const struct conn *conn);

/*
 * What a row has besides the fields of its last event: bits per second, microseconds (NAN: not
 * known), packets; packets and bytes in the last interval.
 */
double value_rate(const struct conn *c);
double value_rtt(const struct conn *c);
double value_inflight(const struct conn *c);
double value_lost_now(const struct conn *c);
double value_retrans_now(const struct conn *c);

/* Compares by a column: the highest number comes first, what is unknown last. */
int column_compare(enum column c, const struct conn *a, const struct conn *b);

/*
 * Chooses columns for a width: always the one that is sorted by, then by priority. Widens some to
 * what these rows need. Width 0: all columns.
 */
void layout_choose(struct top_layout *l, int width, enum column sort, struct conn *const *rows,
		   size_t n_rows);

/* A cell padded to its width; without a connection, the column's title. Returns its bytes. */
int cell_format(char buf[CELL_BYTES], const struct top_layout *l, int place,
		const struct cell_style *style, const struct conn *c);

/*
 * The state of one connection in pieces of text: the values that every connection has and, between
 * them, the fields of its algorithm.
 */
#define PIECE_LEN 128

/* Hands on the pieces in order: "mode PROBE_BW/3 for 1.5s", "bw 94.5M", ... */
void top_fields(const struct conn *c, __u64 now_ns, void (*put)(void *ctx, const char *piece),
		void *ctx);

#endif
