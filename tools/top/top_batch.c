// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon top --batch: what the screen would show, as text or JSON, again and again.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "cli/json.h"
#include "event/event.h"
#include "event/field.h"
#include "top.h"

/* The titles, if there is no row. Prints no blanks at the end. */
static void print_row(const struct top *t, const struct row *row)
{
	const struct top_layout *l = &t->view.layout;
	char line[COLUMNS * CELL_BYTES], *end = line;

	for (int i = 0; i < l->n; i++) {
		if (i)
			*end++ = ' ';
		end += cell_format(end, l, i, &t->style, row);
	}
	while (end > line && end[-1] == ' ')
		end--;
	printf("%.*s\n", (int)(end - line), line);
}

static void print_text(struct top *t)
{
	struct line first, second;

	top_header(t, &first, &second, t->width);
	printf("%s\n%s\n", first.text, second.text);
	view_layout(&t->view, t->width, t->view.rows, t->view.n);
	print_row(t, NULL);
	for (size_t i = 0; i < t->view.n; i++)
		print_row(t, &t->view.rows[i]);
	putchar('\n');
}

static void add_string(struct json *j, const char *key, const char *value)
{
	json_add_string(j, key, *value ? value : NULL);
}

static void add_identity(struct json *j, const struct conn *c)
{
	bool is_subflow = c->places & BBR_PLACE_MPTCP;

	add_string(j, "instance", c->name);
	json_add_int_if(j, "conn", c->e.conn, c->e.conn);
	json_add_int_if(j, "cookie", c->cookie, c->cookie);
	json_add_int(j, "netns", c->e.netns);
	json_add_endpoint(j, "local", c->e.laddr, "lport", c->e.lport);
	json_add_endpoint(j, "remote", c->e.raddr, "rport", c->e.rport);
	add_string(j, "profile", c->profile);
	json_add_int_if(j, "cgroup_id", c->cookie, c->cgroup);
	json_add_int_if(j, "inode", c->cookie, c->inode);
	json_add_int_if(j, "mptcp_token", is_subflow, c->mptcp_token);
	json_add_int_if(j, "mptcp_local_id", is_subflow, c->mptcp_local_id);
	json_add_int_if(j, "mptcp_remote_id", is_subflow, c->mptcp_remote_id);
	json_add_bool_if(j, "sockmap", c->cookie, c->places & BBR_PLACE_SOCKMAP);
	add_string(j, "service", c->service);
	add_string(j, "process", c->process);
	json_add_bool(j, "ended", c->ended_ns);
}

static bool is_phase(const struct field *f)
{
	return f->offset == offsetof(struct bbr_event, phase);
}

/* Adds the mode and, if the algorithm shows it, the phase. */
static void add_mode(struct json *j, const struct top *t, const struct conn *c)
{
	__u64 until = c->ended_ns ? c->ended_ns : t->style.now_ns;
	bool since = c->mode_since_ns && c->mode_since_ns <= until;
	const struct algorithm *a = c->algorithm;

	add_string(j, "mode", mode_name(a, c->e.mode));
	for (int i = 0; i < a->n_fields; i++)
		if (is_phase(&a->fields[i]))
			field_add_json(j, &a->fields[i], &c->e);
	json_add_int_if(j, "mode_ms", since, (until - c->mode_since_ns) / NS_PER_MS);
}

/* In the order of JSON: the value of a column or, without, the event's field of this key. */
static const struct {
	const char *key;
	enum column column; /* 0: the field */
} members[] = {
	{ "rate_bps", COL_RATE },
	{ "bw_bps", 0 },
	{ "pacing_rate_bps", 0 },
	{ "srtt_us", COL_RTT },
	{ "min_rtt_us", 0 },
	{ "inflight", 0 },
	{ "inflight_max", COL_INFLIGHT },
	{ "bdp", 0 },
	{ "cwnd", 0 },
	{ "lost", 0 },
	{ "lost_interval", COL_LOST_NOW },
	{ "bytes_retrans", 0 },
	{ "bytes_retrans_interval", COL_RETRANS_NOW },
	{ "ca_state", 0 },
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

static void add_member(struct json *j, size_t i, struct conn *c)
{
	const char *key = members[i].key;
	const struct field *f = field_find(c->algorithm, key);

	if (members[i].column)
		json_add_whole(j, key, column_value(members[i].column, &(struct row){ .conn = c }));
	else if (!strcmp(key, "bdp"))
		json_add_int_if(j, key, event_bdp(&c->e), event_bdp(&c->e));
	else if (f)
		field_add_json(j, f, &c->e);
	else
		json_add_null(j, key);
}

/* True if it is in the line already. Mode and phase are from add_mode(). */
static bool is_member(const struct field *f)
{
	if (is_phase(f) || !strcmp(f->key, "mode"))
		return true;
	for (size_t i = 0; i < N_MEMBERS; i++)
		if (!strcmp(members[i].key, f->key))
			return true;
	return false;
}

/* Adds those fields that a plot shows and that are not there yet. */
static void add_plotted(struct json *j, const struct field *fields, size_t n, const struct conn *c)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].lane && !is_member(&fields[i]))
			field_add_json(j, &fields[i], &c->e);
}

/* The sums have the keys and the order of the columns. */
static void add_group(struct json *j, const struct top *t, const struct row *row)
{
	group_add_json(j, &row->group->group, t->view.grouping.by);
	for (int i = 0; i < COLUMNS; i++) {
		const struct column_def *def = column_def(i);
		double value = column_value(i, row);

		if (!def->summing || !def->field.key)
			continue;
		if (i == COL_RWND || i == COL_SNDBUF) /* shares */
			json_add_number(j, def->field.key, value);
		else
			json_add_whole(j, def->field.key, value);
	}
}

static void print_json(const struct top *t)
{
	for (size_t i = 0; i < t->view.n; i++) {
		struct conn *c = t->view.rows[i].conn;
		struct json line;

		json_begin(&line, stdout);
		json_add_int(&line, "refresh", t->blocks);
		json_add_int(&line, "time_ns", t->style.now_ns);
		json_add_int_if(&line, "users_unseen", t->has_sockets, sockets_unseen(&t->sockets));
		if (c) {
			add_identity(&line, c);
			add_mode(&line, t, c);
			for (size_t k = 0; k < N_MEMBERS; k++)
				add_member(&line, k, c);
			json_add_number(&line, "rwnd_limited", c->rwnd_share);
			json_add_number(&line, "sndbuf_limited", c->sndbuf_share);
			add_plotted(&line, c->algorithm->fields, c->algorithm->n_fields, c);
			add_plotted(&line, common_fields, n_common_fields, c);
		} else {
			add_group(&line, t, &t->view.rows[i]);
		}
		json_end(&line);
	}
}

void top_print_block(struct top *t)
{
	if (t->json)
		print_json(t);
	else
		print_text(t);
	t->blocks++;
	fflush(stdout);
}
