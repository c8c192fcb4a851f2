// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon top --batch: what the screen would show, as text or JSON, again and again.
 */
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "event/derived.h"
#include "event/event.h"
#include "event/field.h"
#include "cli/json.h"
#include "top.h"

/* Prints a line without the blanks at its end. */
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

/* Adds a whole number: the decimals are noise. */
static void add_number(struct json *j, const char *key, double value)
{
	bool known = value >= 0 && value < 0x1p63;

	json_add_int_if(j, key, known, known ? value : 0);
}

static void add_string(struct json *j, const char *key, const char *value)
{
	json_add_string(j, key, *value ? value : NULL);
}

static void add_identity(struct json *j, const struct conn *c)
{
	char addr[EVENT_ADDR_LEN];

	add_string(j, "instance", c->name);
	json_add_int_if(j, "conn", c->e.conn, c->e.conn);
	json_add_int_if(j, "cookie", c->cookie, c->cookie);
	json_add_int(j, "netns", c->e.netns);
	event_addr(addr, c->e.laddr);
	add_string(j, "local", addr);
	json_add_int(j, "lport", ntohs(c->e.lport));
	event_addr(addr, c->e.raddr);
	add_string(j, "remote", addr);
	json_add_int(j, "rport", ntohs(c->e.rport));
	add_string(j, "profile", c->profile);
	json_add_bool(j, "ended", c->ended_ns);
}

/* Adds the mode and, if the algorithm shows it, the phase. */
static void add_mode(struct json *j, const struct conn *c)
{
	const struct algorithm *a = c->algorithm;

	add_string(j, "mode", mode_name(a, c->e.mode));
	for (int i = 0; i < a->n_fields; i++)
		if (a->fields[i].offset == offsetof(struct bbr_event, phase))
			field_add_json(j, &a->fields[i], &c->e);
}

/* Adds the algorithm's own fields that a plot shows. */
static void add_own(struct json *j, const struct conn *c)
{
	const struct algorithm *a = c->algorithm;

	for (int i = 0; i < a->n_fields; i++)
		if (a->fields[i].lane && a->fields[i].offset >= BBR_EVENT_BASE)
			field_add_json(j, &a->fields[i], &c->e);
}

static void add_state(struct json *j, const struct top *t, const struct conn *c)
{
	const struct bbr_event *e = &c->e;
	__u64 until = c->ended_ns ? c->ended_ns : t->style.now_ns;
	bool since = c->mode_since_ns && c->mode_since_ns <= until;

	add_mode(j, c);
	json_add_int_if(j, "mode_ms", since, (until - c->mode_since_ns) / NS_PER_MS);
	add_number(j, "rate_bps", c->rate);
	json_add_int(j, "bw_bps", event_bps(e, e->bw));
	add_number(j, "pacing_rate_bps", event_pacing_bps(e));
	json_add_int_if(j, "srtt_us", e->srtt_us, e->srtt_us);
	json_add_int_if(j, "min_rtt_us", e->min_rtt_us != BBR_RTT_NONE, e->min_rtt_us);
	json_add_int(j, "inflight", e->inflight);
	json_add_int(j, "inflight_max", c->inflight);
	json_add_int_if(j, "bdp", event_bdp(e), event_bdp(e));
	json_add_int(j, "cwnd", e->cwnd);
	json_add_int(j, "lost", e->lost);
	json_add_int(j, "lost_interval", c->lost);
	json_add_int(j, "bytes_retrans", e->bytes_retrans);
	json_add_int(j, "bytes_retrans_interval", c->retrans);
	add_string(j, "ca_state", event_ca_name(e->ca_state));
	add_own(j, c);
}

static void print_json(const struct top *t)
{
	for (size_t i = 0; i < t->view.n; i++) {
		struct json line;

		json_begin(&line, stdout);
		json_add_int(&line, "refresh", t->blocks);
		json_add_int(&line, "time_ns", t->style.now_ns);
		add_identity(&line, t->view.rows[i]);
		add_state(&line, t, t->view.rows[i]);
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
