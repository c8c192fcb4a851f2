// SPDX-License-Identifier: GPL-2.0-only
/* Prints each series, by family. */
#include <stddef.h>
#include <stdio.h>

#include "kernel/clock.h"
#include "metric_series.h"
#include "metrics.h"

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

/* Of the model that every BBR has. An algorithm's own fields follow, see metric_series.h. */
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

/* A member of each series: a histogram, or without bounds a number. */
static void print_member(const struct metric_table *t, struct openmetrics *om,
			 const struct om_family *family, const struct om_bounds *bounds,
			 size_t member)
{
	om_family(om, family);
	for (int i = 0; i < t->n; i++) {
		const void *of = (const char *)&t->all[i] + member;
		struct shown_labels labels = labels_of(t, &t->all[i]);

		if (bounds)
			om_histogram(om, family, labels.label, bounds, of);
		else
			om_number(om, family, labels.label, *(const __u64 *)of);
	}
}

/* The counts of a field in each series that has it: the samples, or without bounds the finding. */
static void print_field(const struct metric_table *t, struct openmetrics *om,
			const struct om_family *family, const struct field *f,
			const struct om_bounds *bounds)
{
	om_family(om, family);
	for (int i = 0; i < t->n; i++) {
		const struct field_counts *counts = metric_series_field(&t->all[i], f);
		struct shown_labels labels = labels_of(t, &t->all[i]);

		if (counts && bounds)
			om_histogram(om, family, labels.label, bounds, &counts->samples);
		else if (counts)
			om_number(om, family, labels.label, counts->found);
	}
}

static void print_finding(const struct metric_table *t, struct openmetrics *om,
			  const struct field *f)
{
	const struct field_finding *finding = f->finding;

	if (finding)
		print_field(t, om,
			    &(struct om_family){ finding->metric, OM_COUNTER, NULL, finding->help },
			    f, NULL);
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
	print_field(t, om, &family, f, bounds);
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
		print_member(t, om,
			     &(struct om_family){ numbers[i].name, OM_COUNTER, numbers[i].unit,
						  numbers[i].help },
			     NULL, numbers[i].member);
	for (int i = 0; i < t->n_fields; i++)
		print_finding(t, om, t->fields[i]);
	print_modes(t, om, &transitions_family, offsetof(struct mode_counts, entered), 1);
	print_modes(t, om, &seconds_family, offsetof(struct mode_counts, ns), NS_PER_S);
	for (size_t i = 0; i < N(histograms); i++)
		print_member(t, om, &histograms[i].family, histograms[i].bounds,
			     histograms[i].member);
	for (int i = 0; i < t->n_fields; i++)
		print_samples(t, om, t->fields[i]);
}
