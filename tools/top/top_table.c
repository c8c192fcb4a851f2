// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "event/event.h"
#include "event/field.h"
#include "top_table.h"

#define SPARK_SLOTS 2 /* of the history in one column: a second */
#define SPARK_MAX 60 /* columns: all of the history */
#define SPARK_ALL 20 /* columns, where there is no width to fill */
#define OWN_PRIORITY 18
#define ENDPOINT_MIN 21
#define ENDPOINT_MAX 47

struct column_def {
	const char *name, *title;
	int min, max; /* width */
	int priority; /* 1 is chosen first */
	bool left; /* left-aligned */
	double (*value)(const struct conn *c); /* to sort by */
	void (*show)(char *buf, size_t size, double value); /* NULL: see cell_text() */
	struct field_of field; /* whose value it is, without value; no key: sorted by its text */
	const struct field *own; /* that defines it; NULL: every connection has it */
};

double value_rate(const struct conn *c)
{
	return c->rate;
}

double value_rtt(const struct conn *c)
{
	return c->e.srtt_us ? c->e.srtt_us : NAN;
}

double value_inflight(const struct conn *c)
{
	return c->inflight;
}

double value_lost_now(const struct conn *c)
{
	return c->lost;
}

double value_retrans_now(const struct conn *c)
{
	return c->retrans;
}

static double value_netns(const struct conn *c)
{
	return c->e.netns;
}

/* The longest in its mode comes first: the one that entered it earliest. */
static double value_time(const struct conn *c)
{
	return c->mode_since_ns ? -(double)c->mode_since_ns : NAN;
}

/* The rate from 0; the RTT between its lowest and its highest, because it is never near 0. */
static void spark_text(char *buf, int width, const struct cell_style *style, const struct conn *c)
{
	float values[SPARK_MAX];
	double lowest = INFINITY, highest = 0;
	__u64 last = style->now_ns / SLOT_NS;

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

#define FIELD(k) .field.key = k

static struct column_def defs[COLUMNS] = {
	[COL_INSTANCE] = { "instance", "INSTANCE", 8, 15, 11, true },
	[COL_PROFILE] = { "profile", "PROFILE", 7, 15, 16, true },
	[COL_LOCAL] = { "local", "LOCAL", ENDPOINT_MIN, ENDPOINT_MAX, 19, true },
	[COL_REMOTE] = { "remote", "REMOTE", ENDPOINT_MIN, ENDPOINT_MAX, 1, true },
	[COL_MODE] = { "mode", "MODE", 10, 24, 2, true },
	[COL_TIME] = { "time", "SINCE", 5, 5, 12, false, value_time },
	[COL_RATE] = { "rate", "RATE", 5, 5, 3, false, value_rate, format_short },
	[COL_BW] = { "bw", "BW", 5, 5, 4, false, .show = format_short, FIELD("bw_bps") },
	[COL_PACING] = { "pacing", "PACE", 5, 5, 14, false, .show = format_short,
			 FIELD("pacing_rate_bps") },
	[COL_RTT] = { "rtt", "RTT", 5, 5, 5, false, value_rtt, format_ms },
	[COL_MIN_RTT] = { "min_rtt", "MIN", 5, 5, 6, false, .show = format_ms,
			  FIELD("min_rtt_us") },
	[COL_INFLIGHT] = { "inflight", "INFL/BDP", 9, 9, 7, false, value_inflight },
	[COL_CWND] = { "cwnd", "CWND", 4, 4, 10, false, .show = format_packets, FIELD("cwnd") },
	[COL_LOST] = { "lost", "LOST", 4, 4, 8, false, .show = format_packets, FIELD("lost") },
	[COL_LOST_NOW] = { "lost+", "+LOS", 4, 4, 17, false, value_lost_now, format_packets },
	[COL_RETRANS] = { "retrans", "RETR", 5, 5, 15, false, .show = format_short,
			  FIELD("bytes_retrans") },
	[COL_RETRANS_NOW] = { "retrans+", "+RETR", 5, 5, 20, false, value_retrans_now,
			      format_short },
	[COL_RECOVERY] = { "recovery", "RECOVERY", 8, 8, 13, true, FIELD("ca_state") },
	[COL_NETNS] = { "netns", "NETNS", 10, 10, 21, false, value_netns },
	[COL_SPARK] = { "", "", 8, SPARK_MAX, 9, true },
};

/* The width that its values need. */
static int width_of(const struct field *f)
{
	int widest = strlen(f->column->title), len = f->unit == FIELD_COUNT ? 4 : 5;

	if (f->unit != FIELD_NAME)
		return len > widest ? len : widest;
	for (int i = 0; i < f->n_names; i++) {
		len = strlen(f->column->cells ? f->column->cells[i] : f->names[i]);
		widest = len > widest ? len : widest;
	}
	return widest;
}

static void add_own(const struct field *f)
{
	for (int i = COL_OWN; i < COL_OWN + OWN_COLUMNS; i++) {
		int width;

		if (defs[i].name && strcmp(defs[i].name, f->key))
			continue;
		width = width_of(f);
		defs[i] = (struct column_def){ .name = f->key,
					       .title = f->column->title,
					       .min = width,
					       .max = width,
					       .priority = OWN_PRIORITY,
					       .left = f->unit == FIELD_NAME,
					       .own = f,
					       FIELD(f->key) };
		return;
	}
}

/* The column's definition. The first call finds the columns that algorithms have. */
static struct column_def *def_of(enum column c)
{
	static bool is_known;

	for (size_t i = 0; !is_known && i < n_algorithms; i++)
		for (int k = 0; k < algorithms[i]->n_fields; k++)
			if (algorithms[i]->fields[k].column)
				add_own(&algorithms[i]->fields[k]);
	is_known = true;
	return &defs[c];
}

/* NAN: not known. */
static double value_of(struct column_def *def, const struct conn *c)
{
	const struct field *f;
	__u64 value;

	if (def->value)
		return def->value(c);
	f = field_of(&def->field, c->algorithm);
	return f && field_value(f, &c->e, &value) ? (double)value : NAN;
}

/* The cell of a name. "-": it is one that only a later version knows. */
static const char *cell_of(const struct field *own, const char *name)
{
	for (int i = 0; i < own->n_names; i++)
		if (own->names[i] && !strcmp(own->names[i], name))
			return own->column->cells ? own->column->cells[i] : name;
	return "-";
}

static void own_text(char *buf, size_t size, struct column_def *def, const struct conn *c)
{
	const struct field *f = field_of(&def->field, c->algorithm);
	double value = value_of(def, c);

	if (isnan(value))
		snprintf(buf, size, "-");
	else if (f->unit == FIELD_NAME)
		snprintf(buf, size, "%s", cell_of(def->own, field_name_of(f, value)));
	else if (field_is_rate(f))
		format_short(buf, size, value);
	else if (f->unit == FIELD_US)
		format_ms(buf, size, value);
	else if (f->unit == FIELD_COUNT)
		format_packets(buf, size, value);
	else
		field_text(buf, size, f, value);
}

static void cell_text(enum column column, char *buf, size_t size, int width,
		      const struct cell_style *style, const struct conn *c)
{
	__u64 until = c->ended_ns ? c->ended_ns : style->now_ns;
	struct column_def *def = def_of(column);
	char bdp[16] = "-";

	switch (column) {
	case COL_INSTANCE:
		format_name(buf, size, c->name);
		break;
	case COL_PROFILE:
		format_name(buf, size, c->profile);
		break;
	case COL_LOCAL:
		format_endpoint_in(buf, size, c->e.laddr, c->e.lport, width, style->utf8);
		break;
	case COL_REMOTE:
		format_endpoint_in(buf, size, c->e.raddr, c->e.rport, width, style->utf8);
		break;
	case COL_MODE:
		if (c->ended_ns)
			snprintf(buf, size, "ended");
		else
			mode_text(buf, (size_t)width < size ? (size_t)width + 1 : size,
				  c->algorithm, &c->e);
		break;
	case COL_TIME:
		if (!c->mode_since_ns || until < c->mode_since_ns)
			snprintf(buf, size, "-");
		else
			format_age(buf, size, until - c->mode_since_ns);
		break;
	case COL_INFLIGHT:
		format_packets(buf, size, c->inflight);
		if (event_bdp(&c->e))
			format_packets(bdp, sizeof(bdp), event_bdp(&c->e));
		snprintf(buf + strlen(buf), size - strlen(buf), "/%s", bdp);
		break;
	case COL_RECOVERY:
		snprintf(buf, size, "%s", event_ca_name(c->e.ca_state));
		break;
	case COL_NETNS:
		snprintf(buf, size, "%u", c->e.netns);
		break;
	case COL_SPARK:
		spark_text(buf, width, style, c);
		break;
	default:
		if (def->own)
			own_text(buf, size, def, c);
		else
			def->show(buf, size, value_of(def, c));
	}
}

bool column_has_finding(enum column column, const struct conn *c)
{
	struct column_def *def = def_of(column);
	const struct field *f = def->own ? field_of(&def->field, c->algorithm) : NULL;

	return f && f->finding && finding_is_made(f, &c->e);
}

const struct field_column *column_own(enum column column)
{
	const struct field *own = def_of(column)->own;

	return own ? own->column : NULL;
}

const char *column_title(enum column c, const struct cell_style *style)
{
	if (c == COL_SPARK)
		return style->rtt_line ? "RTT" : "RATE";
	return def_of(c)->title;
}

enum column column_by_name(const char *name)
{
	for (int i = 0; i < COL_SPARK; i++)
		if (def_of(i)->name && !strcasecmp(defs[i].name, name))
			return i;
	return COLUMNS;
}

enum column column_next(enum column c, int step)
{
	do
		c = (c + step + COL_SPARK) % COL_SPARK;
	while (!def_of(c)->name);
	return c;
}

void print_column_names(char *buf, size_t size)
{
	size_t len = 0;

	for (int i = 0; i < COL_SPARK && len < size; i++)
		if (def_of(i)->name)
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
		if (a->algorithm != b->algorithm)
			return strcmp(a->algorithm->name, b->algorithm->name);
		if (a->e.mode != b->e.mode)
			return a->e.mode - b->e.mode;
		return a->e.phase - b->e.phase;
	default:
		return 0;
	}
}

int column_compare(enum column column, const struct conn *a, const struct conn *b)
{
	struct column_def *def = def_of(column);
	double x, y;

	if (!def->value && !def->field.key)
		return compare_text(column, a, b);
	x = value_of(def, a);
	y = value_of(def, b);
	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return x > y ? -1 : x < y;
}

/* Chooses the columns that the width has room for. Returns the width that they use. */
static int choose(bool chosen[COLUMNS], const int wide[COLUMNS], int width, enum column sort)
{
	int used = wide[sort];

	memset(chosen, 0, COLUMNS * sizeof(*chosen));
	chosen[sort] = true;
	for (int priority = 1; priority <= COLUMNS; priority++) {
		for (int i = 0; i < COLUMNS; i++) {
			if (defs[i].priority != priority || chosen[i] || !wide[i])
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

		cell_text(column, text, sizeof(text), defs[column].max, &style, rows[i]);
		len = strlen(text);
		if (len > widest)
			widest = len;
	}
	return widest;
}

/* True if any of these rows has such a column. Without rows, the first algorithm counts. */
static bool has_own(struct column_def *def, struct conn *const *rows, size_t n_rows)
{
	if (!n_rows)
		return field_find(algorithms[0], def->name);
	for (size_t i = 0; i < n_rows; i++)
		if (field_of(&def->field, rows[i]->algorithm))
			return true;
	return false;
}

void layout_choose(struct top_layout *l, int width, enum column sort, struct conn *const *rows,
		   size_t n_rows)
{
	static const enum column endpoints[] = { COL_REMOTE, COL_LOCAL };
	int wide[COLUMNS], used, x = 0;
	bool chosen[COLUMNS];

	for (int i = 0; i < COLUMNS; i++) {
		struct column_def *def = def_of(i);
		bool is_there = !def->own || i == (int)sort || has_own(def, rows, n_rows);

		wide[i] = is_there ? def->min : 0;
	}
	wide[COL_INSTANCE] = needed(COL_INSTANCE, rows, n_rows);
	wide[COL_PROFILE] = needed(COL_PROFILE, rows, n_rows);
	wide[COL_MODE] = needed(COL_MODE, rows, n_rows);
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

/* The columns of a UTF-8 text: bytes that continue a character have none. */
static int columns_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

int cell_format(char buf[CELL_BYTES], const struct top_layout *l, int place,
		const struct cell_style *style, const struct conn *c)
{
	enum column column = l->place[place].column;
	int width = l->place[place].width, space;
	bool left = defs[column].left;
	char text[CELL_BYTES - 64];

	if (c)
		cell_text(column, text, sizeof(text), width, style, c);
	else
		snprintf(text, sizeof(text), "%s", column_title(column, style));
	space = width - columns_of(text);
	if (space < 0)
		space = 0;
	return sprintf(buf, "%*s%s%*s", left ? 0 : space, "", text, left ? space : 0, "");
}
