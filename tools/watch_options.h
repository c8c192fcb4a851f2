/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options that say what to watch, and numbers of the command line. Each prints what is wrong with its
 * value and returns false.
 */
#ifndef TOOLS_WATCH_OPTIONS_H
#define TOOLS_WATCH_OPTIONS_H

#include <stdbool.h>

#include "monitor.h"

#define RING_SIZE_DEFAULT (4 << 20)

bool parse_every(const char *s, struct watch_request *request);

bool parse_ring_size(const char *s, size_t *size);
bool parse_count(const char *s, __u64 *count);
bool parse_time(const char *option, const char *s, __u64 *ns);

#endif
