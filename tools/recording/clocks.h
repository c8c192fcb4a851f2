/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks of a recording's runs, put together: events of different runs have the time of day in common. It may
 * be set within a run, so what it was at the first event of a run holds for all of them. It may be set back
 * between two runs of the same boot, whose own clock goes on: there the later run keeps the time of the earlier.
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

/* Makes the time of an event of this run the time since 1970; false: no memory. */
bool run_clocks_date(struct run_clocks *c, const struct recording_run *run, __u64 *time_ns);

void run_clocks_free(struct run_clocks *c);

#endif
