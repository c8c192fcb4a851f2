/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The summary at the end of a verb: lines on stderr, or members of a JSON object.
 */
#ifndef TOOLS_WATCH_SUMMARY_H
#define TOOLS_WATCH_SUMMARY_H

#include "watch/monitor.h"

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
