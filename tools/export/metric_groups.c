// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of groups of connections. Only the largest groups have their own time series. A counter
 * may not fall, so a group that gets series begins at 0, and one that loses them loses its counts.
 */
#include <string.h>

#include "cli/text.h"
#include "kernel/clock.h"
#include "metrics.h"

#define OTHER "other"
#define LARGER 2 /* a group this many times as large as one that has series takes its place */

struct metric_group {
	struct group group;
	bool has_series;
	__u64 connections;
	__u64 recent; /* bytes that were ACKed, those before the last reading at half, and so on */
	struct group_counts counts; /* while it has series */
};

struct metric_group *metric_group_join(struct metric_groups *all, const struct group_member *m)
{
	char label[GROUP_LABEL_LEN] = "unknown";
	struct metric_group *g;

	if (m)
		group_label(label, &all->grouping, m);
	text_tame(label, sizeof(label), ""); /* two series must not look alike */
	all->groups.size = sizeof(*g);
	g = groups_find(&all->groups, label);
	if (!g)
		g = groups_get(&all->groups, all->groups.n < METRIC_GROUPS_MAX ? label : OTHER);
	if (!g->connections++ && !g->has_series && all->n_series < all->largest &&
	    strcmp(g->group.label, OTHER)) {
		g->has_series = true;
		all->n_series++;
	}
	return g;
}

void metric_group_leave(struct metric_group *g)
{
	g->connections--;
}

void metric_group_count(struct metric_groups *all, struct metric_group *g,
			const struct group_counts *counts)
{
	struct group_counts *to = g->has_series ? &g->counts : &all->others;

	g->recent += counts->value[GROUP_ACKED];
	for (int i = 0; i < GROUP_COUNTS; i++)
		to->value[i] += counts->value[i];
}

/* The largest group without series and the smallest one with them; NULL: there is none. */
static void find_ends(const struct metric_groups *all, struct metric_group **without,
		      struct metric_group **with)
{
	*without = *with = NULL;
	for (size_t i = 0; i < all->groups.n; i++) {
		struct metric_group *g = all->groups.list[i];

		if (!strcmp(g->group.label, OTHER))
			continue;
		if (g->has_series && (!*with || g->recent < (*with)->recent))
			*with = g;
		if (!g->has_series && (!*without || g->recent > (*without)->recent))
			*without = g;
	}
}

void metric_groups_rank(struct metric_groups *all)
{
	struct metric_group *without, *with;

	for (find_ends(all, &without, &with);
	     without && with && without->recent > LARGER * with->recent;
	     find_ends(all, &without, &with)) {
		memset(&with->counts, 0, sizeof(with->counts));
		with->has_series = false;
		without->has_series = true;
	}
	for (size_t i = all->groups.n; i-- > 0;) {
		struct metric_group *g = all->groups.list[i];

		g->recent /= 2;
		if (!g->connections && !g->has_series)
			groups_drop(&all->groups, i);
	}
}

static const struct {
	const char *name, *unit, *help;
	double per_unit;
	bool is_of_sockets; /* events do not have it */
} counters[GROUP_COUNTS] = {
	[GROUP_SENT] = { "bbr_group_sent_bytes", "bytes",
			 "Payload that was sent, retransmissions included.", 1, false },
	[GROUP_ACKED] = { "bbr_group_acked_bytes", "bytes", "Payload that was acknowledged.", 1,
			  false },
	[GROUP_RETRANS] = { "bbr_group_retransmitted_bytes", "bytes",
			    "Payload that was sent again.", 1, false },
	[GROUP_BUSY] = { "bbr_group_busy_seconds", "seconds",
			 "Time in which connections had something to send or in flight.", US_PER_S,
			 true },
	[GROUP_RWND] = { "bbr_group_rwnd_limited_seconds", "seconds",
			 "The part of it in which the receiver's window was full.", US_PER_S,
			 true },
	[GROUP_SNDBUF] = { "bbr_group_sndbuf_limited_seconds", "seconds",
			   "The part of it in which the send buffer was full.", US_PER_S, true },
};

static void print_group(const struct metric_groups *all, struct openmetrics *om,
			const struct om_family *family, const char *label, double value)
{
	const struct om_label labels[] = { { "by", group_by_names[all->grouping.by] },
					   { "group", label },
					   {} };

	om_number(om, family, labels, value);
}

static void print_counter(const struct metric_groups *all, struct openmetrics *om, int i)
{
	const struct om_family family = { counters[i].name, OM_COUNTER, counters[i].unit,
					  counters[i].help };
	double unit = counters[i].per_unit;

	om_family(om, &family);
	for (size_t k = 0; k < all->groups.n; k++) {
		const struct metric_group *g = all->groups.list[k];

		if (g->has_series)
			print_group(all, om, &family, g->group.label, g->counts.value[i] / unit);
	}
	print_group(all, om, &family, OTHER, all->others.value[i] / unit);
}

void metric_groups_print(const struct metric_groups *all, struct openmetrics *om, bool has_counters,
			 bool has_sockets)
{
	static const struct om_family connections = {
		"bbr_group_connections", OM_GAUGE, NULL,
		"Connections of the group that use BBR now."
	};
	__u64 others = 0;

	if (!all->grouping.by)
		return;
	om_family(om, &connections);
	for (size_t i = 0; i < all->groups.n; i++) {
		const struct metric_group *g = all->groups.list[i];

		if (g->has_series)
			print_group(all, om, &connections, g->group.label, g->connections);
		else
			others += g->connections;
	}
	print_group(all, om, &connections, OTHER, others);
	for (int i = 0; i < GROUP_COUNTS && has_counters; i++)
		if (has_sockets || !counters[i].is_of_sockets)
			print_counter(all, om, i);
}

void metric_groups_free(struct metric_groups *all)
{
	groups_free(&all->groups);
	grouping_free(&all->grouping);
}
