/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One connection of a snapshot, as what chooses, sorts and prints them gets it.
 */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include <stdbool.h>
#include <stdio.h>

#include "bpf_bbr/snapshot.h"
#include "event/origin.h"

struct cgroup_paths;
struct owners;

struct snapshot {
	const struct origin *origin;
	const struct bbr_snapshot *state;
	bool is_recorded; /* out of a recording: there is only state->event */
};

struct snapshot_style {
	bool colour;
	bool oneline; /* as of ss: the state on the line of the addresses */
	__u32 own_netns; /* whose connections need not say where they are; 0: none does say it */
	struct owners *owners; /* NULL: not asked for */
	struct cgroup_paths *cgroups; /* NULL: not asked for */
};

/* Names of TCP states, as ss(8) prints them; "unknown" for those that it has no name for. */
const char *tcp_state_name(unsigned int state);

/*
 * What a process or whoever makes a cgroup called it: in buf, of `size` bytes, with anything but printable ASCII
 * as '?'. It may be in no encoding, and neither harm a terminal nor make JSON invalid.
 */
const char *printable_name(char *buf, size_t size, const char *name);

void snapshot_print_header(FILE *out);
void snapshot_print_text(FILE *out, const struct snapshot_style *style, const struct snapshot *c);
void snapshot_print_json(FILE *out, const struct snapshot_style *style, const struct snapshot *c);

#endif
