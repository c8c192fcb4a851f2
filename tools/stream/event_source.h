/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a verb's events come from: the running system (monitor.h) or a recording. Verbs that use
 * this need not know which.
 */
#ifndef TOOLS_EVENT_SOURCE_H
#define TOOLS_EVENT_SOURCE_H

#include <stdbool.h>

#include "recording/replay.h"
#include "watch/monitor.h"

struct event_source {
	struct watch_config config;
	/* Of the running system. */
	struct monitor monitor;
	struct recording_run run;
	struct replay replay; /* of a recording: config.read */
};

/*
 * Returns an exit status; has printed what failed unless it is EXIT_DONE. The source must not move
 * in memory after that.
 */
int event_source_open(struct event_source *s, const struct watch_config *config);

/*
 * Waits for events, at most for wait_ms, and hands them on. *idle: there is nothing more to read
 * now. Returns an exit status.
 */
int event_source_poll(struct event_source *s, int wait_ms, bool *idle);

/* True if the recording has come to its end. The running system has none. */
bool event_source_is_over(const struct event_source *s);

/* The time of events now, as in event.time_ns: CLOCK_MONOTONIC of the machine they are from. */
__u64 event_source_now_ns(const struct event_source *s);

/* When watching began, or where the recording begins, as in event.time_ns. No event is older. */
__u64 event_source_start_ns(const struct event_source *s);

/* The run that recorded the current events or, for live ones, would record them. */
struct recording_run event_source_run(const struct event_source *s);

/* Drops so far; may be half a second old. */
__u64 event_source_drops(const struct event_source *s);

/* The totals so far; may be half a second old, and seq is not exact before event_source_stop(). */
struct watch_totals event_source_totals(const struct event_source *s);

/* Hands on the remaining events and ends. Then the totals are final and exact. */
void event_source_stop(struct event_source *s);

void event_source_close(struct event_source *s);

#endif
