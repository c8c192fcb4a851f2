/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF program that reads the sockets of one algorithm (bpf/snapshot.bpf.c): there is one for each that was compiled
 * in, with the same maps and another layout of what it reads.
 */
#ifndef TOOLS_SNAPSHOT_PROGRAM_H
#define TOOLS_SNAPSHOT_PROGRAM_H

#include "bpf_bbr/abi.h"
#include "bpf_bbr/snapshot.h"
#include "descriptor.h"

/* Loaded into the kernel. */
struct snapshot_program {
	void *skel; /* NULL: not loaded */
	int find_ops_fd, snapshot_fd; /* links of its iterators: over maps, over sockets */
	int instances_fd, instance_ops_fd; /* maps */
	const struct bbr_ops_layout *layout; /* known when find_ops has run */
};

struct snapshot_program_type {
	const struct algorithm *algorithm;
	/* 0 or -errno; what the kernel has to say of a refusal goes to log, if that is not NULL. */
	int (*load)(struct snapshot_program *p, char *log, size_t size);
	void (*unload)(struct snapshot_program *p);
};

extern const struct snapshot_program_type snapshot_programs[]; /* n_algorithms, in their order */

#endif
