// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "event.h"
#include "sparkline.h"
#include "top_table.h"

#define SPARK_SLOTS 2 /* of the history in one column: a second */
#define SPARK_MAX 60 /* columns: all of the history */
#define SPARK_ALL 20 /* columns, where there is no width to fill */
#define ENDPOINT_MIN 21
#define ENDPOINT_MAX 47

struct column_def {
	const char *name, *title;
	int min, max; /* width */
	int priority; /* 1 is chosen first */
	bool left; /* aligned so, and sorted as text */
	void (*format)(char *buf, size_t size, int width, const struct cell_style *style,
		       const struct conn *c);
	double (*value)(const struct conn *c); /* to sort by; NULL: the text, or not at all */
};

void format_short(char *buf, size_t size, double value)
{
	static const char prefix[] = "\0kMGTPE";
	int i = 0;

	if (isnan(value)) {
		snprintf(buf, size, "-");
		return;
	}
	while (value >= 999.5 && prefix[i + 1]) {
		value /= 1000;
		i++;
	}
	if (value >= 999.5)
		value = 999;
	snprintf(buf, size, "%.*f%.1s",
		 !i || value >= 99.95 ? 0 :
		 value >= 9.995	      ? 1 :
					2,
		 value, &prefix[i]);
}

void format_ms(char *buf, size_t size, double us)
{
	double ms = us / 1000;

	if (isnan(us))
		snprintf(buf, size, "-");
	else if (ms >= 99999.5)
		snprintf(buf, size, "%.0fs", ms / 1000);
	else
		snprintf(buf, size, "%.*f",
			 ms < 0.9995 ? 3 :
			 ms < 9.995  ? 2 :
			 ms < 99.95  ? 1 :
				       0,
			 ms);
}

void format_age(char *buf, size_t size, __u64 ns)
{
	unsigned long long s = ns / NS_PER_S;

	if (s < 60)
		snprintf(buf, size, "%llu.%llus", s, ns / (NS_PER_S / 10) % 10);
	else if (s < 3600)
		snprintf(buf, size, "%llum%02llu", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%lluh%02llu", s / 3600, s / 60 % 60);
	else
		snprintf(buf, size, "%llud", s / 86400 < 9999 ? s / 86400 : 9999);
}

void format_name(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "%s", *name ? name : "-");
	for (; *buf; buf++)
		if (!isgraph((unsigned char)*buf))
			*buf = '?';
}

void format_mode(char *buf, size_t size, const struct conn *c)
{
	if (c->e.mode == BBR_PROBE_BW)
		snprintf(buf, size, "%s/%u", event_mode_name(c->e.mode), c->e.cycle_idx & 7);
	else
		snprintf(buf, size, "%s", event_mode_name(c->e.mode));
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The address without some groups in its middle, as many as it must be: "2001:db8:…:7:1". */
static void shorten_address(char *addr, size_t room, const char *gap)
{
	size_t len = strlen(addr), best_head = 0, best_tail = 0;
	char whole[ADDRESS_TEXT_LEN];

	snprintf(whole, sizeof(whole), "%s", addr);
	for (size_t head = 1; head < len; head++) {
		if (whole[head - 1] != ':')
			continue;
		for (size_t tail = len - 1; tail > head; tail--) {
			size_t n = len - tail;

			if (whole[tail] != ':')
				continue;
			/* Of two of the same length the one that leaves more of both ends. */
			if (head + n + 1 <= room &&
			    (head + n > best_head + best_tail ||
			     (head + n == best_head + best_tail &&
			      smaller(head, n) > smaller(best_head, best_tail)))) {
				best_head = head;
				best_tail = n;
			}
		}
	}
	sprintf(addr, "%.*s%s%s", (int)best_head, whole, gap, whole + len - best_tail);
}

void format_endpoint_in(char *buf, size_t size, const __u32 addr[4], __u16 port, int width,
			bool utf8)
{
	char text[ADDRESS_TEXT_LEN], end[8];
	size_t room;

	format_endpoint(buf, size, addr, port);
	if (strlen(buf) <= (size_t)width)
		return;
	snprintf(end, sizeof(end), ":%u", ntohs(port));
	room = width - strlen(end) - 2;
	format_address(text, sizeof(text), addr);
	shorten_address(text, room, utf8 ? "…" : "~");
	snprintf(buf, size, "[%s]%s", text, end);
}

#define CELL(name)                                                                          \
	static void name(char *buf, size_t size, int width, const struct cell_style *style, \
			 const struct conn *c)
#define UNUSED_STYLE         \
	do {                 \
		(void)width; \
		(void)style; \
	} while (0)

CELL(cell_instance)
{
	UNUSED_STYLE;
	format_name(buf, size, c->name);
}

CELL(cell_profile)
{
	UNUSED_STYLE;
	format_name(buf, size, c->profile);
}

CELL(cell_local)
{
	format_endpoint_in(buf, size, c->e.laddr, c->e.lport, width, style->utf8);
}

CELL(cell_remote)
{
	format_endpoint_in(buf, size, c->e.raddr, c->e.rport, width, style->utf8);
}

CELL(cell_mode)
{
	UNUSED_STYLE;
	if (c->ended_ns)
		snprintf(buf, size, "ended");
	else
		format_mode(buf, size, c);
}

CELL(cell_time)
{
	__u64 until = c->ended_ns ? c->ended_ns : style->now_ns;

	(void)width;
	if (!c->mode_since_ns || until < c->mode_since_ns)
		snprintf(buf, size, "-");
	else
		format_age(buf, size, until - c->mode_since_ns);
}

static double value_rate(const struct conn *c)
{
	return c->rate;
}

static double value_bw(const struct conn *c)
{
	return event_bps(&c->e, c->e.bw);
}

static double value_pacing(const struct conn *c)
{
	return event_pacing_bps(&c->e);
}

static double value_rtt(const struct conn *c)
{
	return c->e.srtt_us ? c->e.srtt_us : NAN;
}

static double value_min_rtt(const struct conn *c)
{
	return c->e.min_rtt_us == BBR_RTT_NONE ? NAN : c->e.min_rtt_us;
}

static double value_inflight(const struct conn *c)
{
	return c->inflight;
}

static double value_cwnd(const struct conn *c)
{
	return c->e.cwnd;
}

static double value_lost(const struct conn *c)
{
	return c->e.lost;
}

static double value_lost_now(const struct conn *c)
{
	return c->lost;
}

static double value_retrans(const struct conn *c)
{
	return c->e.bytes_retrans;
}

static double value_retrans_now(const struct conn *c)
{
	return c->retrans;
}

static double value_recovery(const struct conn *c)
{
	return c->e.ca_state;
}

static double value_policer(const struct conn *c)
{
	return c->e.flags & BBR_F_LT_USE_BW ? 2 : !!(c->e.flags & BBR_F_LT_SAMPLING);
}

static double value_netns(const struct conn *c)
{
	return c->e.netns;
}

/* The longest in its mode, at the same time: the earliest. */
static double value_time(const struct conn *c)
{
	return c->mode_since_ns ? -(double)c->mode_since_ns : NAN;
}

CELL(cell_rate)
{
	UNUSED_STYLE;
	format_short(buf, size, c->rate);
}

CELL(cell_bw)
{
	UNUSED_STYLE;
	format_short(buf, size, value_bw(c));
}

CELL(cell_pacing)
{
	UNUSED_STYLE;
	format_short(buf, size, value_pacing(c));
}

CELL(cell_rtt)
{
	UNUSED_STYLE;
	format_ms(buf, size, value_rtt(c));
}

CELL(cell_min_rtt)
{
	UNUSED_STYLE;
	format_ms(buf, size, value_min_rtt(c));
}

/* In four columns. */
static void format_packets(char *buf, size_t size, __u32 n)
{
	static const char prefix[] = "kMG";
	double value = n;
	int i = 0;

	if (n < 10000) {
		snprintf(buf, size, "%u", n);
		return;
	}
	for (value /= 1000; value >= 999.5 && i < 2; i++)
		value /= 1000;
	snprintf(buf, size, "%.*f%c", value < 9.95, value, prefix[i]);
}

CELL(cell_inflight)
{
	char inflight[16], bdp[16] = "-";

	UNUSED_STYLE;
	format_packets(inflight, sizeof(inflight), c->inflight);
	if (event_bdp(&c->e))
		format_packets(bdp, sizeof(bdp), event_bdp(&c->e));
	snprintf(buf, size, "%s/%s", inflight, bdp);
}

CELL(cell_cwnd)
{
	UNUSED_STYLE;
	format_packets(buf, size, c->e.cwnd);
}

CELL(cell_lost)
{
	UNUSED_STYLE;
	format_packets(buf, size, c->e.lost);
}

CELL(cell_lost_now)
{
	UNUSED_STYLE;
	format_packets(buf, size, c->lost);
}

CELL(cell_retrans)
{
	UNUSED_STYLE;
	format_short(buf, size, c->e.bytes_retrans);
}

CELL(cell_retrans_now)
{
	UNUSED_STYLE;
	format_short(buf, size, c->retrans);
}

CELL(cell_recovery)
{
	UNUSED_STYLE;
	snprintf(buf, size, "%s", event_ca_name(c->e.ca_state));
}

CELL(cell_policer)
{
	UNUSED_STYLE;
	snprintf(buf, size, "%s",
		 c->e.flags & BBR_F_LT_USE_BW	? "yes" :
		 c->e.flags & BBR_F_LT_SAMPLING ? "?" :
						  "-");
}

CELL(cell_netns)
{
	UNUSED_STYLE;
	snprintf(buf, size, "%u", c->e.netns);
}

/* The rate from 0 on; the RTT between its lowest and its highest, as it is never near 0. */
CELL(cell_spark)
{
	float values[SPARK_MAX];
	double lowest = INFINITY, highest = 0;
	__u64 last = style->now_ns / SLOT_NS;

	(void)size;
	for (int i = 0; i < width; i++) {
		__u64 back = (__u64)(width - i) * SPARK_SLOTS;
		struct sample s;

		values[i] = NAN;
		if (c->history && back <= last &&
		    history_get(c->history, last - back, SPARK_SLOTS, &s))
			values[i] = style->rtt_line ? s.rtt_us : s.rate;
		if (values[i] < lowest)
			lowest = values[i];
		if (values[i] > highest)
			highest = values[i];
	}
	sparkline(buf, values, width, style->rtt_line ? lowest : 0, highest, style->utf8);
}

static const struct column_def defs[COLUMNS] = {
	[COL_INSTANCE] = { "instance", "INSTANCE", 8, 15, 11, true, cell_instance, NULL },
	[COL_PROFILE] = { "profile", "PROFILE", 7, 15, 16, true, cell_profile, NULL },
	[COL_LOCAL] = { "local", "LOCAL", ENDPOINT_MIN, ENDPOINT_MAX, 19, true, cell_local, NULL },
	[COL_REMOTE] = { "remote", "REMOTE", ENDPOINT_MIN, ENDPOINT_MAX, 1, true, cell_remote,
			 NULL },
	[COL_MODE] = { "mode", "MODE", 10, 10, 2, true, cell_mode, NULL },
	[COL_TIME] = { "time", "SINCE", 5, 5, 12, false, cell_time, value_time },
	[COL_RATE] = { "rate", "RATE", 5, 5, 3, false, cell_rate, value_rate },
	[COL_BW] = { "bw", "BW", 5, 5, 4, false, cell_bw, value_bw },
	[COL_PACING] = { "pacing", "PACE", 5, 5, 14, false, cell_pacing, value_pacing },
	[COL_RTT] = { "rtt", "RTT", 5, 5, 5, false, cell_rtt, value_rtt },
	[COL_MIN_RTT] = { "min_rtt", "MIN", 5, 5, 6, false, cell_min_rtt, value_min_rtt },
	[COL_INFLIGHT] = { "inflight", "INFL/BDP", 9, 9, 7, false, cell_inflight, value_inflight },
	[COL_CWND] = { "cwnd", "CWND", 4, 4, 10, false, cell_cwnd, value_cwnd },
	[COL_LOST] = { "lost", "LOST", 4, 4, 8, false, cell_lost, value_lost },
	[COL_LOST_NOW] = { "lost+", "+LOS", 4, 4, 17, false, cell_lost_now, value_lost_now },
	[COL_RETRANS] = { "retrans", "RETR", 5, 5, 15, false, cell_retrans, value_retrans },
	[COL_RETRANS_NOW] = { "retrans+", "+RETR", 5, 5, 20, false, cell_retrans_now,
			      value_retrans_now },
	[COL_RECOVERY] = { "recovery", "RECOVERY", 8, 8, 13, true, cell_recovery, value_recovery },
	[COL_POLICER] = { "policer", "POL", 3, 3, 18, true, cell_policer, value_policer },
	[COL_NETNS] = { "netns", "NETNS", 10, 10, 21, false, cell_netns, value_netns },
	[COL_SPARK] = { "", "", 8, SPARK_MAX, 9, true, cell_spark, NULL },
};

const char *column_title(enum column c, const struct cell_style *style)
{
	if (c == COL_SPARK)
		return style->rtt_line ? "RTT" : "RATE";
	return defs[c].title;
}

enum column column_by_name(const char *name)
{
	for (int i = 0; i < COL_SPARK; i++)
		if (!strcasecmp(defs[i].name, name))
			return i;
	return COLUMNS;
}

enum column column_next(enum column c, int step)
{
	return (c + step + COL_SPARK) % COL_SPARK;
}

void print_column_names(char *buf, size_t size)
{
	size_t len = 0;

	for (int i = 0; i < COL_SPARK && len < size; i++)
		len += snprintf(buf + len, size - len, i ? ", %s" : "%s", defs[i].name);
}

static int compare_endpoint(const __u32 a[4], __u16 aport, const __u32 b[4], __u16 bport)
{
	int order = memcmp(a, b, 4 * sizeof(*a));

	return order ? order : ntohs(aport) - ntohs(bport);
}

static int compare_text(enum column column, const struct conn *a, const struct conn *b)
{
	switch (column) {
	case COL_INSTANCE:
		return strcmp(a->name, b->name);
	case COL_PROFILE:
		return strcmp(a->profile, b->profile);
	case COL_LOCAL:
		return compare_endpoint(a->e.laddr, a->e.lport, b->e.laddr, b->e.lport);
	case COL_REMOTE:
		return compare_endpoint(a->e.raddr, a->e.rport, b->e.raddr, b->e.rport);
	case COL_MODE:
		if (a->e.mode != b->e.mode)
			return a->e.mode - b->e.mode;
		return a->e.cycle_idx - b->e.cycle_idx;
	default:
		return 0;
	}
}

int column_compare(enum column column, const struct conn *a, const struct conn *b)
{
	double x, y;

	if (!defs[column].value)
		return compare_text(column, a, b);
	x = defs[column].value(a);
	y = defs[column].value(b);
	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return x > y ? -1 : x < y;
}

/* Columns that the width has room for, at their least width. */
static int choose(bool chosen[COLUMNS], const int wide[COLUMNS], int width, enum column sort)
{
	int used = wide[sort];

	memset(chosen, 0, COLUMNS * sizeof(*chosen));
	chosen[sort] = true;
	for (int priority = 1; priority <= COLUMNS; priority++) {
		for (int i = 0; i < COLUMNS; i++) {
			if (defs[i].priority != priority || chosen[i])
				continue;
			if (width && used + 1 + wide[i] > width)
				continue;
			chosen[i] = true;
			used += 1 + wide[i];
		}
	}
	return used;
}

static int needed(enum column column, struct conn *const *rows, size_t n_rows)
{
	const struct cell_style style = {};
	int widest = defs[column].min;

	for (size_t i = 0; i < n_rows && widest < defs[column].max; i++) {
		char text[CELL_BYTES];
		int len;

		defs[column].format(text, sizeof(text), defs[column].max, &style, rows[i]);
		len = strlen(text);
		if (len > widest)
			widest = len;
	}
	return widest;
}

void layout_choose(struct layout *l, int width, enum column sort, struct conn *const *rows,
		   size_t n_rows)
{
	static const enum column endpoints[] = { COL_REMOTE, COL_LOCAL };
	int wide[COLUMNS], used, x = 0;
	bool chosen[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		wide[i] = defs[i].min;
	wide[COL_INSTANCE] = needed(COL_INSTANCE, rows, n_rows);
	wide[COL_PROFILE] = needed(COL_PROFILE, rows, n_rows);
	used = choose(chosen, wide, width, sort);
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
		enum column column = endpoints[i];
		int more = chosen[column] ? needed(column, rows, n_rows) - wide[column] : 0;

		if (width && more > width - used)
			more = width - used;
		wide[column] += more;
		used += more;
	}
	if (!width)
		wide[COL_SPARK] = SPARK_ALL;
	else
		wide[COL_SPARK] += width - used;
	if (wide[COL_SPARK] > SPARK_MAX)
		wide[COL_SPARK] = SPARK_MAX;
	l->n = 0;
	for (int i = 0; i < COLUMNS; i++) {
		if (!chosen[i])
			continue;
		l->place[l->n].column = i;
		l->place[l->n].x = x;
		l->place[l->n].width = wide[i];
		l->n++;
		x += wide[i] + 1;
	}
}

/* What is not one byte a column is UTF-8: bytes that continue a character have none. */
static int columns_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static int pad(char buf[CELL_BYTES], const char *text, int width, bool left)
{
	int space = width - columns_of(text);

	if (space < 0)
		space = 0;
	return sprintf(buf, "%*s%s%*s", left ? 0 : space, "", text, left ? space : 0, "");
}

int cell_format(char buf[CELL_BYTES], const struct layout *l, int place,
		const struct cell_style *style, const struct conn *c)
{
	const struct column_def *def = &defs[l->place[place].column];
	char text[CELL_BYTES - 64];

	def->format(text, sizeof(text), l->place[place].width, style, c);
	return pad(buf, text, l->place[place].width, def->left);
}

int title_format(char buf[CELL_BYTES], const struct layout *l, int place,
		 const struct cell_style *style)
{
	enum column column = l->place[place].column;

	return pad(buf, column_title(column, style), l->place[place].width, defs[column].left);
}
