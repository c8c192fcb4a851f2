/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF program that reads the sockets of one algorithm (bpf/snapshot.bpf.c). Each algorithm that
 * was compiled in has one, with the same maps and another layout of what it reads.
 */
#ifndef TOOLS_SNAPSHOT_PROGRAM_H
#define TOOLS_SNAPSHOT_PROGRAM_H

#include "bpf_bbr/abi.h"
#include "bpf_bbr/snapshot.h"
#include "descriptor.h"

/* A program that is loaded into the kernel. */
struct snapshot_program {
	void *skel; /* NULL: not loaded */
	int find_ops_fd, snapshot_fd; /* links of its iterators: over maps, over sockets */
	int instances_fd, instance_ops_fd; /* maps */
	const struct bbr_ops_layout *layout; /* known when find_ops has run */
};

struct snapshot_program_type {
	const struct algorithm *algorithm;
	/* Returns 0 or -errno. The kernel's reasons to refuse it go to log, unless that is NULL. */
	int (*load)(struct snapshot_program *p, char *log, size_t size);
	void (*unload)(struct snapshot_program *p);
};

extern const struct snapshot_program_type snapshot_programs[]; /* n_algorithms, in their order */

#endif
