/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths of cgroups by their ids, each looked up once.
 */
#ifndef TOOLS_CGROUP_PATHS_H
#define TOOLS_CGROUP_PATHS_H

#include <linux/types.h>

struct cgroup_paths {
	void *found; /* a tree of search.h */
};

/*
 * The path below the cgroup2 mount; NULL if there is no cgroup with this id any more. Valid until
 * cgroup_paths_free().
 */
const char *cgroup_paths_get(struct cgroup_paths *paths, __u64 id);
void cgroup_paths_free(struct cgroup_paths *paths);

#endif
