/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Puts the events of a recording's runs on one clock, the time of day. It may be set within a run,
 * so its offset at the first event of a run holds for the whole run. It may be set back between two
 * runs of the same boot, whose own clock goes on: then the later run keeps the offset of the
 * earlier.
 */
#ifndef TOOLS_RECORDING_CLOCKS_H
#define TOOLS_RECORDING_CLOCKS_H

#include <stdbool.h>

#include "format.h"

struct run_clock;

struct run_clocks {
	struct run_clock *all;
	unsigned int n;
};

/* Converts the time of an event of this run to nanoseconds since 1970. False: no memory. */
bool run_clocks_date(struct run_clocks *c, const struct recording_run *run, __u64 *time_ns);

void run_clocks_free(struct run_clocks *c);

#endif
