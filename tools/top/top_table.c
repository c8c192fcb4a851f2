// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "event/field.h"
#include "top_table.h"

#define SPARK_SLOTS 2 /* of the history in one column: a second */
#define OWN_PRIORITY 17
#define ENDPOINT_MIN 21
#define ENDPOINT_MAX 47
#define SERVICE_MAX 20
#define GROUP_MIN 18
#define GROUP_MAX 60

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

double value_rwnd(const struct conn *c)
{
	return c->rwnd_share;
}

double value_sndbuf(const struct conn *c)
{
	return c->sndbuf_share;
}

static double value_netns(const struct conn *c)
{
	return c->e.netns;
}

static double value_mptcp(const struct conn *c)
{
	return c->places & BBR_PLACE_MPTCP ? c->mptcp_token : NAN;
}

/* The longest in its mode comes first: the one that entered it earliest. */
static double value_time(const struct conn *c)
{
	return c->mode_since_ns ? -(double)c->mode_since_ns : NAN;
}

static void show_share(char *buf, size_t size, double value)
{
	if (isnan(value))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.0f%%", 100 * value);
}

static double value_conns(const struct conn *c)
{
	(void)c;
	return 1;
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
	[COL_CONNS] = { "conns", "CONNS", 5, 5, 0, false, "connections", SUM, value_conns,
			format_packets },
	[COL_INSTANCE] = { "instance", "INSTANCE", 8, 15, 11, true, "congestion control" },
	[COL_PROFILE] = { "profile", "PROFILE", 7, 15, 16, true, "profile of parameters" },
	[COL_LOCAL] = { "local", "LOCAL", ENDPOINT_MIN, ENDPOINT_MAX, 19, true, "this end" },
	[COL_REMOTE] = { "remote", "REMOTE", ENDPOINT_MIN, ENDPOINT_MAX, 1, true, "the other end" },
	[COL_SERVICE] = { "service", "SERVICE", 7, SERVICE_MAX, 12, true,
			  "unit of systemd, or cgroup, that made it" },
	[COL_PROCESS] = { "process", "PROCESS", 7, SERVICE_MAX, 0, true,
			  "the process that has it open; only with --columns" },
	[COL_MODE] = { "mode", "MODE", 10, 24, 2, true, "mode, and phase of PROBE_BW" },
	[COL_TIME] = { "time", "SINCE", 5, 5, 13, false, "time in the mode", NOT_SUMMED, value_time,
		       FIELD("mode_ms") },
	[COL_RATE] = { "rate", "RATE", 5, 5, 3, false,
		       "delivered in the last interval, bits per second", SUM, value_rate,
		       format_short, FIELD("rate_bps") },
	[COL_BW] = { "bw", "BW", 5, 5, 4, false, "estimate of the bandwidth, bits per second", SUM,
		     .show = format_short, FIELD("bw_bps") },
	[COL_PACING] = { "pacing", "PACE", 5, 5, 15, false, "pacing rate, bits per second", SUM,
			 .show = format_short, FIELD("pacing_rate_bps") },
	[COL_RTT] = { "rtt", "RTT", 5, 5, 5, false, "smoothed RTT, milliseconds", MEAN, value_rtt,
		      format_ms, FIELD("srtt_us") },
	[COL_MIN_RTT] = { "min_rtt", "MIN", 5, 5, 6, false, "min_rtt, milliseconds", MEAN,
			  .show = format_ms, FIELD("min_rtt_us") },
	[COL_INFLIGHT] = { "inflight", "INFL/BDP", 9, 9, 7, false,
			   "packets: the most in flight in the interval, bw x min_rtt", SUM,
			   value_inflight, format_packets, FIELD("inflight_max") },
	[COL_CWND] = { "cwnd", "CWND", 4, 4, 10, false, "window, packets", SUM,
		       .show = format_packets, FIELD("cwnd") },
	[COL_LOST] = { "lost", "LOST", 4, 4, 8, false, "packets marked lost, in all", SUM,
		       .show = format_packets, FIELD("lost") },
	[COL_LOST_NOW] = { "lost+", "+LOS", 4, 4, 18, false, "the same, in the last interval", SUM,
			   value_lost_now, format_packets, FIELD("lost_interval") },
	[COL_RETRANS] = { "retrans", "RETR", 5, 5, 16, false, "bytes sent again, in all", SUM,
			  .show = format_short, FIELD("bytes_retrans") },
	[COL_RETRANS_NOW] = { "retrans+", "+RETR", 5, 5, 21, false,
			      "the same, in the last interval", SUM, value_retrans_now,
			      format_short, FIELD("bytes_retrans_interval") },
	[COL_RWND] = { "rwnd", "RWND", 4, 4, 19, false,
		       "share of its busy time: the receiver's window was full", MEAN, value_rwnd,
		       show_share, FIELD("rwnd_limited") },
	[COL_SNDBUF] = { "sndbuf", "SNDB", 4, 4, 20, false, "the same: its send buffer was full",
			 MEAN, value_sndbuf, show_share, FIELD("sndbuf_limited") },
	[COL_RECOVERY] = { "recovery", "RECOVERY", 8, 8, 14, true, "loss recovery", NOT_SUMMED,
			   FIELD("ca_state") },
	[COL_NETNS] = { "netns", "NETNS", 10, 10, 22, false,
			"inode number of its network namespace", NOT_SUMMED, value_netns },
	[COL_MPTCP] = { "mptcp", "MPTCP", 12, 12, 16, true,
			"of a subflow: token of its MPTCP connection, id of its address",
			NOT_SUMMED, value_mptcp, FIELD("mptcp_token") },
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

void top_group_add(struct top_group *g, const struct conn *c)
{
	g->connections++;
	for (int i = 0; i < COLUMNS; i++) {
		struct column_def *def = column_def(i);
		double value = def->summing ? value_of(def, c) : NAN;

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

	sum->connections += g->connections;
	for (int i = 0; i < COLUMNS; i++) {
		sum->sum[i] += g->sum[i];
		sum->known[i] += g->known[i];
	}
}

double column_value(enum column c, const struct row *row)
{
	struct column_def *def = column_def(c);
	const struct top_group *g = row->group;

	if (row->conn)
		return value_of(def, row->conn);
	if (!def->summing || !g->known[c])
		return NAN;
	return def->summing == SUM ? g->sum[c] : g->sum[c] / g->known[c];
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

/* Of a path that is too long the end stays. */
static void label_text(char *buf, size_t size, const char *label, int width, bool utf8)
{
	size_t len = strlen(label), room = width;

	if (len <= room)
		snprintf(buf, size, "%s", label);
	else
		snprintf(buf, size, "%s%s", utf8 ? "…" : "~", label + len - room + 1);
}

static void group_text(enum column column, char *buf, size_t size, int width,
		       const struct cell_style *style, const struct row *row)
{
	struct column_def *def = column_def(column);

	if (column == COL_GROUP)
		label_text(buf, size, group_shown(&row->group->group), width, style->utf8);
	else if (def->show)
		def->show(buf, size, column_value(column, row));
	else
		snprintf(buf, size, "-");
}

static void conn_text(enum column column, char *buf, size_t size, int width,
		      const struct cell_style *style, const struct conn *c)
{
	__u64 until = c->ended_ns ? c->ended_ns : style->now_ns;
	struct column_def *def = column_def(column);
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
	case COL_SERVICE:
		format_name(buf, (size_t)width < size ? (size_t)width + 1 : size, c->service);
		break;
	case COL_PROCESS:
		format_name(buf, (size_t)width < size ? (size_t)width + 1 : size, c->process);
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
			own_text(buf, size, def, c);
		else
			def->show(buf, size, value_of(def, c));
	}
}

void cell_text(enum column column, char *buf, size_t size, int width,
	       const struct cell_style *style, const struct row *row)
{
	if (row->conn)
		conn_text(column, buf, size, width, style, row->conn);
	else
		group_text(column, buf, size, width, style, row);
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
