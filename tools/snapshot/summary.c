// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/units.h"
#include "event/event.h"
#include "snapshot.h"
#include "cli/err.h"

struct summary_line {
	char name[BBR_NAME_LEN];
	char profile[BBR_PROFILE_NAME_LEN]; /* "": not known */
	const struct algorithm *algorithm;
	unsigned int mode; /* of it */
	__u64 connections;
	__u64 bw_bps; /* the sum of their estimates */
	__u64 inflight, bytes_sent, bytes_acked, bytes_retrans;
};

static struct summary_line *find_or_add(struct summary *s, const struct summary_line *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->lines[i].mode == key->mode && s->lines[i].algorithm == key->algorithm &&
		    !strcmp(s->lines[i].name, key->name) &&
		    !strcmp(s->lines[i].profile, key->profile))
			return &s->lines[i];
	s->lines = mem_grow(s->lines, s->n, sizeof(*s->lines));
	s->lines[s->n] = *key;
	return &s->lines[s->n++];
}

void summary_add(struct summary *s, const struct snapshot *c)
{
	const struct bbr_event *e = &c->state->event;
	const char *profile = origin_profile(c->origin, e);
	struct summary_line key = { .algorithm = c->origin->algorithm, .mode = e->mode }, *line;

	memcpy(key.name, c->origin->name, sizeof(key.name));
	if (profile)
		strcpy(key.profile, profile);
	line = find_or_add(s, &key);
	line->connections++;
	line->bw_bps += event_bps(e, e->bw);
	line->inflight += e->inflight;
	line->bytes_sent += e->bytes_sent;
	line->bytes_acked += e->bytes_acked;
	line->bytes_retrans += e->bytes_retrans;
}

static int compare(const void *a, const void *b)
{
	const struct summary_line *x = a, *y = b;
	int result = strcmp(x->name, y->name);

	if (!result)
		result = strcmp(x->profile, y->profile);
	return result ? result : (int)x->mode - (int)y->mode;
}

static void print_json(FILE *out, const struct summary_line *line)
{
	struct json j;

	json_begin(&j, out);
	json_add_string(&j, "instance", line->name);
	json_add_string(&j, "profile", line->profile[0] ? line->profile : NULL);
	json_add_string(&j, "mode", mode_name(line->algorithm, line->mode));
	json_add_int(&j, "connections", line->connections);
	json_add_int(&j, "bw_bps", line->bw_bps);
	json_add_int(&j, "inflight", line->inflight);
	json_add_int(&j, "bytes_sent", line->bytes_sent);
	json_add_int(&j, "bytes_acked", line->bytes_acked);
	json_add_int(&j, "bytes_retrans", line->bytes_retrans);
	json_end(&j);
}

static void print_text(FILE *out, const struct summary_line *line)
{
	char bw[UNITS_LEN];

	format_rate_ss(bw, sizeof(bw), line->bw_bps);
	fprintf(out, "%-15s %-15s %-9s %11llu %10s %10llu %15llu %15llu %13llu\n", line->name,
		line->profile[0] ? line->profile : "-", mode_name(line->algorithm, line->mode),
		line->connections, bw, line->inflight, line->bytes_sent, line->bytes_acked,
		line->bytes_retrans);
}

void summary_print(FILE *out, struct summary *s, bool json)
{
	if (s->n)
		qsort(s->lines, s->n, sizeof(*s->lines), compare);
	if (!json)
		fprintf(out, "%-15s %-15s %-9s %11s %10s %10s %15s %15s %13s\n", "Instance",
			"Profile", "Mode", "Connections", "Sum-of-bw", "Inflight", "Bytes-sent",
			"Bytes-acked", "Bytes-retrans");
	for (size_t i = 0; i < s->n; i++) {
		if (json)
			print_json(out, &s->lines[i]);
		else
			print_text(out, &s->lines[i]);
	}
}
