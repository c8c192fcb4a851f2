/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a verb's events come from: what happens now (monitor.h), or a recording of it. Verbs that use
 * this need not know which.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <stdbool.h>

#include "watch/monitor.h"
#include "recording/format.h"

struct replay;

struct source {
	struct watch_config config;
	struct monitor *monitor; /* of what happens now */
	struct recording_run run; /* the same */
	struct replay *replay; /* of a recording */
	struct watch_totals totals; /* final */
};

/* Exit status; has printed what failed unless it is EXIT_DONE. The source must not be moved after it. */
int source_open(struct source *s, const struct watch_config *config);

/* Waits for events and hands them on, at most for wait_ms. *idle: nothing more to be read now. Exit status. */
int source_poll(struct source *s, int wait_ms, bool *idle);

/* Has a recording come to its end? What happens now has none. */
bool source_is_over(const struct source *s);

/* The time of events now, as event.time_ns: CLOCK_MONOTONIC of the machine they are of. */
__u64 source_now_ns(const struct source *s);

/* What to add to event.time_ns for the time of day, nanoseconds since 1970. */
__s64 source_epoch_ns(const struct source *s);

/* Who recorded, or would, what is handed on now. */
void source_run(const struct source *s, struct recording_run *run);

/* Drops until now, as of half a second ago. */
__u64 source_drops(const struct source *s);

/* What there was until now, as of half a second ago; seq is exact only after source_stop(). */
void source_totals_now(const struct source *s, struct watch_totals *totals);

/* Hands on what there still is and ends; then the totals are final and exact. */
void source_stop(struct source *s);
const struct watch_totals *source_totals(const struct source *s);

void source_close(struct source *s);

#endif
