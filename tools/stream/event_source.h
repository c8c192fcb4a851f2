/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a verb's events come from: what happens now (monitor.h), or a recording of it. Verbs that use
 * this need not know which.
 */
#ifndef TOOLS_EVENT_SOURCE_H
#define TOOLS_EVENT_SOURCE_H

#include <stdbool.h>

#include "watch/monitor.h"
#include "recording/format.h"

struct replay;

struct event_source {
	struct watch_config config;
	struct monitor *monitor; /* of what happens now */
	struct recording_run run; /* the same */
	struct replay *replay; /* of a recording */
	struct watch_totals totals; /* final */
};

/* Exit status; has printed what failed unless it is EXIT_DONE. The source must not be moved after it. */
int event_source_open(struct event_source *s, const struct watch_config *config);

/* Waits for events and hands them on, at most for wait_ms. *idle: nothing more to be read now. Exit status. */
int event_source_poll(struct event_source *s, int wait_ms, bool *idle);

/* Has a recording come to its end? What happens now has none. */
bool event_source_is_over(const struct event_source *s);

/* The time of events now, as event.time_ns: CLOCK_MONOTONIC of the machine they are of. */
__u64 event_source_now_ns(const struct event_source *s);

/* No event is older: when it began to watch, as event.time_ns, or where a recording begins. */
__u64 event_source_start_ns(const struct event_source *s);

/* What to add to event.time_ns for the time of day, nanoseconds since 1970. */
__s64 event_source_epoch_ns(const struct event_source *s);

/* Who recorded, or would, what is handed on now. */
void event_source_run(const struct event_source *s, struct recording_run *run);

/* Drops until now, as of half a second ago. */
__u64 event_source_drops(const struct event_source *s);

/* What there was until now, as of half a second ago; seq is exact only after event_source_stop(). */
void event_source_totals_now(const struct event_source *s, struct watch_totals *totals);

/* Hands on what there still is and ends; then the totals are final and exact. */
void event_source_stop(struct event_source *s);
const struct watch_totals *event_source_totals(const struct event_source *s);

void event_source_close(struct event_source *s);

#endif
