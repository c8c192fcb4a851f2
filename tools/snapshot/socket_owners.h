/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which processes have a socket open, found in /proc.
 */
#ifndef TOOLS_SOCKET_OWNERS_H
#define TOOLS_SOCKET_OWNERS_H

#include <stddef.h>

#include <linux/types.h>

struct owner {
	__u64 inode; /* of the socket */
	__u32 pid;
	__u32 fd;
};

#define PROCESS_NAME_LEN 16 /* TASK_COMM_LEN */

struct process_name {
	__u32 pid;
	char name[PROCESS_NAME_LEN]; /* as it is: any bytes but 0 */
};

struct owners {
	struct owner *list; /* by inode, pid, fd */
	size_t n, room;
	struct process_name *names; /* by pid */
	size_t n_names, names_room;
};

/*
 * Looks at all processes once. Returns 0 or -ENOMEM; processes that cannot be seen or have ended
 * are left out.
 */
int owners_read(struct owners *o);

/* The owners of a socket, *n of them; NULL if there are none. */
const struct owner *owners_of(const struct owners *o, __u64 inode, size_t *n);

const char *owners_name(const struct owners *o, __u32 pid);

void owners_free(struct owners *o);

/*
 * Paths of cgroups by their ids, each looked up once.
 */
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
