/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts the kernel's struct bbr, as it is in a recording, to ours. mainline.c lists the
 * conversions.
 */
#ifndef ORACLE_MAINLINE_H
#define ORACLE_MAINLINE_H

#include <stddef.h>

#include "replay.h"
#include "../replayer.h"
#include "stream.h"

/* Where the members of a recording's struct bbr are, in the order of FIELDS in mainline.c. */
struct layout {
	struct field field[MAX_FIELDS];
};

/* Returns NULL, or the name of a field that only one of the two has. */
const char *layout_init(struct layout *l, const struct header *h);

/* Mainline's constants, with the two that it counts in jiffies converted for hz. */
struct bbr_params mainline_params(unsigned int hz);

/* Converts the callback to the algorithm's form. clock: its time in jiffies. */
void mainline_load(const struct layout *l, const struct callback *cb, __u32 clock,
		   struct replay *r);

/*
 * Compares the algorithm's result for cb with the kernel's. Calls on_difference, unless it is NULL,
 * for each value that differs. Returns the number of differences.
 */
int mainline_compare(const struct layout *l, const struct callback *cb, const struct replay *r,
		     on_difference_fn *on_difference);

#endif
