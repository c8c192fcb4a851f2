/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_CGROUP_H
#define LIB_CGROUP_H

#include <stddef.h>

#include <linux/types.h>

#include "bpf_bbr/rules.h"

/* Where cgroup2 is mounted, to be freed; NULL if it is not. */
char *cgroup_mount(void);

/*
 * The folder of a cgroup (of version 2) that a user named, by its path in the file system or, as
 * /proc/PID/cgroup has it, below the mount of cgroup2. EXIT_DONE, *found is to be freed; or prints why not:
 * EXIT_USAGE if there is none of this path, EXIT_REFUSED if cgroup2 is not mounted.
 */
int cgroup_find(const char *option, const char *path, char **found);

/* Its id; the rest as cgroup_find(). */
int cgroup_id(const char *option, const char *path, __u64 *id);

/* The ids of a cgroup and of those above it; *n of them, as many as rules look at. As cgroup_id(). */
int cgroup_ids(const char *option, const char *path, __u64 ids[BBR_RULE_CGROUP_LEVELS], int *n);

/* The same by its id, without a word: how many; 0 if there is none of this id any more. */
int cgroup_ids_above(__u64 id, __u64 ids[BBR_RULE_CGROUP_LEVELS]);

/* The path of a cgroup below the mount of cgroup2, "/" for its root; "" if there is none of this id any more. */
void cgroup_path(__u64 id, char *path, size_t size);

#endif
