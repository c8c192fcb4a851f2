// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "kernel/clock.h"
#include "event/event.h"
#include "cli/json.h"
#include "watch_options.h"

static void print_kinds(const char *what, __u64 total, const __u64 *by_kind)
{
	const char *before = " (";

	fprintf(stderr, "  %-12s %llu", what, total);
	for (int i = 0; i < BBR_EV_MAX; i++) {
		if (!by_kind[i])
			continue;
		fprintf(stderr, "%s%s %llu", before, event_kind_name(i), by_kind[i]);
		before = ", ";
	}
	fprintf(stderr, "%s\n", total && before[0] == ',' ? ")" : "");
}

void watch_summary_print(const struct watch_totals *t, const __u64 *connections,
			 const char *left_out, __u64 n)
{
	const struct counters *c = &t->counters;
	const char *least = t->is_cut ? "at least " : "";

	fprintf(stderr, "  %-12s %s%.3fs\n", "watched", least, t->watched_ns / (double)NS_PER_S);
	if (t->unwatched_ns)
		fprintf(stderr, "  %-12s %.3fs: bbrmon was stopped, or its output was blocked\n",
			"not watched", t->unwatched_ns / (double)NS_PER_S);
	if (connections)
		fprintf(stderr, "  %-12s %llu\n", "connections", *connections);
	fprintf(stderr, "  %-12s %s%llu\n", "ACKs", least, c->acks);
	print_kinds("events", counters_received(c), c->received);
	if (c->not_matched)
		fprintf(stderr, "  %-12s %llu\n", "not matched", c->not_matched);
	if (n)
		fprintf(stderr, "  %-12s %llu\n", left_out, n);
	print_kinds("dropped", counters_drops(c), c->drops);
}

static void open_kinds(struct json *j, const char *key, __u64 total, const __u64 *by_kind)
{
	json_open_object(j, key);
	for (int i = 0; i < BBR_EV_KINDS; i++)
		json_add_int(j, event_kind_name(i), by_kind[i]);
	json_add_int(j, "total", total);
}

void watch_summary_begin(struct json *j, const struct watch_totals *t)
{
	const struct counters *c = &t->counters;

	json_begin(j, stdout);
	json_open_object(j, "summary");
	json_add_int(j, "watched_ms", t->watched_ns / NS_PER_MS);
	json_add_int(j, "unwatched_ms", t->unwatched_ns / NS_PER_MS);
	json_add_bool(j, "cut_off", t->is_cut);
	json_add_int(j, "acks", c->acks);
	json_add_int(j, "seq", c->seq);
	open_kinds(j, "events", counters_received(c), c->received);
	json_close(j);
	open_kinds(j, "drops", counters_drops(c), c->drops);
	json_add_int(j, "unknown", c->drops_unknown);
	json_close(j);
}

void watch_summary_end(struct json *j)
{
	json_close(j);
	json_end(j);
}
