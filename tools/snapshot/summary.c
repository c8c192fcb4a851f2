// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/units.h"
#include "event/event.h"
#include "event/field.h"
#include "kernel/clock.h"
#include "snapshot.h"

/*
 * Sums of a group, in the order of JSON; groups are sorted by them. c is a connection of it, e its
 * event. Only groups of --by show what is of the socket, and a recording does not have it.
 */
#define SUMS(X)                                                        \
	X(connections, false, 1)                                       \
	X(bw_bps, false, event_bps(e, e->bw)) /* of their estimates */ \
	X(inflight, false, e->inflight)                                \
	X(bytes_sent, false, e->bytes_sent)                            \
	X(bytes_acked, false, e->bytes_acked)                          \
	X(bytes_retrans, false, e->bytes_retrans)                      \
	X(busy_us, true, us_of_ticks(c->state->busy_ticks))            \
	X(rwnd_limited_us, true, us_of_ticks(c->state->rwnd_ticks))    \
	X(sndbuf_limited_us, true, us_of_ticks(c->state->sndbuf_ticks))

enum {
#define X(key, is_of_socket, value) SUM_##key,
	SUMS(X)
#undef X
	N_SUMS,
};

static const struct {
	const char *key;
	bool is_of_socket;
} sums[N_SUMS] = {
#define X(key, is_of_socket, value) { #key, is_of_socket },
	SUMS(X)
#undef X
};

struct summary_group {
	struct group group;
	bool is_recorded;
	/* Of a group by congestion control, profile and mode. */
	char name[BBR_NAME_LEN];
	char profile[BBR_PROFILE_NAME_LEN]; /* "": not known */
	const char *mode;
	__u64 sum[N_SUMS];
};

bool summary_sort(struct summary *s, const char *key)
{
	struct name_list names = {};

	s->ascending = *key != '-';
	key += !s->ascending;
	for (size_t i = 0; i < N_SUMS; i++) {
		s->key = i;
		if (!strcmp(sums[i].key, key))
			return true;
		name_list_add(&names, sums[i].key);
	}
	err("--sort %s: groups have no such key", key);
	return name_list_refuse(
		&names, key, "one of these, with a \"-\" to sort from the highest to the lowest:");
}

/* Its label has the order of the lines; modes are in that of the algorithm. */
static struct summary_group *line_of(struct summary *s, const struct snapshot *c)
{
	const char *profile = origin_profile(c->origin, &c->state->event);
	const struct algorithm *a = c->origin->algorithm;
	unsigned int mode = c->state->event.mode;
	char label[GROUP_LABEL_LEN];
	struct summary_group *line;

	profile = profile ? profile : "";
	snprintf(label, sizeof(label), "%s\1%s\1%03u\1%p", c->origin->name, profile, mode,
		 (const void *)a);
	line = groups_get(&s->groups, label);
	memcpy(line->name, c->origin->name, sizeof(line->name));
	strcpy(line->profile, profile);
	line->mode = mode_name(a, mode);
	return line;
}

void summary_add(struct summary *s, const struct snapshot *c)
{
	const struct bbr_event *e = &c->state->event;
	const struct group_member member = { .raddr = e->raddr,
					     .cgroup = c->state->cgroup,
					     .inode = c->state->inode,
					     .netns = e->netns,
					     .is_recorded = c->is_recorded };
	char label[GROUP_LABEL_LEN];
	struct summary_group *g;

	s->groups.size = sizeof(*g);
	if (s->grouping.by) {
		group_label(label, &s->grouping, &member);
		g = groups_get(&s->groups, label);
	} else {
		g = line_of(s, c);
	}
	g->is_recorded = c->is_recorded;
#define X(key, is_of_socket, value) g->sum[SUM_##key] += value;
	SUMS(X)
#undef X
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct summary_group *x = a, *y = b;
	const struct summary *s = ctx;
	__u64 p = x->sum[s->key], q = y->sum[s->key];

	if (p == q || !s->grouping.by)
		return 0;
	return (p < q) == s->ascending ? -1 : 1;
}

static void add_group(void *to, const void *from)
{
	struct summary_group *sum = to;
	const struct summary_group *g = from;

	sum->is_recorded = g->is_recorded;
	for (size_t i = 0; i < N_SUMS; i++)
		sum->sum[i] += g->sum[i];
}

static void print_json(FILE *out, const struct summary_group *g, enum group_by by)
{
	struct json j;

	json_begin(&j, out);
	if (by) {
		group_add_json(&j, &g->group, by);
	} else {
		json_add_string(&j, "instance", g->name);
		json_add_string(&j, "profile", g->profile[0] ? g->profile : NULL);
		json_add_string(&j, "mode", g->mode);
	}
	for (size_t i = 0; i < N_SUMS; i++)
		if (by || !sums[i].is_of_socket)
			json_add_int_if(&j, sums[i].key, !(sums[i].is_of_socket && g->is_recorded),
					g->sum[i]);
	json_end(&j);
}

/* "12.3%" of the whole; "-" of nothing. */
static void format_share(char buf[UNITS_LEN], __u64 part, __u64 whole)
{
	if (whole)
		snprintf(buf, UNITS_LEN, "%.1f%%", 100.0 * part / whole);
	else
		strcpy(buf, "-");
}

static void print_text(FILE *out, const struct summary_group *g, enum group_by by)
{
	char bw[UNITS_LEN], retrans[UNITS_LEN], rwnd[UNITS_LEN], sndbuf[UNITS_LEN];
	const __u64 *s = g->sum;

	format_rate_ss(bw, sizeof(bw), s[SUM_bw_bps]);
	if (!by) {
		fprintf(out, "%-15s %-15s %-9s %11llu %10s %10llu %15llu %15llu %13llu\n", g->name,
			g->profile[0] ? g->profile : "-", g->mode, s[SUM_connections], bw,
			s[SUM_inflight], s[SUM_bytes_sent], s[SUM_bytes_acked],
			s[SUM_bytes_retrans]);
		return;
	}
	format_share(retrans, s[SUM_bytes_retrans], s[SUM_bytes_sent]);
	format_share(rwnd, s[SUM_rwnd_limited_us], s[SUM_busy_us]);
	format_share(sndbuf, s[SUM_sndbuf_limited_us], s[SUM_busy_us]);
	fprintf(out, "%11llu %10s %8llu %14llu %7s %6s %6s %s\n", s[SUM_connections], bw,
		s[SUM_inflight], s[SUM_bytes_sent], retrans, rwnd, sndbuf, group_shown(&g->group));
}

void summary_print(FILE *out, struct summary *s, bool json)
{
	__u64 largest = s->largest ? s->largest : GROUPS_LARGEST;
	enum group_by by = s->grouping.by;
	const char *what = group_by_names[by];

	groups_sort(&s->groups, compare_groups, s, by ? largest : 0, add_group);
	if (!json && by)
		fprintf(out, "%11s %10s %8s %14s %7s %6s %6s %c%s\n", "Connections", "Sum-of-bw",
			"Inflight", "Bytes-sent", "Retrans", "Rwnd", "Sndbuf", *what - 'a' + 'A',
			what + 1);
	else if (!json)
		fprintf(out, "%-15s %-15s %-9s %11s %10s %10s %15s %15s %13s\n", "Instance",
			"Profile", "Mode", "Connections", "Sum-of-bw", "Inflight", "Bytes-sent",
			"Bytes-acked", "Bytes-retrans");
	for (size_t i = 0; i < s->groups.n; i++)
		(json ? print_json : print_text)(out, s->groups.list[i], by);
}

void summary_free(struct summary *s)
{
	groups_free(&s->groups);
	grouping_free(&s->grouping);
}
