// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "event/event.h"
#include "event/field.h"
#include "top.h"

#define SPARK_SLOTS 2 /* of the history in one column: a second */
#define OWN_PRIORITY 17
#define ENDPOINT_MIN 21
#define ENDPOINT_MAX 47
#define SERVICE_MAX 20
#define GROUP_MIN 18
#define GROUP_MAX 60

static void show_share(char *buf, size_t size, double value)
{
	if (isnan(value))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.0f%%", 100 * value);
}

/* The rate from 0; the RTT between its lowest and its highest, because it is never near 0. */
static void spark_text(char *buf, int width, const struct cell_style *style, const struct conn *c)
{
	float values[SPARK_MAX];
	double lowest = INFINITY;
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
	}
	sparkline(buf, values, width, style->rtt_line ? lowest : 0, scale_top(values, width),
		  style->utf8);
}

#define FIELD(k) .field.key = k

static struct column_def defs[COLUMNS] = {
	[COL_GROUP] = { "group", "GROUP", GROUP_MIN, GROUP_MAX, 0, true,
			"what its connections have in common: key b" },
	[COL_CONNS] = { "conns", "CONNS", 5, 5, 0, false, "connections", SUM, format_packets,
			FIELD("connections") },
	[COL_INSTANCE] = { "instance", "INSTANCE", 8, 15, 11, true, "congestion control" },
	[COL_PROFILE] = { "profile", "PROFILE", 7, 15, 16, true, "profile of parameters" },
	[COL_LOCAL] = { "local", "LOCAL", ENDPOINT_MIN, ENDPOINT_MAX, 19, true, "this end" },
	[COL_REMOTE] = { "remote", "REMOTE", ENDPOINT_MIN, ENDPOINT_MAX, 1, true, "the other end" },
	[COL_SERVICE] = { "service", "SERVICE", 7, SERVICE_MAX, 12, true,
			  "unit of systemd, or cgroup, that made it" },
	[COL_PROCESS] = { "process", "PROCESS", 7, SERVICE_MAX, 0, true,
			  "the process that has it open; only with --columns" },
	[COL_MODE] = { "mode", "MODE", 10, 24, 2, true, "mode, and phase of PROBE_BW" },
	[COL_TIME] = { "time", "SINCE", 5, 5, 13, false, "time in the mode", NOT_SUMMED,
		       FIELD("mode_ms") },
	[COL_RATE] = { "rate", "RATE", 5, 5, 3, false,
		       "delivered in the last interval, bits per second", SUM, format_short,
		       FIELD("rate_bps") },
	[COL_BW] = { "bw", "BW", 5, 5, 4, false, "estimate of the bandwidth, bits per second", SUM,
		     format_short, FIELD("bw_bps") },
	[COL_PACING] = { "pacing", "PACE", 5, 5, 15, false, "pacing rate, bits per second", SUM,
			 format_short, FIELD("pacing_rate_bps") },
	[COL_RTT] = { "rtt", "RTT", 5, 5, 5, false, "smoothed RTT, milliseconds", MEAN, format_ms,
		      FIELD("srtt_us") },
	[COL_MIN_RTT] = { "min_rtt", "MIN", 5, 5, 6, false, "min_rtt, milliseconds", MEAN,
			  format_ms, FIELD("min_rtt_us") },
	[COL_INFLIGHT] = { "inflight", "INFL/BDP", 9, 9, 7, false,
			   "packets: the most in flight in the interval, bw x min_rtt", SUM,
			   format_packets, FIELD("inflight_max") },
	[COL_CWND] = { "cwnd", "CWND", 4, 4, 10, false, "window, packets", SUM, format_packets,
		       FIELD("cwnd") },
	[COL_LOST] = { "lost", "LOST", 4, 4, 8, false, "packets marked lost, in all", SUM,
		       format_packets, FIELD("lost") },
	[COL_LOST_NOW] = { "lost+", "+LOS", 4, 4, 18, false, "the same, in the last interval", SUM,
			   format_packets, FIELD("lost_interval") },
	[COL_RETRANS] = { "retrans", "RETR", 5, 5, 16, false, "bytes sent again, in all", SUM,
			  format_short, FIELD("bytes_retrans") },
	[COL_RETRANS_NOW] = { "retrans+", "+RETR", 5, 5, 21, false,
			      "the same, in the last interval", SUM, format_short,
			      FIELD("bytes_retrans_interval") },
	[COL_RWND] = { "rwnd", "RWND", 4, 4, 19, false,
		       "share of its busy time: the receiver's window was full", MEAN, show_share,
		       FIELD("rwnd_limited") },
	[COL_SNDBUF] = { "sndbuf", "SNDB", 4, 4, 20, false, "the same: its send buffer was full",
			 MEAN, show_share, FIELD("sndbuf_limited") },
	[COL_RECOVERY] = { "recovery", "RECOVERY", 8, 8, 14, true, "loss recovery", NOT_SUMMED,
			   FIELD("ca_state") },
	[COL_NETNS] = { "netns", "NETNS", 10, 10, 22, false,
			"inode number of its network namespace", NOT_SUMMED },
	[COL_MPTCP] = { "mptcp", "MPTCP", 12, 12, 16, true,
			"of a subflow: token of its MPTCP connection, id of its address",
			NOT_SUMMED, FIELD("mptcp_token") },
	[COL_SPARK] = { "line", "", 8, SPARK_MAX, 9, true,
			"the last seconds; an arrow is beyond the scale" },
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
					       .help = f->column->help,
					       .own = f,
					       FIELD(f->key) };
		return;
	}
}

/* The column's definition. The first call finds the columns that algorithms have. */
struct column_def *column_def(enum column c)
{
	static bool is_known;

	for (size_t i = 0; !is_known && i < n_algorithms; i++)
		for (int k = 0; k < algorithms[i]->n_fields; k++)
			if (algorithms[i]->fields[k].column)
				add_own(&algorithms[i]->fields[k]);
	is_known = true;
	return &defs[c];
}

static double value_of(enum column column, const struct conn *c)
{
	const struct field *f;
	__u64 value;

	switch (column) {
	case COL_CONNS:
		return 1;
	case COL_TIME: /* the longest in its mode comes first: the one that entered it earliest */
		return c->mode_since_ns ? -(double)c->mode_since_ns : NAN;
	case COL_RATE:
		return c->rate;
	case COL_RTT:
		return c->e.srtt_us ? c->e.srtt_us : NAN;
	case COL_INFLIGHT:
		return c->inflight;
	case COL_LOST_NOW:
		return c->lost;
	case COL_RETRANS_NOW:
		return c->retrans;
	case COL_RWND:
		return c->rwnd_share;
	case COL_SNDBUF:
		return c->sndbuf_share;
	case COL_NETNS:
		return c->e.netns;
	case COL_MPTCP:
		return c->places & BBR_PLACE_MPTCP ? c->mptcp_token : NAN;
	default:
		f = field_of(&column_def(column)->field, c->algorithm);
		return f && field_value(f, &c->e, &value) ? (double)value : NAN;
	}
}

void top_group_add(struct top_group *g, const struct conn *c)
{
	for (int i = 0; i < COLUMNS; i++) {
		double value = column_def(i)->summing ? value_of(i, c) : NAN;

		if (isnan(value))
			continue;
		g->sum[i] += value;
		g->known[i]++;
	}
}

void top_group_merge(void *to, const void *from)
{
	const struct top_group *g = from;
	struct top_group *sum = to;

	for (int i = 0; i < COLUMNS; i++) {
		sum->sum[i] += g->sum[i];
		sum->known[i] += g->known[i];
	}
}

double column_value(enum column c, const struct row *row)
{
	enum summing summing = column_def(c)->summing;
	const struct top_group *g = row->group;

	if (row->conn)
		return value_of(c, row->conn);
	if (!summing || !g->known[c])
		return NAN;
	return summing == SUM ? g->sum[c] : g->sum[c] / g->known[c];
}

/* The name that the column shows; NULL: it shows something else. */
static const char *name_in(enum column column, const struct conn *c)
{
	return column == COL_INSTANCE ? c->name :
	       column == COL_PROFILE  ? c->profile :
	       column == COL_SERVICE  ? c->service :
	       column == COL_PROCESS  ? c->process :
					NULL;
}

static int compare_endpoint(const __u32 a[4], __u16 aport, const __u32 b[4], __u16 bport)
{
	int order = memcmp(a, b, 4 * sizeof(*a));

	return order ? order : ntohs(aport) - ntohs(bport);
}

static int compare_text(enum column column, const struct conn *a, const struct conn *b)
{
	switch (column) {
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
		return name_in(column, a) ? strcmp(name_in(column, a), name_in(column, b)) : 0;
	}
}

/* Numbers are on the right; names that stand for a number have its key. */
bool column_is_number(enum column c)
{
	return !column_def(c)->left || column_def(c)->field.key;
}

int column_compare(enum column column, const struct row *a, const struct row *b, bool reverse)
{
	int sign = reverse ? -1 : 1;
	double x, y;

	if (!column_is_number(column))
		return a->conn ? sign * compare_text(column, a->conn, b->conn) :
				 sign * strcmp(a->group->group.label, b->group->group.label);
	x = column_value(column, a);
	y = column_value(column, b);
	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return x > y ? -sign : x < y ? sign : 0;
}

/* The cell of a name. "-": it is one that only a later version knows. */
static const char *cell_of(const struct field *own, const char *name)
{
	for (int i = 0; i < own->n_names; i++)
		if (own->names[i] && !strcmp(own->names[i], name))
			return own->column->cells ? own->column->cells[i] : name;
	return "-";
}

static void own_text(char *buf, size_t size, struct column_def *def, const struct conn *c,
		     double value)
{
	const struct field *f = field_of(&def->field, c->algorithm);

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

static void conn_text(enum column column, char *buf, size_t size, int width,
		      const struct cell_style *style, const struct conn *c)
{
	const size_t room = (size_t)width < size ? (size_t)width + 1 : size;
	__u64 until = c->ended_ns ? c->ended_ns : style->now_ns;
	struct column_def *def = column_def(column);
	char bdp[16] = "-";

	switch (column) {
	case COL_INSTANCE:
	case COL_PROFILE:
	case COL_SERVICE:
	case COL_PROCESS:
		format_name(buf, room, name_in(column, c));
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
			mode_text(buf, room, c->algorithm, &c->e);
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
	case COL_MPTCP:
		if (c->places & BBR_PLACE_MPTCP)
			snprintf(buf, size, "%x/%u", c->mptcp_token, c->mptcp_local_id);
		else
			snprintf(buf, size, "-");
		break;
	case COL_SPARK:
		spark_text(buf, width, style, c);
		break;
	default:
		if (def->own)
			own_text(buf, size, def, c, value_of(column, c));
		else
			def->show(buf, size, value_of(column, c));
	}
}

void cell_text(enum column column, char *buf, size_t size, int width,
	       const struct cell_style *style, const struct row *row)
{
	struct column_def *def = column_def(column);

	if (row->conn) {
		conn_text(column, buf, size, width, style, row->conn);
	} else if (column == COL_GROUP) {
		const char *label = group_shown(&row->group->group);
		size_t len = strlen(label), room = width;

		if (len <= room)
			snprintf(buf, size, "%s", label);
		else /* the end of a path stays */
			snprintf(buf, size, "%s%s", style->utf8 ? "…" : "~",
				 label + len - room + 1);
	} else if (def->show) {
		def->show(buf, size, column_value(column, row));
	} else {
		snprintf(buf, size, "-");
	}
}

bool column_has_finding(enum column column, const struct conn *c)
{
	struct column_def *def = column_def(column);
	const struct field *f = def->own ? field_of(&def->field, c->algorithm) : NULL;

	return f && f->finding && finding_is_made(f, &c->e);
}

const char *column_title(enum column c, const struct cell_style *style)
{
	if (c == COL_SPARK)
		return style->rtt_line ? "RTT" : "RATE";
	return column_def(c)->title;
}

enum column column_by_name(const char *name)
{
	for (int i = 0; i < COLUMNS; i++)
		if (column_def(i)->name &&
		    (!strcasecmp(defs[i].name, name) ||
		     (defs[i].field.key && !strcmp(defs[i].field.key, name))))
			return i;
	return COLUMNS;
}
