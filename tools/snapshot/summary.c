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

struct sums {
	__u64 connections;
	__u64 bw_bps; /* the sum of their estimates */
	__u64 inflight, bytes_sent, bytes_acked, bytes_retrans;
	__u64 busy_us, rwnd_limited_us, sndbuf_limited_us; /* 0 in a recording */
};

struct summary_line {
	char name[BBR_NAME_LEN];
	char profile[BBR_PROFILE_NAME_LEN]; /* "": not known */
	const struct algorithm *algorithm;
	unsigned int mode; /* of it */
	struct sums sums;
};

struct summary_group {
	struct group group;
	bool is_recorded;
	struct sums sums;
};

/* In the order of JSON; groups are sorted by them. */
static const struct {
	const char *key;
	size_t member;
	bool is_of_socket; /* only groups show it, and not of a recording */
} members[] = {
	{ "connections", offsetof(struct sums, connections), false },
	{ "bw_bps", offsetof(struct sums, bw_bps), false },
	{ "inflight", offsetof(struct sums, inflight), false },
	{ "bytes_sent", offsetof(struct sums, bytes_sent), false },
	{ "bytes_acked", offsetof(struct sums, bytes_acked), false },
	{ "bytes_retrans", offsetof(struct sums, bytes_retrans), false },
	{ "busy_us", offsetof(struct sums, busy_us), true },
	{ "rwnd_limited_us", offsetof(struct sums, rwnd_limited_us), true },
	{ "sndbuf_limited_us", offsetof(struct sums, sndbuf_limited_us), true },
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

static __u64 *member_of(const struct sums *s, size_t i)
{
	return (__u64 *)((char *)s + members[i].member);
}

bool summary_sort(struct summary *s, const char *key)
{
	struct name_list names = {};

	s->ascending = *key != '-';
	key += !s->ascending;
	for (size_t i = 0; i < N_MEMBERS; i++) {
		s->key = i;
		if (!strcmp(members[i].key, key))
			return true;
		name_list_add(&names, members[i].key);
	}
	err("--sort %s: groups have no such key", key);
	name_list_suggest(&names, key);
	remedy("one of these, with a \"-\" to sort from the highest to the lowest:");
	name_list_print(&names);
	return false;
}

static struct sums *line_of(struct summary *s, const struct snapshot *c)
{
	const char *profile = origin_profile(c->origin, &c->state->event);
	struct summary_line key = { .algorithm = c->origin->algorithm,
				    .mode = c->state->event.mode };

	memcpy(key.name, c->origin->name, sizeof(key.name));
	if (profile)
		strcpy(key.profile, profile);
	for (size_t i = 0; i < s->n; i++)
		if (s->lines[i].mode == key.mode && s->lines[i].algorithm == key.algorithm &&
		    !strcmp(s->lines[i].name, key.name) &&
		    !strcmp(s->lines[i].profile, key.profile))
			return &s->lines[i].sums;
	s->lines = mem_grow(s->lines, s->n, sizeof(*s->lines));
	s->lines[s->n] = key;
	return &s->lines[s->n++].sums;
}

static struct sums *group_of(struct summary *s, const struct snapshot *c)
{
	const struct group_member member = { .raddr = c->state->event.raddr,
					     .cgroup = c->state->cgroup,
					     .inode = c->state->inode,
					     .netns = c->state->event.netns,
					     .is_recorded = c->is_recorded };
	char label[GROUP_LABEL_LEN];
	struct summary_group *g;

	s->groups.size = sizeof(*g);
	group_label(label, &s->grouping, &member);
	g = groups_get(&s->groups, label);
	g->is_recorded = c->is_recorded;
	return &g->sums;
}

void summary_add(struct summary *s, const struct snapshot *c)
{
	struct sums *sums = s->grouping.by ? group_of(s, c) : line_of(s, c);
	const struct bbr_event *e = &c->state->event;

	sums->connections++;
	sums->bw_bps += event_bps(e, e->bw);
	sums->inflight += e->inflight;
	sums->bytes_sent += e->bytes_sent;
	sums->bytes_acked += e->bytes_acked;
	sums->bytes_retrans += e->bytes_retrans;
	sums->busy_us += us_of_ticks(c->state->busy_ticks);
	sums->rwnd_limited_us += us_of_ticks(c->state->rwnd_ticks);
	sums->sndbuf_limited_us += us_of_ticks(c->state->sndbuf_ticks);
}

static int compare_lines(const void *a, const void *b)
{
	const struct summary_line *x = a, *y = b;
	int result = strcmp(x->name, y->name);

	if (!result)
		result = strcmp(x->profile, y->profile);
	return result ? result : (int)x->mode - (int)y->mode;
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct summary_group *x = a, *y = b;
	const struct summary *s = ctx;
	__u64 p = *member_of(&x->sums, s->key), q = *member_of(&y->sums, s->key);

	if (p == q)
		return 0;
	return (p < q) == s->ascending ? -1 : 1;
}

static void add_group(void *to, const void *from)
{
	struct summary_group *sum = to;
	const struct summary_group *g = from;

	sum->is_recorded = g->is_recorded;
	for (size_t i = 0; i < N_MEMBERS; i++)
		*member_of(&sum->sums, i) += *member_of(&g->sums, i);
}

static void add_sums(struct json *j, const struct sums *s, bool with_socket, bool is_recorded)
{
	for (size_t i = 0; i < N_MEMBERS; i++)
		if (with_socket || !members[i].is_of_socket)
			json_add_int_if(j, members[i].key,
					!(members[i].is_of_socket && is_recorded),
					*member_of(s, i));
}

static void print_line(FILE *out, const struct summary_line *line, bool json)
{
	const struct sums *s = &line->sums;
	char bw[UNITS_LEN];
	struct json j;

	if (json) {
		json_begin(&j, out);
		json_add_string(&j, "instance", line->name);
		json_add_string(&j, "profile", line->profile[0] ? line->profile : NULL);
		json_add_string(&j, "mode", mode_name(line->algorithm, line->mode));
		add_sums(&j, s, false, false);
		json_end(&j);
		return;
	}
	format_rate_ss(bw, sizeof(bw), s->bw_bps);
	fprintf(out, "%-15s %-15s %-9s %11llu %10s %10llu %15llu %15llu %13llu\n", line->name,
		line->profile[0] ? line->profile : "-", mode_name(line->algorithm, line->mode),
		s->connections, bw, s->inflight, s->bytes_sent, s->bytes_acked, s->bytes_retrans);
}

/* "12.3%" of the whole; "-" of nothing. */
static void format_share(char buf[UNITS_LEN], __u64 part, __u64 whole)
{
	if (whole)
		snprintf(buf, UNITS_LEN, "%.1f%%", 100.0 * part / whole);
	else
		strcpy(buf, "-");
}

static void print_group(FILE *out, const struct summary_group *g, enum group_by by, bool json)
{
	char bw[UNITS_LEN], retrans[UNITS_LEN], rwnd[UNITS_LEN], sndbuf[UNITS_LEN];
	const struct sums *s = &g->sums;
	struct json j;

	if (json) {
		json_begin(&j, out);
		group_add_json(&j, &g->group, by);
		add_sums(&j, s, true, g->is_recorded);
		json_end(&j);
		return;
	}
	format_rate_ss(bw, sizeof(bw), s->bw_bps);
	format_share(retrans, s->bytes_retrans, s->bytes_sent);
	format_share(rwnd, s->rwnd_limited_us, s->busy_us);
	format_share(sndbuf, s->sndbuf_limited_us, s->busy_us);
	fprintf(out, "%11llu %10s %8llu %14llu %7s %6s %6s %s\n", s->connections, bw, s->inflight,
		s->bytes_sent, retrans, rwnd, sndbuf, group_shown(&g->group));
}

static void print_groups(FILE *out, struct summary *s, bool json)
{
	const char *by = group_by_names[s->grouping.by];

	groups_sort(&s->groups, compare_groups, s, s->largest ? s->largest : GROUPS_LARGEST,
		    add_group);
	if (!json)
		fprintf(out, "%11s %10s %8s %14s %7s %6s %6s %c%s\n", "Connections", "Sum-of-bw",
			"Inflight", "Bytes-sent", "Retrans", "Rwnd", "Sndbuf", *by - 'a' + 'A',
			by + 1);
	for (size_t i = 0; i < s->groups.n; i++)
		print_group(out, s->groups.list[i], s->grouping.by, json);
}

void summary_print(FILE *out, struct summary *s, bool json)
{
	if (s->grouping.by) {
		print_groups(out, s, json);
		return;
	}
	if (s->n)
		qsort(s->lines, s->n, sizeof(*s->lines), compare_lines);
	if (!json)
		fprintf(out, "%-15s %-15s %-9s %11s %10s %10s %15s %15s %13s\n", "Instance",
			"Profile", "Mode", "Connections", "Sum-of-bw", "Inflight", "Bytes-sent",
			"Bytes-acked", "Bytes-retrans");
	for (size_t i = 0; i < s->n; i++)
		print_line(out, &s->lines[i], json);
}

void summary_free(struct summary *s)
{
	free(s->lines);
	groups_free(&s->groups);
	grouping_free(&s->grouping);
}
