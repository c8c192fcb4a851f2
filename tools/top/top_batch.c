// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon top --batch: what the screen would show, as text or JSON, again and again.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include <json-c/json.h>

#include "event/event.h"
#include "top.h"

/* Blanks at the end tell nothing. */
static void print_line(char *line)
{
	size_t len = strlen(line);

	while (len && line[len - 1] == ' ')
		len--;
	printf("%.*s\n", (int)len, line);
}

static void print_titles(const struct top *t, const struct layout *l)
{
	char line[COLUMNS * CELL_BYTES], *end = line;

	for (int i = 0; i < l->n; i++) {
		if (i)
			*end++ = ' ';
		end += title_format(end, l, i, &t->style);
	}
	print_line(line);
}

static void print_row(const struct top *t, const struct layout *l, const struct conn *c)
{
	char line[COLUMNS * CELL_BYTES], *end = line;

	for (int i = 0; i < l->n; i++) {
		if (i)
			*end++ = ' ';
		end += cell_format(end, l, i, &t->style, c);
	}
	print_line(line);
}

static void print_text(const struct top *t)
{
	struct line first, second;
	struct layout layout;

	top_header(t, &first, &second, t->width);
	printf("%s\n%s\n", first.text, second.text);
	layout_choose(&layout, t->width, t->view.sort, t->view.rows, t->view.n);
	print_titles(t, &layout);
	for (size_t i = 0; i < t->view.n; i++)
		print_row(t, &layout, t->view.rows[i]);
	putchar('\n');
}

static void add(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add_ex(o, key, value,
				  JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_KEY_IS_CONSTANT);
}

static void add_int(struct json_object *o, const char *key, __u64 value)
{
	add(o, key, json_object_new_uint64(value));
}

static void add_int_if(struct json_object *o, const char *key, bool has, __u64 value)
{
	add(o, key, has ? json_object_new_uint64(value) : NULL);
}

/* Whole numbers: what follows the point is noise. */
static void add_number(struct json_object *o, const char *key, double value)
{
	bool known = value >= 0 && value < 0x1p63;

	add_int_if(o, key, known, known ? value : 0);
}

static void add_string(struct json_object *o, const char *key, const char *value)
{
	add(o, key, *value ? json_object_new_string(value) : NULL);
}

static void add_who(struct json_object *o, const struct conn *c)
{
	char addr[EVENT_ADDR_LEN];

	add_string(o, "instance", c->name);
	add_int_if(o, "conn", c->e.conn, c->e.conn);
	add_int_if(o, "cookie", c->cookie, c->cookie);
	add_int(o, "netns", c->e.netns);
	event_addr(addr, c->e.laddr);
	add_string(o, "local", addr);
	add_int(o, "lport", ntohs(c->e.lport));
	event_addr(addr, c->e.raddr);
	add_string(o, "remote", addr);
	add_int(o, "rport", ntohs(c->e.rport));
	add_string(o, "profile", c->profile);
	add(o, "ended", json_object_new_boolean(c->ended_ns));
}

static void add_state(struct json_object *o, const struct top *t, const struct conn *c)
{
	const struct bbr_event *e = &c->e;
	__u64 until = c->ended_ns ? c->ended_ns : t->style.now_ns;
	bool since = c->mode_since_ns && c->mode_since_ns <= until;

	add_string(o, "mode", event_mode_name(e->mode));
	add_int(o, "cycle_idx", e->cycle_idx);
	add_int_if(o, "mode_ms", since, (until - c->mode_since_ns) / NS_PER_MS);
	add_number(o, "rate_bps", c->rate);
	add_int(o, "bw_bps", event_bps(e, e->bw));
	add_number(o, "pacing_rate_bps", event_pacing_bps(e));
	add_int_if(o, "srtt_us", e->srtt_us, e->srtt_us);
	add_int_if(o, "min_rtt_us", e->min_rtt_us != BBR_RTT_NONE, e->min_rtt_us);
	add_int(o, "inflight", e->inflight);
	add_int(o, "inflight_max", c->inflight);
	add_int_if(o, "bdp", event_bdp(e), event_bdp(e));
	add_int(o, "cwnd", e->cwnd);
	add_int(o, "lost", e->lost);
	add_int(o, "lost_interval", c->lost);
	add_int(o, "bytes_retrans", e->bytes_retrans);
	add_int(o, "bytes_retrans_interval", c->retrans);
	add_string(o, "ca_state", event_ca_name(e->ca_state));
	add_string(o, "policer", event_policer_name(e));
}

static void print_json(const struct top *t)
{
	for (size_t i = 0; i < t->view.n; i++) {
		struct json_object *o = json_object_new_object();

		add_int(o, "refresh", t->blocks);
		add_int(o, "time_ns", t->style.now_ns);
		add_who(o, t->view.rows[i]);
		add_state(o, t, t->view.rows[i]);
		printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
		json_object_put(o);
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
