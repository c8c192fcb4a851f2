/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What to watch, as options and as a filter expression, and numbers on the command line. Each
 * parser prints what is wrong with its value.
 */
#ifndef TOOLS_WATCH_OPTIONS_H
#define TOOLS_WATCH_OPTIONS_H

#include "cli/options.h"
#include "watch/monitor.h"
#include "event_source.h"

#define RING_SIZE_DEFAULT (4 << 20)

/* Options for a struct watch_config: how to watch, which connections, and reading a recording. */
extern const struct option_def watch_options[], connection_options[], read_options[];
extern const struct privileges_change of_reading[]; /* by read_options */

/*
 * Makes the filter from the expression (the words that are not options) and from the options that
 * are short forms of it. The BPF program gets the part of it that it can check. Returns -1 to go
 * on, or an exit status. Call watch_config_free() in either case.
 */
int watch_filter(struct watch_config *config, int n, char **words);

void watch_config_free(struct watch_config *config);

/* Parsers of struct option_def. */
bool option_every(const char *option, const char *s, void *to); /* struct watch_request */
bool option_ring_size(const char *option, const char *s, void *to); /* size_t, bytes */
bool option_count(const char *option, const char *s, void *to); /* __u64, from 1 */
bool option_time(const char *option, const char *s, void *to); /* __u64, nanoseconds, from 1 */

/*
 * The summary at the end of a verb: lines on stderr, or members of a JSON object.
 */
struct json;

void watch_summary_watched(const struct watch_totals *t);
void watch_summary_acks(const struct watch_totals *t);
void watch_summary_count(const char *what, __u64 n);
void watch_summary_kinds(const char *what, __u64 total, const __u64 *by_kind);

/*
 * Prints {"summary": {...}} on stdout, beginning with all of the totals. Members may be added
 * before the end.
 */
void watch_summary_begin(struct json *j, const struct watch_totals *t);
void watch_summary_end(struct json *j);

#endif
