/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order of a snapshot's connections, if one was asked for: they are kept until all are read.
 */
#ifndef TOOLS_SORT_H
#define TOOLS_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include "event/field.h"
#include "snapshot.h"

#define SORT_KEYS 16 /* of one order */

struct sort_key {
	int what; /* a number of sort.c, a name, or a field */
	const char *field; /* its key: not known in an algorithm that has none */
	bool descending;
};

struct sort_order {
	struct sort_key keys[SORT_KEYS];
	int n; /* 0: as they come */
	bool reverse; /* reverses all keys */
};

/* Parses "bw_bps,-lport". Returns false after printing what is wrong. */
bool sort_parse(struct sort_order *order, const char *text, const struct known *known);

struct kept_snapshot {
	const struct origin *origin;
	struct bbr_snapshot state;
};

struct kept_snapshots {
	struct kept_snapshot *list;
	size_t n, room;
	bool is_recorded; /* all of them */
};

bool kept_add(struct kept_snapshots *kept, const struct snapshot *c); /* false: no memory */

/*
 * The sorted indexes of the list, equal ones as they came; the caller frees them. NULL: no memory.
 */
__u32 *kept_sort(const struct kept_snapshots *kept, const struct sort_order *order);

#endif
