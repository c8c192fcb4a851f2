/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order in which connections of a snapshot are shown, when one was asked for: they are kept until then.
 */
#ifndef TOOLS_SORT_H
#define TOOLS_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot.h"

#define SORT_KEYS 16 /* of one order */

struct sort_key {
	int what; /* of sort.c: a number, a name, or a field, */
	const char *field; /* of this key: not known of an algorithm that has none */
	bool descending;
};

struct sort_order {
	struct sort_key keys[SORT_KEYS];
	int n; /* 0: as they come */
	bool reverse; /* turns all keys around */
};

/* Parser of struct option_def for a struct sort_order: "bw_bps,-lport". */
bool option_sort(const char *option, const char *s, void *to);

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

/* The indexes of the list in their order, equal ones as they came; to be freed. NULL: no memory. */
__u32 *kept_sort(const struct kept_snapshots *kept, const struct sort_order *order);

#endif
