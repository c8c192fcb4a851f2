// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <linux/tcp.h>
#include <sys/stat.h>

#include "event/event.h"
#include "event/field.h"
#include "kernel/clock.h"
#include "kernel/netns.h"
#include "metrics.h"

/*
 * A connection that is no longer found has ended if it was silent for so long. A namespace that
 * only a socket keeps alive is not found either, but events of its connections still come.
 */
#define SILENT_NS (5 * NS_PER_S)
#define NOT_READ_NS (300 * NS_PER_S) /* the same, if its namespace may not have been read */

struct totals {
	__u64 sent, acked, retrans;
	__u32 lost;
};

struct tracked {
	struct conn_key tuple; /* first, so that what the map finds is the connection */
	LIST_ENTRY(tracked) list;
	struct metric_series *series;
	struct metric_group *group; /* NULL: not known, or there are none */
	struct totals first, last;
	struct totals counted; /* of these, what its group has */
	__u64 limited_us[3]; /* GROUP_BUSY and the next two, as of the last reading */
	__u64 seen_ns; /* of `last` */
	__u64 settled_ns; /* until then the time in its modes is counted */
	__u32 generation; /* of the last reading that found it */
	int mode; /* its place among the series' modes; -1: not known */
	/* Of its algorithm's findings, by finding_field(). */
	bool found[FINDINGS_MAX];
	__u64 gone_ns[FINDINGS_MAX]; /* when it was first seen to be over */
	bool has_events; /* it is not only read */
	bool was_read; /* limited_us is known */
	bool ended; /* kept until the reading ends, which may still hand out its old state */
};

static struct totals totals_of(const struct bbr_event *e)
{
	return (struct totals){ e->bytes_sent, e->bytes_acked, e->bytes_retrans, e->lost };
}

static struct netns_label *find_netns(struct netns_labels *l, __u32 inode)
{
	for (int i = 0; i < l->n; i++)
		if (l->of[i].inode == inode)
			return &l->of[i];
	return NULL;
}

/* NULL: there is no place for it, and it is "other". */
static struct netns_label *netns_of(struct metrics *m, __u32 inode)
{
	struct netns_labels *l = &m->netns;
	struct netns_label *found = find_netns(l, inode);
	char name[NAME_MAX + 1];

	if (found || l->n == NETNS_CACHED)
		return found;
	if (!l->named || !netns_name(inode, name))
		snprintf(name, sizeof(name), "%u", inode);
	found = &l->of[l->n++];
	*found = (struct netns_label){ inode, labels_index(&m->series.netns, name), 0 };
	return found;
}

/* A name may have come or gone, and the kernel reuses inode numbers. */
static void forget_old_names(struct netns_labels *l)
{
	struct stat st;
	__u64 changed_ns = 0;

	if (!l->named)
		return;
	if (!stat(NETNS_NAMED, &st))
		changed_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
	if (changed_ns != l->changed_ns || l->again)
		l->n = 0;
	l->again = changed_ns != l->changed_ns;
	l->changed_ns = changed_ns;
}

void metrics_init(struct metrics *m, bool live)
{
	memset(m, 0, sizeof(*m));
	metric_table_init(&m->series);
	LIST_INIT(&m->all);
	m->netns.named = live;
}

void metrics_free(struct metrics *m)
{
	conn_map_free(&m->by_tuple);
	metric_table_free(&m->series);
	metric_groups_free(&m->groups);
}

static void forget(struct metrics *m, struct tracked *c)
{
	LIST_REMOVE(c, list);
	conn_map_drop(&m->by_tuple, &c->tuple);
}

/* Counts the time in its mode, if somebody watched. */
static void settle(struct tracked *c, __u64 until_ns, bool watched)
{
	if (until_ns <= c->settled_ns)
		return;
	if (watched && c->mode >= 0)
		c->series->modes[c->mode].ns += until_ns - c->settled_ns;
	c->settled_ns = until_ns;
}

static void count_for_group(struct metrics *m, struct tracked *c)
{
	struct group_counts counts = { { c->last.sent - c->counted.sent,
					 c->last.acked - c->counted.acked,
					 c->last.retrans - c->counted.retrans } };

	if (!c->group)
		return;
	metric_group_count(&m->groups, c->group, &counts);
	c->counted = c->last;
}

static void join_group(struct metrics *m, struct tracked *c, const struct group_member *member)
{
	struct metric_group *before = c->group;

	c->group = metric_group_join(&m->groups, member);
	if (before)
		metric_group_leave(before);
	count_for_group(m, c);
}

static void end(struct metrics *m, struct tracked *c)
{
	if (m->groups.grouping.by && !c->group)
		join_group(m, c, NULL);
	count_for_group(m, c);
	if (c->group)
		metric_group_leave(c->group);
	c->series->ended++;
	if (m->reading)
		c->ended = true;
	else
		forget(m, c);
}

static struct tracked *add(struct metrics *m, const struct conn_key *tuple,
			   const struct algorithm *a, struct metric_series *series,
			   const struct bbr_event *e)
{
	bool is_full = !m->netns.named && m->by_tuple.n == RECORDED_TRACKED_MAX;
	struct tracked *c = is_full ? NULL : conn_map_new(&m->by_tuple, tuple, sizeof(*c));
	const struct field *f;

	if (!c) {
		m->untracked++;
		return NULL;
	}
	LIST_INSERT_HEAD(&m->all, c, list);
	c->series = series;
	c->first = c->last = c->counted = totals_of(e);
	c->seen_ns = c->settled_ns = e->time_ns;
	c->mode = metric_series_mode(series, a, e->mode);
	for (unsigned int i = 0; (f = finding_field(a, i)); i++)
		c->found[i] = finding_is_made(f, e);
	if (m->groups.grouping.by >= BY_PREFIX)
		join_group(m, c,
			   &(struct group_member){ .raddr = e->raddr,
						   .netns = e->netns,
						   .is_recorded = !m->netns.named });
	return c;
}

/*
 * True if this is not the connection that we saw before, whose end was then lost.
 * Events from before the last reading come after it if they were still in the ring. The start of a
 * connection of the kernel's own bbr comes with its first ACK, when a reading may have found it
 * already.
 */
static bool is_another(const struct tracked *c, const struct metric_series *series,
		       const struct bbr_event *e)
{
	return e->time_ns >= c->seen_ns &&
	       ((e->kind == BBR_EV_START && c->has_events) ||
		series->instance != c->series->instance || e->bytes_sent < c->last.sent ||
		e->bytes_acked < c->last.acked);
}

static void add_difference(struct metric_series *s, const struct totals *from,
			   const struct totals *to)
{
	s->sent += to->sent - from->sent;
	s->acked += to->acked - from->acked;
	s->retrans += to->retrans - from->retrans;
	s->lost += to->lost - from->lost; /* modulo 2^32, as the kernel counts */
}

/* Counts a finding, if the series has had an algorithm with this field. */
static void count_finding(const struct tracked *c, const struct field *f)
{
	struct field_counts *counts = metric_series_field(c->series, f);

	if (counts)
		counts->found++;
}

static void take_findings(struct tracked *c, const struct algorithm *a, const struct bbr_event *e)
{
	const struct field *f;

	for (unsigned int i = 0; (f = finding_field(a, i)); i++) {
		bool was = c->found[i];

		c->found[i] = finding_is_made(f, e);
		if (c->found[i] && !was)
			count_finding(c, f);
		if (was && !c->found[i])
			c->gone_ns[i] = e->time_ns;
	}
}

/* Takes a state that is newer than what was seen before. */
static void take_state(struct tracked *c, const struct algorithm *a, struct metric_series *series,
		       const struct bbr_event *e)
{
	struct totals totals = totals_of(e);

	settle(c, e->time_ns, true);
	add_difference(c->series, &c->last, &totals);
	take_findings(c, a, e);
	c->last = totals;
	c->seen_ns = e->time_ns;
	c->series = series;
	c->mode = metric_series_mode(series, a, e->mode);
}

static void take_ack(struct metric_series *s, const struct algorithm *a, const struct bbr_event *e)
{
	double pacing_bps = event_pacing_bps(e), value;

	if (e->rtt_us != BBR_RTT_NONE && e->min_rtt_us != BBR_RTT_NONE && e->min_rtt_us)
		om_observe(&s->rtt, &rtt_bounds, (double)e->rtt_us / e->min_rtt_us);
	if (e->bw)
		om_observe(&s->bw, &rate_bounds, event_bytes_per_s(e, e->bw));
	if (!isnan(pacing_bps))
		om_observe(&s->pacing, &rate_bounds, pacing_bps / 8);
	for (const struct field *f = a->fields; f < metric_fields_end(a); f++) {
		const struct om_bounds *bounds = field_metric_bounds(f);
		struct field_counts *counts = bounds ? metric_series_field(s, f) : NULL;

		if (counts && field_metric_value(f, e, &value))
			om_observe(&counts->samples, bounds, value);
	}
}

/* Counts a finding that was over before a sample had it: only the mode's reason tells of it. */
static void take_reason(struct tracked *c, const struct algorithm *a, const struct bbr_event *e)
{
	const char *reason = reason_name(a, e->reason);
	const struct field *f;

	for (unsigned int i = 0; (f = finding_field(a, i)); i++)
		if (f->finding->reason && !strcmp(f->finding->reason, reason) &&
		    c->gone_ns[i] < e->time_ns)
			count_finding(c, f);
}

static void take_event(struct tracked *c, const struct algorithm *a, const struct bbr_event *e)
{
	struct metric_series *s = c->series;
	int mode;

	switch (e->kind) {
	case BBR_EV_START:
		s->started++;
		break;
	case BBR_EV_ACK:
		take_ack(s, a, e);
		break;
	case BBR_EV_MODE:
		mode = metric_series_mode(s, a, e->to);
		if (mode >= 0)
			s->modes[mode].entered++;
		if (event_has_reason(e))
			take_reason(c, a, e);
		break;
	case BBR_EV_RECOVERY:
		s->recoveries += e->to == TCP_CA_Recovery;
		break;
	case BBR_EV_RTO:
		s->rtos++;
		break;
	}
}

static struct tracked *find(struct metrics *m, const struct conn_key *tuple)
{
	return (struct tracked *)conn_map_find(&m->by_tuple, tuple);
}

/* What is known about the connection of this event; NULL: it is new. */
static struct tracked *known(struct metrics *m, const struct conn_key *tuple,
			     const struct metric_series *series, const struct bbr_event *e)
{
	struct tracked *c = find(m, tuple);

	if (c && !c->ended && is_another(c, series, e))
		end(m, c);
	c = find(m, tuple);
	if (c && c->ended && e->kind != BBR_EV_STATE) {
		forget(m, c);
		c = NULL;
	}
	return c;
}

void metrics_note(struct metrics *m, const struct origin *origin, const struct bbr_event *e)
{
	const struct conn_key tuple = conn_key_of_tuple(e);
	const char *profile = origin_profile(origin, e);
	struct netns_label *netns = netns_of(m, e->netns);
	struct metric_series *series =
		metric_series_get(&m->series, origin->algorithm, origin->name,
				  profile ? profile : "", netns ? netns->label : LABEL_OTHER);
	struct tracked *c = known(m, &tuple, series, e);
	struct totals started;

	if (!c)
		c = add(m, &tuple, origin->algorithm, series, e);
	if (!c || c->ended)
		return;
	if (e->kind == BBR_EV_STATE) {
		c->generation = m->generation;
		if (netns)
			netns->generation = m->generation;
	} else {
		c->has_events = true;
	}
	if (e->time_ns >= c->seen_ns) {
		take_state(c, origin->algorithm, series, e);
	} else if (e->kind == BBR_EV_START) {
		/* A reading had found the connection before the event of its start came. */
		started = totals_of(e);
		add_difference(c->series, &started, &c->first);
		c->counted.sent -= c->first.sent - started.sent;
		c->counted.acked -= c->first.acked - started.acked;
		c->counted.retrans -= c->first.retrans - started.retrans;
		c->first = started;
	}
	count_for_group(m, c);
	take_event(c, origin->algorithm, e);
	if (e->kind == BBR_EV_END)
		end(m, c);
}

/* A reading says who has the socket, and how long it was limited since the one before. */
static void note_limits(struct metrics *m, struct tracked *c, const struct bbr_snapshot *snap)
{
	const __u64 now_us[] = { us_of_ticks(snap->busy_ticks), us_of_ticks(snap->rwnd_ticks),
				 us_of_ticks(snap->sndbuf_ticks) };
	struct group_counts counts = {};

	for (int i = 0; i < 3 && c->was_read; i++)
		counts.value[GROUP_BUSY + i] = now_us[i] - c->limited_us[i];
	metric_group_count(&m->groups, c->group, &counts);
	c->was_read = true;
	memcpy(c->limited_us, now_us, sizeof(now_us));
}

void metrics_note_socket(struct metrics *m, const struct origin *origin,
			 const struct bbr_snapshot *snap)
{
	const struct conn_key tuple = conn_key_of_tuple(&snap->event);
	const struct group_member member = { .raddr = snap->event.raddr,
					     .cgroup = snap->cgroup,
					     .inode = snap->inode,
					     .netns = snap->event.netns };
	struct tracked *c;

	metrics_note(m, origin, &snap->event);
	c = m->groups.grouping.by ? find(m, &tuple) : NULL;
	if (!c || c->ended)
		return;
	if (!c->group || m->groups.grouping.by == BY_PROCESS) /* others do not change */
		join_group(m, c, &member);
	note_limits(m, c, snap);
}

static bool is_lost(struct metrics *m, const struct tracked *c, bool complete)
{
	const struct netns_label *netns = find_netns(&m->netns, c->tuple.netns);
	bool was_read = netns && netns->generation == m->generation;
	__u64 silence_ns = c->has_events ? SILENT_NS : 0;

	if (c->generation == m->generation)
		return false;
	if (!complete && !was_read)
		silence_ns = NOT_READ_NS;
	return c->seen_ns + silence_ns < m->reading_ns;
}

void metrics_begin_reading(struct metrics *m, __u64 now_ns)
{
	grouping_read(&m->groups.grouping);
	m->reading = true;
	m->reading_ns = now_ns;
	m->generation++;
}

void metrics_end_reading(struct metrics *m, bool complete)
{
	struct tracked *next;

	m->reading = false;
	for (struct tracked *c = LIST_FIRST(&m->all); c; c = next) {
		next = LIST_NEXT(c, list);
		if (c->ended)
			forget(m, c);
		else if (is_lost(m, c, complete))
			end(m, c);
	}
	metric_groups_rank(&m->groups);
}

void metrics_settle(struct metrics *m, __u64 now_ns, bool watched)
{
	struct tracked *c;

	LIST_FOREACH(c, &m->all, list)
	settle(c, now_ns, watched);
	forget_old_names(&m->netns);
}

void metrics_count_connections(struct metrics *m)
{
	const struct tracked *c;

	for (int i = 0; i < m->series.n; i++)
		for (int mode = 0; mode < m->series.all[i].n_modes; mode++)
			m->series.all[i].modes[mode].connections = 0;
	LIST_FOREACH(c, &m->all, list)
	if (!c->ended && c->mode >= 0)
		c->series->modes[c->mode].connections++;
}
