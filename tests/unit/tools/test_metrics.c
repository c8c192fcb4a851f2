/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrmon export counts, from events and readings of one connection. */
#define _GNU_SOURCE /* open_memstream() */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "bpf/bbr/event.h"
#include "kernel/clock.h"
#include "event/field.h"
#include "export/metrics.h"
#include "made_up.h"

extern const struct algorithm algorithm_bbr, algorithm_bbr3;

static const struct origin ours = { .name = "ours", .id = 1, .algorithm = &algorithm_bbr };
static const struct origin kernel = {
	.name = "bbr", .id = 2, .algorithm = &algorithm_bbr, .is_kernel = true
};

static struct metrics m;

static int set_up(void **state)
{
	(void)state;
	metrics_init(&m, false);
	return 0;
}

static char *printed;

static int tear_down(void **state)
{
	(void)state;
	metrics_free(&m);
	free(printed);
	printed = NULL;
	return 0;
}

static struct bbr_event event(__u8 kind, __u64 ms, __u8 mode, enum bbr_policer policer)
{
	struct bbr_event e = made_up_event(1, mode, 0, 0);

	e.size = BBR_EVENT_BASE + algorithm_bbr.tail_size;
	e.kind = kind;
	e.time_ns = NS_PER_S + ms * NS_PER_MS;
	for (int i = 0; i < algorithm_bbr.n_fields; i++)
		if (!strcmp(algorithm_bbr.fields[i].key, "policer"))
			((__u8 *)&e)[algorithm_bbr.fields[i].offset] = policer;
	return e;
}

static void note_of(const struct origin *origin, struct bbr_event e)
{
	metrics_note(&m, origin, &e);
}

static void note(struct bbr_event e)
{
	note_of(&ours, e);
}

static const struct metric_series *only(void)
{
	assert_int_equal(m.series.n, 1);
	return &m.series.all[0];
}

static const struct mode_counts *mode(const char *name)
{
	const struct metric_series *s = only();

	for (int i = 0; i < s->n_modes; i++)
		if (!strcmp(s->modes[i].name, name))
			return &s->modes[i];
	fail_msg("no mode %s", name);
	return NULL;
}

static const struct field_counts *counts(const struct algorithm *a, const char *key)
{
	return metric_series_field(only(), field_find(a, key));
}

static __u64 policers(void)
{
	return counts(&algorithm_bbr, "policer")->found;
}

static void a_policer_counts_each_time_it_is_found(void **state)
{
	(void)state;
	note(event(BBR_EV_START, 0, BBR_STARTUP, BBR_POLICER_OFF));
	note(event(BBR_EV_ACK, 1, BBR_STARTUP, BBR_POLICER_SAMPLING));
	assert_int_equal(policers(), 0);
	note(event(BBR_EV_ACK, 2, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	note(event(BBR_EV_ACK, 3, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	assert_int_equal(policers(), 1);
	note(event(BBR_EV_ACK, 4, BBR_PROBE_BW, BBR_POLICER_OFF));
	note(event(BBR_EV_ACK, 5, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	assert_int_equal(policers(), 2);
}

/* A policer between two samples: only the expiry of its rate shows that there was one. */
static void a_policer_that_no_sample_has_counts_by_its_end(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 2, BBR_PROBE_BW, BBR_POLICER_OFF);

	(void)state;
	note(event(BBR_EV_ACK, 1, BBR_PROBE_BW, BBR_POLICER_OFF));
	e.from = e.to = BBR_PROBE_BW;
	e.reason = BBR_R_DRAINED;
	note(e);
	assert_int_equal(policers(), 0);
	e.time_ns++;
	e.reason = BBR_R_LT_BW_EXPIRED;
	note(e);
	assert_int_equal(policers(), 1);
	/* One that was seen is counted already. */
	note(event(BBR_EV_ACK, 3, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	assert_int_equal(policers(), 2);
	e.time_ns = NS_PER_S + 4 * NS_PER_MS;
	note(e);
	assert_int_equal(policers(), 2);
}

static void the_kernels_events_have_no_reason(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 2, BBR_PROBE_BW, BBR_POLICER_OFF);

	(void)state;
	e.flags = BBR_F_KERNEL;
	e.reason = BBR_R_LT_BW_EXPIRED;
	e.to = BBR_PROBE_BW;
	note_of(&kernel, event(BBR_EV_ACK, 1, BBR_PROBE_BW, BBR_POLICER_OFF));
	note_of(&kernel, e);
	assert_int_equal(policers(), 0);
	assert_int_equal(mode("PROBE_BW")->entered, 1);
}

static void time_counts_for_the_mode_it_was_spent_in(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 100, BBR_DRAIN, BBR_POLICER_OFF);

	(void)state;
	note(event(BBR_EV_ACK, 0, BBR_STARTUP, BBR_POLICER_OFF));
	e.to = BBR_DRAIN;
	note(e);
	metrics_settle(&m, NS_PER_S + 150 * NS_PER_MS, true);
	metrics_settle(&m, NS_PER_S + 900 * NS_PER_MS, false); /* nobody watched */
	metrics_settle(&m, NS_PER_S + 910 * NS_PER_MS, true);
	assert_int_equal(mode("STARTUP")->ns, 100 * NS_PER_MS);
	assert_int_equal(mode("DRAIN")->ns, 60 * NS_PER_MS);
	assert_int_equal(mode("DRAIN")->entered, 1);
	metrics_count_connections(&m);
	assert_int_equal(mode("DRAIN")->connections, 1);
	assert_int_equal(mode("STARTUP")->connections, 0);
	note(event(BBR_EV_END, 950, BBR_DRAIN, BBR_POLICER_OFF));
	metrics_count_connections(&m);
	assert_int_equal(mode("DRAIN")->connections, 0);
	assert_int_equal(only()->ended, 1);
}

static void an_unknown_mode_is_in_no_count(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 100, BBR_MODES, BBR_POLICER_OFF);

	(void)state;
	e.to = BBR_MODES;
	note(event(BBR_EV_ACK, 0, BBR_STARTUP, BBR_POLICER_OFF));
	note(e);
	metrics_settle(&m, NS_PER_S + 500 * NS_PER_MS, true);
	metrics_count_connections(&m);
	for (int i = 0; i < only()->n_modes; i++) {
		assert_int_equal(only()->modes[i].entered, 0);
		assert_int_equal(only()->modes[i].connections, 0);
		assert_int_equal(only()->modes[i].ns, i ? 0 : 100 * NS_PER_MS);
	}
}

/* The same name, profile and namespace: an instance was migrated to another algorithm. */
static void a_series_has_the_modes_of_all_its_algorithms(void **state)
{
	struct origin other = ours;

	(void)state;
	other.algorithm = &made_up;
	other.id = 9;
	note(event(BBR_EV_ACK, 0, BBR_PROBE_BW, BBR_POLICER_OFF));
	note_of(&other, made_up_event(2, RUN, 5, 0));
	metrics_count_connections(&m);
	assert_int_equal(only()->n_modes, BBR_MODES + MADE_UP_MODES);
	assert_int_equal(mode("PROBE_BW")->connections, 1);
	assert_int_equal(mode("RUN")->connections, 1);
	assert_int_equal(mode("CRAWL")->connections, 0);
}

static void set_field(struct bbr_event *e, const char *key, __u32 value)
{
	memcpy((char *)e + field_find(&algorithm_bbr3, key)->offset, &value, sizeof(value));
}

/* 12 Mbit/s: bw is packets of mss bytes per microsecond << 24. */
static struct bbr_event v3_ack(__u64 ms)
{
	struct bbr_event e = made_up_event(1, 0, 0, 0);

	e.size = BBR_EVENT_BASE + algorithm_bbr3.tail_size;
	e.time_ns = NS_PER_S + ms * NS_PER_MS;
	e.mss = 1500;
	memset(e.tail, 0, sizeof(e.tail));
	set_field(&e, "bw_hi_bps", (1 << 24) / 1000);
	set_field(&e, "bw_lo_bps", ~0u);
	set_field(&e, "inflight_hi", 50);
	set_field(&e, "inflight_lo", ~0u);
	return e;
}

static __u64 samples(const struct om_histogram *h)
{
	__u64 n = 0;

	for (int i = 0; i <= OM_BUCKETS; i++)
		n += h->bucket[i];
	return n;
}

static void numbers_of_its_own_are_histograms(void **state)
{
	const struct origin v3 = { .name = "three", .id = 3, .algorithm = &algorithm_bbr3 };
	struct bbr_event e = v3_ack(0);

	(void)state;
	note_of(&v3, e);
	set_field(&e, "inflight_lo", 7);
	e.time_ns++;
	note_of(&v3, e);
	e.kind = BBR_EV_RTO; /* not an ACK */
	e.time_ns++;
	note_of(&v3, e);
	assert_int_equal(samples(&counts(&algorithm_bbr3, "bw_hi_bps")->samples), 2);
	assert_float_equal(counts(&algorithm_bbr3, "bw_hi_bps")->samples.sum, 2 * 1500e3, 1000);
	assert_int_equal(counts(&algorithm_bbr3, "bw_hi_bps")->samples.bucket[4], 2);
	assert_int_equal(samples(&counts(&algorithm_bbr3, "bw_lo_bps")->samples), 0);
	assert_true(counts(&algorithm_bbr3, "inflight_hi")->samples.sum == 100);
	assert_int_equal(counts(&algorithm_bbr3, "inflight_hi")->samples.bucket[3], 2);
	assert_true(counts(&algorithm_bbr3, "inflight_lo")->samples.sum == 7);
	assert_int_equal(samples(&counts(&algorithm_bbr3, "inflight_lo")->samples), 1);
	/* Every BBR has these, or they are in no plot of numbers. */
	assert_null(counts(&algorithm_bbr3, "bw_bps"));
	assert_null(counts(&algorithm_bbr3, "min_rtt_us"));
	assert_null(counts(&algorithm_bbr3, "phase"));
	assert_null(counts(&algorithm_bbr3, "prior_cwnd"));
}

static void a_rate_of_0_is_no_sample(void **state)
{
	const struct origin v3 = { .name = "three", .id = 3, .algorithm = &algorithm_bbr3 };
	struct bbr_event e = v3_ack(0);

	(void)state;
	set_field(&e, "bw_hi_bps", 0);
	set_field(&e, "inflight_hi", 0);
	note_of(&v3, e);
	assert_int_equal(samples(&counts(&algorithm_bbr3, "bw_hi_bps")->samples), 0);
	assert_int_equal(samples(&counts(&algorithm_bbr3, "inflight_hi")->samples), 1);
}

static void assert_metric(const struct field *f, const char *name, const char *unit)
{
	char buf[FIELD_METRIC_LEN];

	assert_non_null(field_metric_bounds(f));
	assert_string_equal(field_metric_name(buf, f), unit);
	assert_string_equal(buf, name);
}

static void a_metric_is_named_after_its_field_and_unit(void **state)
{
	struct field f = { .key = "worst_rtt_us", .offset = BBR_EVENT_BASE, .lane = LANE_RTT };

	(void)state;
	assert_metric(field_find(&algorithm_bbr3, "bw_hi_bps"), "bbr_bw_hi_bytes_per_second",
		      "bytes_per_second");
	assert_metric(field_find(&algorithm_bbr3, "inflight_lo"), "bbr_inflight_lo_packets",
		      "packets");
	assert_metric(&f, "bbr_worst_rtt_seconds", "seconds");
	f.key = "bps";
	f.lane = LANE_RATE;
	assert_metric(&f, "bbr_bps_bytes_per_second", "bytes_per_second");
	f.key = "of.a-recording_bps"; /* the keys of a recording may have these */
	assert_metric(&f, "bbr_of_a_recording_bytes_per_second", "bytes_per_second");
	f.offset--;
	assert_null(field_metric_bounds(&f));
	f.offset++;
	f.lane = LANE_LOSSES;
	assert_null(field_metric_bounds(&f));
}

/* Version 1 has a policer, version 3 has bounds. */
static void a_family_is_printed_once_and_only_where_it_exists(void **state)
{
	const struct origin v3 = { .name = "three", .id = 3, .algorithm = &algorithm_bbr3 };
	const struct origin again = { .name = "again", .id = 4, .algorithm = &algorithm_bbr3 };
	struct openmetrics om = { .classic = true };
	const char *first;
	char *text;
	size_t size;

	(void)state;
	om.out = open_memstream(&text, &size);
	note_of(&v3, v3_ack(0));
	metrics_print(&m, &om, true);
	fflush(om.out);
	assert_null(strstr(text, "policer"));
	fclose(om.out);
	free(text);

	om.out = open_memstream(&text, &size);
	note(event(BBR_EV_ACK, 1, BBR_PROBE_BW, BBR_POLICER_OFF));
	note_of(&again, v3_ack(2));
	metrics_print(&m, &om, true);
	fclose(om.out);
	first = strstr(text, "# HELP bbr_bw_hi_bytes_per_second The algorithm's own bw_hi, of each "
			     "ACK that was sampled.\n"
			     "# TYPE bbr_bw_hi_bytes_per_second histogram\n"
			     "bbr_bw_hi_bytes_per_second_bucket{bbr_instance=\"three\"");
	assert_non_null(first);
	assert_null(strstr(first + 1, "# HELP bbr_bw_hi"));
	assert_non_null(strstr(text, "bbr_bw_hi_bytes_per_second_count{bbr_instance=\"again\","
				     "profile=\"\",netns=\"1\"} 1\n"));
	assert_null(strstr(text, "bbr_bw_hi_bytes_per_second_count{bbr_instance=\"ours\""));
	assert_non_null(strstr(text, "bbr_inflight_lo_packets_count{bbr_instance=\"three\","
				     "profile=\"\",netns=\"1\"} 0\n"));
	assert_non_null(strstr(text, "bbr_policer_detections_total{bbr_instance=\"ours\","
				     "profile=\"\",netns=\"1\"} 0\n"));
	assert_null(strstr(text, "bbr_policer_detections_total{bbr_instance=\"three\""));
	assert_non_null(strstr(text, "bbr_cpu_shortages_total{bbr_instance=\"ours\""));
	assert_non_null(strstr(text, "bbr_cpu_shortages_total{bbr_instance=\"three\""));
	free(text);
}

/* Whatever a name has in it, a sample is one line, its label ends where it should, and names that look alike are one sample. */
static void a_name_does_not_leave_its_label(void **state)
{
	struct origin bad = ours;
	struct openmetrics om = { .classic = true };
	const char *line;
	char *text;
	size_t size;

	(void)state;
	strcpy(bad.name, "a\"} 1\n\\\xff\r\xc3\xa4\x1b");
	om.out = open_memstream(&text, &size);
	note_of(&bad, event(BBR_EV_START, 0, BBR_STARTUP, BBR_POLICER_OFF));
	strcpy(bad.name, "a\"} 1\x7f\\\xfe\n\xe2\x82\t");
	bad.id = 77;
	note_of(&bad, event(BBR_EV_START, 1, BBR_STARTUP, BBR_POLICER_OFF));
	metrics_print(&m, &om, true);
	fclose(om.out);
	line = strstr(text, "\nbbr_connections_started_total{bbr_instance=\"a\\\"} 1?\\\\?????\","
			    "profile=\"\",netns=\"1\"} ");
	assert_non_null(line);
	assert_null(strstr(line + 1, "\nbbr_connections_started_total{"));
	for (const char *c = text; *c; c++)
		if (*c != '\n')
			assert_in_range(*c, ' ', '~');
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- groups (--by) */

/* Of a group: the value of a metric in what export prints; -1: it has no such series. */
static double value_of(const char *metric, const char *group)
{
	char start[128];
	const char *at;

	snprintf(start, sizeof(start), "\n%s{by=\"prefix\",group=\"%s\"} ", metric, group);
	at = strstr(printed, start);
	return at ? strtod(at + strlen(start), NULL) : -1;
}

static void print_groups(void)
{
	struct openmetrics om = {};
	size_t size;

	free(printed);
	om.out = open_memstream(&printed, &size);
	metric_groups_print(&m.groups, &om, true, true);
	fclose(om.out);
}

/* A reading of connection n, whose peer is 10.0.n.1. */
static struct bbr_snapshot socket_of(__u8 n, __u64 ms, __u64 acked)
{
	struct bbr_snapshot snap = { .event = event(BBR_EV_STATE, ms, 2, 0),
				     .cookie = n,
				     .busy_ticks = 100 * ms,
				     .rwnd_ticks = 25 * ms };

	snap.event.lport = htons(n);
	snap.event.raddr[3] = htonl(0x0a000001 | n << 8);
	snap.event.bytes_acked = snap.event.bytes_sent = acked;
	return snap;
}

/* Connections 1 to n are found by a reading, each with so many bytes. */
static void read_all(__u64 ms, int n, const __u64 *acked)
{
	metrics_begin_reading(&m, NS_PER_S + ms * NS_PER_MS);
	for (int i = 0; i < n; i++) {
		const struct bbr_snapshot snap = socket_of(i + 1, ms, acked[i]);

		if (acked[i])
			metrics_note_socket(&m, &ours, &snap);
	}
	metrics_end_reading(&m, true);
	print_groups();
}

static void groups_count_what_came_since(void **state)
{
	double s = us_of_ticks(100) / 1e6;
	struct bbr_event end;

	(void)state;
	m.groups.grouping.by = BY_PREFIX;
	m.groups.largest = 5;
	read_all(1, 2, (__u64[]){ 1000, 500 });
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.1.0/24"), 0, 0);
	read_all(3, 2, (__u64[]){ 1700, 500 });
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.1.0/24"), 700, 0);
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.2.0/24"), 0, 0);
	assert_float_equal(value_of("bbr_group_connections", "10.0.1.0/24"), 1, 0);
	assert_float_equal(value_of("bbr_group_busy_seconds_total", "10.0.1.0/24"), 2 * s, 1e-6);
	assert_float_equal(value_of("bbr_group_rwnd_limited_seconds_total", "10.0.1.0/24"), s / 2,
			   1e-6);
	end = socket_of(1, 4, 2000).event;
	end.kind = BBR_EV_END;
	note(end);
	print_groups();
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.1.0/24"), 1000, 0);
	assert_float_equal(value_of("bbr_group_connections", "10.0.1.0/24"), 0, 0);
	assert_float_equal(value_of("bbr_group_connections", "other"), 0, 0);
}

/* A connection that ends before any reading has no cgroup that we know. */
static void groups_of_short_connections(void **state)
{
	struct bbr_event e = event(BBR_EV_START, 1, 0, 0);

	(void)state;
	m.groups.grouping.by = BY_CGROUP;
	m.groups.largest = 5;
	e.bytes_acked = 100;
	note(e);
	e.kind = BBR_EV_END;
	e.bytes_acked = 900;
	e.time_ns++;
	note(e);
	print_groups();
	assert_non_null(strstr(printed,
			       "bbr_group_acked_bytes_total{by=\"cgroup\",group=\"unknown\"} 800"));
}

/* No counter falls, whichever group has series of its own. */
static void a_larger_group_takes_over(void **state)
{
	(void)state;
	m.groups.grouping.by = BY_PREFIX;
	m.groups.largest = 2;
	read_all(1, 3, (__u64[]){ 1000, 1000, 1000 });
	assert_float_equal(value_of("bbr_group_connections", "other"), 1, 0);
	assert_float_equal(value_of("bbr_group_connections", "10.0.3.0/24"), -1, 0);
	read_all(2, 3, (__u64[]){ 2000, 1500, 1900 });
	/* 900 bytes are not more than twice 500. */
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "other"), 900, 0);
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.2.0/24"), 500, 0);
	read_all(3, 3, (__u64[]){ 3000, 1600, 9000 });
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.2.0/24"), -1, 0);
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.3.0/24"), 0, 0);
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "other"), 8000, 0);
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.1.0/24"), 2000, 0);
	read_all(4, 3, (__u64[]){ 3000, 1700, 9500 });
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "10.0.3.0/24"), 500, 0);
	assert_float_equal(value_of("bbr_group_acked_bytes_total", "other"), 8100, 0);
}

/* Groups without connections and without series are forgotten. */
static void groups_do_not_pile_up(void **state)
{
	__u64 acked[200] = {};

	(void)state;
	m.groups.grouping.by = BY_PREFIX;
	m.groups.largest = 2;
	for (int i = 0; i < 200; i++) {
		acked[i] = 1000;
		read_all(10 * i, i + 1, acked);
		acked[i] = 0;
	}
	assert_true(m.groups.groups.n <= 4);
}

/* In a recording, whose connections are never read: a few bytes of it are enough for each. */
static void connections_and_groups_are_bounded(void **state)
{
	const unsigned int n = RECORDED_TRACKED_MAX + 1000;
	struct bbr_event e = event(BBR_EV_ACK, 1, BBR_PROBE_BW, BBR_POLICER_OFF);

	(void)state;
	m.groups.grouping.by = BY_PREFIX;
	m.groups.largest = 2;
	for (unsigned int i = 0; i < n; i++) {
		e.time_ns++;
		e.raddr[3] = htonl(0x0a000000 + (i << 8));
		note(e);
	}
	assert_int_equal(m.by_tuple.n, RECORDED_TRACKED_MAX);
	assert_int_equal(m.untracked, n - RECORDED_TRACKED_MAX);
	assert_in_range(m.groups.groups.n, METRIC_GROUPS_MAX, METRIC_GROUPS_MAX + 1);
	print_groups();
	assert_float_equal(value_of("bbr_group_connections", "other"), RECORDED_TRACKED_MAX - 2, 0);
}

/* A recording may describe many algorithms, each with many modes and fields. */
static void modes_and_fields_are_bounded(void **state)
{
	static struct algorithm_mode modes[SERIES_MODES + 1];
	static struct field fields[2 * SERIES_FIELDS];
	static char names[2 * SERIES_FIELDS][16];
	struct algorithm a = { .name = "many", .modes = modes, .n_modes = SERIES_MODES };
	const struct origin many = { .name = "many", .id = 3, .algorithm = &a };
	struct bbr_event e = event(BBR_EV_ACK, 1, 0, BBR_POLICER_OFF);

	(void)state;
	for (int i = 0; i < 2 * SERIES_FIELDS; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		fields[i] = (struct field){ .key = names[i], FIELD_AT(tail), .lane = LANE_RTT };
		fields[i].width = 1;
		if (i <= SERIES_MODES)
			modes[i].name = names[i];
	}
	a.fields = fields;
	a.n_fields = SERIES_FIELDS;
	note_of(&many, e);
	assert_false(m.series.is_full);
	assert_int_equal(only()->n_fields, SERIES_FIELDS);
	a.n_fields = 2 * SERIES_FIELDS;
	a.n_modes = SERIES_MODES + 1;
	m.series.all[0].latest = NULL;
	note_of(&many, e);
	assert_true(m.series.is_full);
	assert_int_equal(only()->n_fields, SERIES_FIELDS);
	assert_int_equal(only()->n_modes, SERIES_MODES);
	/* Of another algorithm, in another series. */
	a = (struct algorithm){ .name = "more", .fields = fields + SERIES_FIELDS, .n_fields = 1 };
	note_of(&ours, e);
	note_of(&(struct origin){ .name = "more", .id = 4, .algorithm = &a }, e);
	for (int i = 1; i < m.series.n; i++)
		assert_int_equal(m.series.all[i].n_fields, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_policer_counts_each_time_it_is_found),
		TEST(a_policer_that_no_sample_has_counts_by_its_end),
		TEST(the_kernels_events_have_no_reason),
		TEST(time_counts_for_the_mode_it_was_spent_in),
		TEST(an_unknown_mode_is_in_no_count),
		TEST(a_series_has_the_modes_of_all_its_algorithms),
		TEST(numbers_of_its_own_are_histograms),
		TEST(a_rate_of_0_is_no_sample),
		TEST(a_metric_is_named_after_its_field_and_unit),
		TEST(a_family_is_printed_once_and_only_where_it_exists),
		TEST(a_name_does_not_leave_its_label),
		TEST(groups_count_what_came_since),
		TEST(groups_of_short_connections),
		TEST(a_larger_group_takes_over),
		TEST(groups_do_not_pile_up),
		TEST(connections_and_groups_are_bounded),
		TEST(modes_and_fields_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
