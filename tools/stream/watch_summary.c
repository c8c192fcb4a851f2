// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include <json-c/json.h>

#include "clock.h"
#include "event/event.h"
#include "watch_summary.h"

void watch_summary_count(const char *what, __u64 n)
{
	fprintf(stderr, "  %-12s %llu\n", what, n);
}

void watch_summary_watched(const struct watch_totals *t)
{
	fprintf(stderr, "  %-12s %.3fs\n", "watched", t->watched_ns / (double)NS_PER_S);
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

void watch_summary_add(struct json_object *o, const char *key, __u64 value)
{
	json_object_object_add(o, key, json_object_new_int64(value));
}

static struct json_object *kinds_object(__u64 total, const __u64 *by_kind)
{
	struct json_object *o = json_object_new_object();

	for (int i = 0; i < BBR_EV_KINDS; i++)
		watch_summary_add(o, event_kind_name(i), by_kind[i]);
	watch_summary_add(o, "total", total);
	return o;
}

struct json_object *watch_summary_object(const struct watch_totals *t)
{
	const struct counters *c = &t->counters;
	struct json_object *o = json_object_new_object();
	struct json_object *drops = kinds_object(counters_drops(c), c->drops);

	watch_summary_add(drops, "unknown", c->drops_unknown);
	watch_summary_add(o, "watched_ms", t->watched_ns / NS_PER_MS);
	watch_summary_add(o, "unwatched_ms", t->unwatched_ns / NS_PER_MS);
	watch_summary_add(o, "acks", c->acks);
	watch_summary_add(o, "seq", c->seq);
	json_object_object_add(o, "events", kinds_object(counters_received(c), c->received));
	json_object_object_add(o, "drops", drops);
	return o;
}

void watch_summary_print(struct json_object *o)
{
	struct json_object *line = json_object_new_object();

	json_object_object_add(line, "summary", o);
	printf("%s\n", json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN));
	json_object_put(line);
}
