/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_CGROUP_H
#define LIB_CGROUP_H

#include <stddef.h>

#include <linux/types.h>

#include "bpf_bbr/rules.h"

/* Where cgroup2 is mounted; the caller frees it. NULL if it is not mounted. */
char *cgroup_mount(void);

/*
 * Finds the directory of a cgroup (version 2) that the user named, by its path in the file system
 * or by its path below the cgroup2 mount, as in /proc/PID/cgroup. Returns EXIT_DONE, and the caller
 * frees *found; or prints why not and returns EXIT_USAGE if there is no such cgroup, EXIT_REFUSED
 * if cgroup2 is not mounted.
 */
int cgroup_find(const char *option, const char *path, char **found);

/* Reads the id of that cgroup; otherwise like cgroup_find(). */
int cgroup_id(const char *option, const char *path, __u64 *id);

/*
 * Reads the ids of a cgroup and of the cgroups above it, *n in all, at most as many as rules look
 * at. Otherwise like cgroup_id().
 */
int cgroup_ids(const char *option, const char *path, __u64 ids[BBR_RULE_CGROUP_LEVELS], int *n);

/*
 * The same for a cgroup given by its id, without messages. Returns how many; 0 if there is no
 * cgroup with this id any more.
 */
int cgroup_ids_above(__u64 id, __u64 ids[BBR_RULE_CGROUP_LEVELS]);

/*
 * Reads the path of a cgroup below the cgroup2 mount: "/" for the root, "" if there is no cgroup
 * with this id any more.
 */
void cgroup_path(__u64 id, char *path, size_t size);

#endif
