/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sockops programs that are attached to cgroups, found by asking the kernel, cgroup by cgroup.
 */
#ifndef LIB_SOCKOPS_H
#define LIB_SOCKOPS_H

#include <linux/types.h>

#define SOCKOPS_MAPS 16 /* maps of one program that are looked at */

struct sockops_prog {
	const char *cgroup; /* its path */
	int fd; /* of the program, closed after the visit */
	__u32 id;
	__u32 map_ids[SOCKOPS_MAPS];
	__u32 maps; /* how many */
};

/* A return value other than 0 ends the walk, which returns it. */
typedef int (*sockops_visitor)(const struct sockops_prog *prog, void *data);

/*
 * Visits the programs with this name in one cgroup; path is handed to the visitor. Returns what the
 * last visit returned, 0 without a visit, or -errno.
 */
int sockops_visit(int cgroup_fd, const char *path, const char *name, sockops_visitor visit,
		  void *data);

/* The same for all cgroups, in tree order. */
int sockops_visit_all(const char *name, sockops_visitor visit, void *data);

/* Fills in *prog but cgroup. Returns 1 if the program has this name, 0 if not, or -errno. */
int sockops_inspect(int fd, const char *name, struct sockops_prog *prog);

#endif
