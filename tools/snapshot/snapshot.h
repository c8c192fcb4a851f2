/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One connection of a snapshot, for the code that filters, sorts and prints them.
 */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bpf_bbr/snapshot.h"
#include "event/event.h"
#include "event/field.h"

struct cgroup_paths;
struct owners;

struct snapshot {
	const struct origin *origin;
	const struct bbr_snapshot *state;
	bool is_recorded; /* from a recording: there is only state->event */
};

struct snapshot_style {
	bool colour;
	bool oneline; /* like ss -O: the state on the line of the addresses */
	__u32 own_netns; /* connections of this namespace do not show it; 0: none do */
	struct owners *owners; /* NULL: not asked for */
	struct cgroup_paths *cgroups; /* NULL: not asked for */
};

/* The name of a TCP state, as ss(8) prints it; "unknown" if ss has no name for it. */
const char *tcp_state_name(unsigned int state);

/*
 * Copies the name of a process or cgroup into buf, of `size` bytes, with '?' for anything but
 * printable ASCII. The name may be in no encoding; it must neither harm a terminal nor make JSON
 * invalid.
 */
const char *printable_name(char *buf, size_t size, const char *name);

void snapshot_print_header(FILE *out);
void snapshot_print_text(FILE *out, const struct snapshot_style *style, const struct snapshot *c);
void snapshot_print_json(FILE *out, const struct snapshot_style *style, const struct snapshot *c);

/*
 * Totals of a snapshot by congestion control, profile and mode.
 */
struct summary {
	struct summary_line *lines;
	size_t n, room;
};

bool summary_add(struct summary *s, const struct snapshot *c); /* false: no memory */
void summary_print(FILE *out, struct summary *s, bool json);
void summary_free(struct summary *s);

/*
 * The order of a snapshot's connections, if one was asked for: they are kept until all are read.
 */
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
