/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Totals of a snapshot by congestion control, profile and mode.
 */
#ifndef TOOLS_SUMMARY_H
#define TOOLS_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "snapshot.h"

struct summary {
	struct summary_line *lines;
	size_t n, room;
};

bool summary_add(struct summary *s, const struct snapshot *c); /* false: no memory */
void summary_print(FILE *out, struct summary *s, bool json);
void summary_free(struct summary *s);

#endif
