// SPDX-License-Identifier: GPL-2.0-only
/* What is counted, and how it is printed: each series, by family. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "event/field.h"
#include "kernel/clock.h"
#include "metrics.h"

const struct om_bounds rtt_bounds = {
	.n = 10,
	.le = { 1, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 50 },
};

void metric_table_init(struct metric_table *t)
{
	memset(t, 0, sizeof(*t));
	t->instances.max = SERIES_INSTANCES;
	t->profiles.max = SERIES_PROFILES;
	t->netns.max = SERIES_NETNS;
}

void metric_table_free(struct metric_table *t)
{
	labels_free(&t->instances);
	labels_free(&t->profiles);
	labels_free(&t->netns);
	for (int i = 0; i < t->n; i++) {
		free(t->all[i].modes);
		free(t->all[i].fields);
	}
}

static struct metric_series *find(struct metric_table *t, int instance, int profile, int netns)
{
	for (struct metric_series *s = t->all; s < t->all + t->n; s++)
		if (s->instance == instance && s->profile == profile && s->netns == netns)
			return s;
	return NULL;
}

static int find_mode(const struct metric_series *s, const char *name)
{
	for (int i = 0; i < s->n_modes; i++)
		if (!strcmp(s->modes[i].name, name))
			return i;
	return -1;
}

static void add_modes(struct metric_table *t, struct metric_series *s, const struct algorithm *a)
{
	for (int i = 0; i < a->n_modes; i++) {
		if (find_mode(s, a->modes[i].name) >= 0)
			continue;
		if (s->n_modes == SERIES_MODES) {
			t->is_full = true;
			break;
		}
		MEM_ADD(s->modes, s->n_modes) = (struct mode_counts){ .name = a->modes[i].name };
	}
}

static bool is_same(const struct field *a, const struct field *b)
{
	return a == b || (a->lane == b->lane && !strcmp(a->key, b->key));
}

struct field_counts *metric_series_field(const struct metric_series *s, const struct field *f)
{
	for (int i = 0; i < s->n_fields; i++)
		if (is_same(s->fields[i].field, f))
			return &s->fields[i];
	return NULL;
}

/* True if the field is one of the table's, or becomes one. */
static bool has_place(struct metric_table *t, const struct field *f)
{
	for (int i = 0; i < t->n_fields; i++)
		if (is_same(t->fields[i], f))
			return true;
	if (t->n_fields == SERIES_FIELDS)
		return false;
	t->fields[t->n_fields++] = f;
	return true;
}

static void add_fields(struct metric_table *t, struct metric_series *s, const struct algorithm *a)
{
	t->is_full |= a->n_fields > SERIES_FIELDS;
	for (const struct field *f = a->fields; f < metric_fields_end(a); f++) {
		if ((!f->finding && !field_metric_bounds(f)) || metric_series_field(s, f))
			continue;
		if (has_place(t, f))
			MEM_ADD(s->fields, s->n_fields) = (struct field_counts){ .field = f };
		else
			t->is_full = true;
	}
}

int metric_series_mode(const struct metric_series *s, const struct algorithm *a, unsigned int mode)
{
	return mode < a->n_modes ? find_mode(s, a->modes[mode].name) : -1;
}

struct metric_series *metric_series_get(struct metric_table *t, const struct algorithm *a,
					const char *instance, const char *profile, int netns)
{
	int i = labels_index(&t->instances, instance);
	int p = labels_index(&t->profiles, profile);
	struct metric_series *s = find(t, i, p, netns);

	/* The last place is for all that get none of their own. */
	if (!s && t->n >= SERIES_MAX - 1) {
		i = p = netns = LABEL_OTHER;
		s = find(t, i, p, netns);
	}
	if (!s) {
		s = &t->all[t->n++];
		s->instance = i;
		s->profile = p;
		s->netns = netns;
	}
	if (a != s->latest) {
		add_modes(t, s, a);
		add_fields(t, s, a);
		s->latest = a;
	}
	return s;
}

/* 100 kbit/s to 100 Gbit/s. */
const struct om_bounds rate_bounds = {
	.n = 11,
	.le = { 12500, 125000, 625000, 1.25e6, 6.25e6, 1.25e7, 6.25e7, 1.25e8, 6.25e8, 1.25e9,
		1.25e10 },
};

static const struct om_bounds time_bounds = {
	.n = 11,
	.le = { 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10 },
};

static const struct om_bounds packet_bounds = {
	.n = 11,
	.le = { 4, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000 },
};

/* The unit of a metric, by the plot in which its field is drawn. */
static const struct {
	const char *of_key; /* how the key of such a field ends */
	const char *unit;
	double size; /* in the unit of field_value() */
	const struct om_bounds *bounds; /* NULL: the plot has no numbers, or they only grow */
} units[LANES] = {
	[LANE_RATE] = { "_bps", "bytes_per_second", 8, &rate_bounds },
	[LANE_RTT] = { "_us", "seconds", 1e6, &time_bounds },
	[LANE_INFLIGHT] = { "", "packets", 1, &packet_bounds },
};

const struct om_bounds *field_metric_bounds(const struct field *f)
{
	return field_is_own(f) ? units[f->lane].bounds : NULL;
}

const char *field_metric_name(char buf[FIELD_METRIC_LEN], const struct field *f)
{
	const char *unit = units[f->lane].unit, *of_key = units[f->lane].of_key;
	size_t len = strlen(f->key), end = strlen(of_key);

	if (len > end && !strcmp(f->key + len - end, of_key))
		len -= end;
	snprintf(buf, FIELD_METRIC_LEN, "bbr_%.*s_%s", (int)len, f->key, unit);
	/* A key may have "." and "-", a metric's name may not. */
	for (char *c = buf; (c = strpbrk(c, ".-"));)
		*c = '_';
	return unit;
}

bool field_metric_value(const struct field *f, const struct bbr_event *e, double *value)
{
	__u64 shown;

	/* A rate of 0 has not been measured yet. */
	if (!field_value(f, e, &shown) || (f->lane == LANE_RATE && !shown))
		return false;
	*value = shown / units[f->lane].size;
	return true;
}

/* ---- printing */

static const struct om_family connections_family = {
	"bbr_connections", OM_GAUGE, NULL, "Connections that use BBR now, by BBR's mode."
};

#define AT(member) offsetof(struct metric_series, member)

/* Counters. */
static const struct {
	const char *name, *unit, *help;
	size_t member;
} numbers[] = {
	{ "bbr_connections_started", NULL,
	  "Connections that began to use BBR while they were watched.", AT(started) },
	{ "bbr_connections_ended", NULL,
	  "Connections that closed, or were switched to something else.", AT(ended) },
	{ "bbr_sent_bytes", "bytes", "Payload that was sent, retransmissions included.", AT(sent) },
	{ "bbr_acked_bytes", "bytes", "Payload that was acknowledged.", AT(acked) },
	{ "bbr_retransmitted_bytes", "bytes", "Payload that was sent again.", AT(retrans) },
	{ "bbr_lost_packets", "packets", "Packets that the stack took for lost.", AT(lost) },
	{ "bbr_retransmission_timeouts", NULL, "Retransmission timeouts (RTO).", AT(rtos) },
	{ "bbr_recoveries", NULL, "Times that fast recovery was entered.", AT(recoveries) },
};

static const struct om_family transitions_family = {
	"bbr_mode_transitions", OM_COUNTER, NULL, "Times that the mode was entered from another."
};

static const struct om_family seconds_family = {
	"bbr_mode_seconds", OM_COUNTER, "seconds",
	"Time that connections spent in the mode, summed over them."
};

/* Of the model that every BBR has. An algorithm's own fields follow, see metrics.h. */
static const struct {
	struct om_family family;
	const struct om_bounds *bounds;
	size_t member;
} histograms[] = {
	{ { "bbr_rtt_min_rtt_ratio", OM_HISTOGRAM, "ratio",
	    "RTT over min_rtt, of each ACK that was sampled: above 1 is queueing." },
	  &rtt_bounds,
	  AT(rtt) },
	{ { "bbr_bandwidth_bytes_per_second", OM_HISTOGRAM, "bytes_per_second",
	    "Estimate of the bandwidth (bw), of each ACK that was sampled." },
	  &rate_bounds,
	  AT(bw) },
	{ { "bbr_pacing_rate_bytes_per_second", OM_HISTOGRAM, "bytes_per_second",
	    "Pacing rate, of each ACK that was sampled." },
	  &rate_bounds,
	  AT(pacing) },
};

#define N(a) (sizeof(a) / sizeof(a[0]))

/* There is room for three labels, the mode and the end, and for no more. */
struct shown_labels {
	struct om_label label[5];
};

static struct shown_labels labels_of(const struct metric_table *t, const struct metric_series *s)
{
	return (struct shown_labels){ {
		{ "bbr_instance", labels_value(&t->instances, s->instance) },
		{ "profile", labels_value(&t->profiles, s->profile) },
		{ "netns", labels_value(&t->netns, s->netns) },
	} };
}

/* A family by mode: a member of its counts, divided. */
static void print_modes(const struct metric_table *t, struct openmetrics *om,
			const struct om_family *family, size_t member, double divisor)
{
	om_family(om, family);
	for (int i = 0; i < t->n; i++) {
		const struct metric_series *s = &t->all[i];
		struct shown_labels labels = labels_of(t, s);

		for (const struct mode_counts *m = s->modes; m < s->modes + s->n_modes; m++) {
			labels.label[3] = (struct om_label){ "mode", m->name };
			om_number(om, family, labels.label,
				  *(const __u64 *)((const char *)m + member) / divisor);
		}
	}
}

/*
 * A member of each series or, with a field, of its counts in those that have it: a histogram, or
 * without bounds a number.
 */
static void print_series(const struct metric_table *t, struct openmetrics *om,
			 const struct om_family *family, const struct om_bounds *bounds,
			 const struct field *f, size_t member)
{
	om_family(om, family);
	for (int i = 0; i < t->n; i++) {
		struct shown_labels labels = labels_of(t, &t->all[i]);
		const void *of = &t->all[i];

		if (f)
			of = metric_series_field(&t->all[i], f);
		if (of && bounds)
			om_histogram(om, family, labels.label, bounds, of + member);
		else if (of)
			om_number(om, family, labels.label, *(const __u64 *)(of + member));
	}
}

static void print_samples(const struct metric_table *t, struct openmetrics *om,
			  const struct field *f)
{
	const struct om_bounds *bounds = field_metric_bounds(f);
	char name[FIELD_METRIC_LEN], help[FIELD_METRIC_LEN];
	struct om_family family = { name, OM_HISTOGRAM, NULL, help };

	if (!bounds)
		return;
	family.unit = field_metric_name(name, f);
	snprintf(help, sizeof(help), "The algorithm's own %s, of each ACK that was sampled.",
		 f->curve ? f->curve : f->key);
	print_series(t, om, &family, bounds, f, offsetof(struct field_counts, samples));
}

void metrics_print(struct metrics *m, struct openmetrics *om, bool counters)
{
	const struct metric_table *t = &m->series;

	metrics_count_connections(m);
	print_modes(t, om, &connections_family, offsetof(struct mode_counts, connections), 1);
	metric_groups_print(&m->groups, om, counters, m->netns.named);
	if (!counters)
		return;
	for (size_t i = 0; i < N(numbers); i++)
		print_series(t, om,
			     &(struct om_family){ numbers[i].name, OM_COUNTER, numbers[i].unit,
						  numbers[i].help },
			     NULL, NULL, numbers[i].member);
	for (int i = 0; i < t->n_fields; i++) {
		const struct field_finding *f = t->fields[i]->finding;

		if (f)
			print_series(t, om,
				     &(struct om_family){ f->metric, OM_COUNTER, NULL, f->help },
				     NULL, t->fields[i], offsetof(struct field_counts, found));
	}
	print_modes(t, om, &transitions_family, offsetof(struct mode_counts, entered), 1);
	print_modes(t, om, &seconds_family, offsetof(struct mode_counts, ns), NS_PER_S);
	for (size_t i = 0; i < N(histograms); i++)
		print_series(t, om, &histograms[i].family, histograms[i].bounds, NULL,
			     histograms[i].member);
	for (int i = 0; i < t->n_fields; i++)
		print_samples(t, om, t->fields[i]);
}
