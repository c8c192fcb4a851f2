/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the kernel's struct bbr, as a recording has it, and ours. See mainline.c for the conversions.
 */
#ifndef ORACLE_MAINLINE_H
#define ORACLE_MAINLINE_H

#include <stddef.h>

#include "replay.h"
#include "../replayer.h"
#include "stream.h"

/* Where the members of this recording's struct bbr are, in the order of FIELDS in mainline.c. */
struct layout {
	struct field field[MAX_FIELDS];
};

/* NULL, or the name of a field that only one of the two has. */
const char *layout_init(struct layout *l, const struct header *h);

/* Mainline's constants, with the two that it counts in jiffies in those of hz. */
struct bbr_params mainline_params(unsigned int hz);

/* The callback as the algorithm takes it; clock: its time in jiffies. */
void mainline_load(const struct layout *l, const struct callback *cb, __u32 clock,
		   struct replay *r);

/*
 * Compares what the algorithm made of cb with what the kernel did. Calls on_difference, if it is not NULL,
 * with each value that differs. Returns their number.
 */
int mainline_compare(const struct layout *l, const struct callback *cb, const struct replay *r,
		     on_difference_fn *on_difference);

#endif
