// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "kernel/clock.h"
#include "event/event.h"
#include "cli/json.h"
#include "watch_options.h"

void watch_summary_count(const char *what, __u64 n)
{
	fprintf(stderr, "  %-12s %llu\n", what, n);
}

static const char *least(const struct watch_totals *t)
{
	return t->is_cut ? "at least " : "";
}

void watch_summary_acks(const struct watch_totals *t)
{
	fprintf(stderr, "  %-12s %s%llu\n", "ACKs", least(t), t->counters.acks);
}

void watch_summary_watched(const struct watch_totals *t)
{
	fprintf(stderr, "  %-12s %s%.3fs\n", "watched", least(t), t->watched_ns / (double)NS_PER_S);
	if (t->unwatched_ns)
		fprintf(stderr, "  %-12s %.3fs: bbrmon was stopped, or its output was blocked\n",
			"not watched", t->unwatched_ns / (double)NS_PER_S);
}

void watch_summary_kinds(const char *what, __u64 total, const __u64 *by_kind)
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
