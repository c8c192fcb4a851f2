/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What there was, told when a verb ends: lines on stderr, or members of a JSON object.
 */
#ifndef TOOLS_WATCH_SUMMARY_H
#define TOOLS_WATCH_SUMMARY_H

#include "watch/monitor.h"

struct json_object;

void watch_summary_watched(const struct watch_totals *t);
void watch_summary_count(const char *what, __u64 n);
void watch_summary_kinds(const char *what, __u64 total, const __u64 *by_kind);

void watch_summary_add(struct json_object *o, const char *key, __u64 value);
/* All of the totals, to be added to and put. */
struct json_object *watch_summary_object(const struct watch_totals *t);
/* Prints {"summary": object} on stdout, and puts it. */
void watch_summary_print(struct json_object *o);

#endif
