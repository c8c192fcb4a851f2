// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy() */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "snapshot.h"
#include "cli/err.h"

/* The inode of a link to "socket:[1234]"; false if it is to something else. */
static bool socket_inode(int dir, const char *name, __u64 *inode)
{
	static const char prefix[] = "socket:[";
	char target[64];
	ssize_t len = readlinkat(dir, name, target, sizeof(target) - 1);

	if (len < (ssize_t)sizeof(prefix) || memcmp(target, prefix, sizeof(prefix) - 1))
		return false;
	target[len] = 0;
	*inode = strtoull(target + sizeof(prefix) - 1, NULL, 10);
	return true;
}

static void read_files(struct owners *o, __u32 pid, DIR *fds)
{
	const struct dirent *e;
	__u64 inode;

	while ((e = readdir(fds))) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !socket_inode(dirfd(fds), e->d_name, &inode))
			continue;
		o->list = mem_grow(o->list, o->n, sizeof(*o->list));
		o->list[o->n++] =
			(struct owner){ inode, pid, strtoul(e->d_name, NULL, 10), .name = "" };
	}
}

static void read_name(int process, char name[PROCESS_NAME_LEN])
{
	int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, name, PROCESS_NAME_LEN - 1);

	if (len > 0 && name[len - 1] == '\n') /* not part of the name */
		len--;
	name[len > 0 ? len : 0] = 0;
	if (fd >= 0)
		close(fd);
}

static void read_process(struct owners *o, int proc, const char *pid_name)
{
	int dir = openat(proc, pid_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	__u32 pid = strtoul(pid_name, NULL, 10);
	char name[PROCESS_NAME_LEN];
	size_t first = o->n;
	DIR *fds;

	if (dir < 0)
		return;
	fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds = fd >= 0 ? fdopendir(fd) : NULL;
	if (fds) {
		read_files(o, pid, fds);
		closedir(fds);
	} else if (fd >= 0) {
		close(fd);
	}
	if (o->n > first)
		read_name(dir, name);
	for (size_t i = first; i < o->n; i++)
		strcpy(o->list[i].name, name);
	close(dir);
}

static int compare_owner(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->fd < y->fd ? -1 : x->fd > y->fd;
}

void owners_read(struct owners *o)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]))
			read_process(o, dirfd(proc), e->d_name);
	if (proc)
		closedir(proc);
	if (o->n)
		qsort(o->list, o->n, sizeof(*o->list), compare_owner);
}

const struct owner *owners_of(const struct owners *o, __u64 inode, size_t *n)
{
	size_t low = 0, high = o->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->list[middle].inode < inode)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; inode && low + *n < o->n && o->list[low + *n].inode == inode; ++*n)
		;
	return *n ? &o->list[low] : NULL;
}

struct known_path {
	__u64 id;
	char path[];
};

static int compare(const void *a, const void *b)
{
	const struct known_path *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

const char *cgroup_paths_get(struct cgroup_paths *paths, __u64 id)
{
	const struct known_path key = { .id = id };
	struct known_path **known = tfind(&key, &paths->found, compare), *e;
	char path[PATH_MAX];

	if (!known) {
		cgroup_path(id, path, sizeof(path));
		e = mem_new(1, sizeof(*e) + strlen(path) + 1);
		e->id = id;
		strcpy(e->path, path);
		known = mem_need(tsearch(e, &paths->found, compare));
	}
	return (*known)->path[0] ? (*known)->path : NULL;
}

void cgroup_paths_free(struct cgroup_paths *paths)
{
	tdestroy(paths->found, free);
	paths->found = NULL;
}
