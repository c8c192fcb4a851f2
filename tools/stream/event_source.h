/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a verb's events come from: the running system (monitor.h) or a recording. Verbs that use
 * this need not know which. And the options and the filter that say which events these are.
 */
#ifndef TOOLS_EVENT_SOURCE_H
#define TOOLS_EVENT_SOURCE_H

#include <stdbool.h>

#include "cli/options.h"
#include "cli/units.h"
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
 * Waits until fd is readable, or there are events and reading them is worth it, at most for
 * most_ms. Of a recording it does not wait for events. Returns an exit status.
 */
int event_source_wait(const struct event_source *s, int fd, int most_ms);

/*
 * Waits for events, at most for wait_ms, and hands them on. *idle: there is nothing more to read
 * now. Returns an exit status.
 */
int event_source_poll(struct event_source *s, int wait_ms, bool *idle);

/* Hands on all events of a recording, unless the user interrupts. Returns an exit status. */
int event_source_read_all(struct event_source *s);

/* True if the recording has come to its end. The running system has none. */
bool event_source_is_over(const struct event_source *s);

/* The time of events now, as in event.time_ns: CLOCK_MONOTONIC of the machine they are from. */
__u64 event_source_now_ns(const struct event_source *s);

/* When watching began, or where the recording begins, as in event.time_ns. No event is older. */
__u64 event_source_start_ns(const struct event_source *s);

/*
 * What leads from the clock of the current events to that of event_source_start_ns(): the runs of a
 * recording may be of several boots. 0 for live events.
 */
__s64 event_source_shift_ns(const struct event_source *s);

/* The run that recorded the current events or, for live ones, would record them. */
struct recording_run event_source_run(const struct event_source *s);

/* Drops so far; may be half a second old. */
__u64 event_source_drops(const struct event_source *s);

/* The totals so far; may be half a second old, and seq is not exact before event_source_stop(). */
struct watch_totals event_source_totals(const struct event_source *s);

/* Hands on the remaining events and ends. Then the totals are final and exact. */
void event_source_stop(struct event_source *s);

void event_source_close(struct event_source *s);

/*
 * What to watch, as options and as a filter expression, and numbers on the command line. Each
 * parser prints what is wrong with its value.
 */
/* Options for a struct watch_config: how to watch, which connections, and reading a recording. */
extern const struct option_def watch_options[], connection_options[], read_options[];
extern const struct privileges_change of_reading[]; /* by read_options */

/* A part of a recording, and its options. */
struct recording_part {
	__u64 from_ns, until_ns; /* since the first event; 0: no limit */
};

extern const struct option_def part_options[];

/* For refuse_conflicts(). */
#define NO_EMPTY_PART(p)                                                  \
	{ (p).until_ns && (p).from_ns >= (p).until_ns, "--from and --to", \
	  "no time is between them",                                      \
	  "--from must be before --to: both count from the first event" }

/*
 * Makes the filter from the expression (the words that are not options) and from the options that
 * are short forms of it. The BPF program gets the part of it that it can check. Without --every and
 * an interval, events are those of each round. Returns -1 to go on, or an exit status. Call
 * watch_config_free() in either case.
 */
int watch_filter(struct watch_config *config, int n, char **words);

void watch_config_free(struct watch_config *config);

/* Reads a value by a parser of cli/units.h. */
typedef enum parse_error (*unit_parser)(const char *s, double *value);
bool option_parse(const char *option, const char *s, unit_parser parse, double *value);

/* Parsers of struct option_def. */
bool option_every(const char *option, const char *s, void *to); /* struct watch_request */
bool option_ring_size(const char *option, const char *s, void *to); /* size_t, bytes */
bool option_count(const char *option, const char *s, void *to); /* __u64, from 1 */
bool option_time(const char *option, const char *s, void *to); /* __u64, nanoseconds, from 1 */
bool option_until(const char *option, const char *s, void *to); /* the same; 0s is 1ns */

/* After how many events, and after which time, a verb ends. */
struct watch_limits {
	__u64 count; /* 0: no limit */
	__u64 duration_ns; /* 0: no limit */
	__u64 end_ns; /* end of the duration, in the time of the first events; 0: no limit */
	bool is_over; /* takes nothing more: an event of the recording was past end_ns */
	__u64 taken; /* events */
	__u64 left_out; /* events that were received after the last one */
};

extern const struct option_def limit_options[];

/* The duration begins now. */
void watch_limits_begin(struct watch_limits *l, const struct event_source *s);
/* Counts an event. False: it is left out, because the verb has ended. */
bool watch_limits_take(struct watch_limits *l, const struct event_source *s,
		       const struct bbr_event *e);
bool watch_limits_are_reached(const struct watch_limits *l);
/* How long until the end of the duration; at most 0: it has ended. */
__s64 watch_limits_left_ns(const struct watch_limits *l, const struct event_source *s);

/* The summary at the end of a verb: lines on stderr, or members of a JSON object. */
struct json;

/* connections NULL: they were not counted. n events were left out, as `left_out` calls it. */
void watch_summary_print(const struct watch_totals *t, const __u64 *connections,
			 const char *left_out, __u64 n);

/*
 * Prints {"summary": {...}} on stdout, beginning with all of the totals. Members may be added
 * before the end.
 */
void watch_summary_begin(struct json *j, const struct watch_totals *t);
void watch_summary_end(struct json *j);

#endif
