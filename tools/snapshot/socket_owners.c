// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy() */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "socket_owners.h"

/* Makes room for one more element; false: no memory. */
static bool grow(void **list, size_t n, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 256;
	void *grown;

	if (n < *room)
		return true;
	grown = realloc(*list, wanted * size);
	if (!grown)
		return false;
	*list = grown;
	*room = wanted;
	return true;
}

static int add_name(struct owners *o, __u32 pid, int proc_pid)
{
	struct process_name *name;
	ssize_t len = -1;
	int fd;

	if (!grow((void **)&o->names, o->n_names, &o->names_room, sizeof(*o->names)))
		return -ENOMEM;
	name = &o->names[o->n_names++];
	memset(name, 0, sizeof(*name));
	name->pid = pid;
	fd = openat(proc_pid, "comm", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, name->name, sizeof(name->name) - 1);
		close(fd);
	}
	/* The newline is not part of the name. */
	if (len > 0 && name->name[len - 1] == '\n')
		name->name[len - 1] = 0;
	return 0;
}

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

static int read_files(struct owners *o, __u32 pid, DIR *fds)
{
	const struct dirent *e;
	__u64 inode;

	while ((e = readdir(fds))) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !socket_inode(dirfd(fds), e->d_name, &inode))
			continue;
		if (!grow((void **)&o->list, o->n, &o->room, sizeof(*o->list)))
			return -ENOMEM;
		o->list[o->n++] = (struct owner){ inode, pid, strtoul(e->d_name, NULL, 10) };
	}
	return 0;
}

static int read_process(struct owners *o, int proc, const char *pid_name)
{
	int dir = openat(proc, pid_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, error = 0;
	__u32 pid = strtoul(pid_name, NULL, 10);
	size_t before = o->n;
	DIR *fds;

	if (dir < 0)
		return 0;
	fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds = fd >= 0 ? fdopendir(fd) : NULL;
	if (fds) {
		error = read_files(o, pid, fds);
		closedir(fds);
	} else if (fd >= 0) {
		close(fd);
	}
	if (!error && o->n > before)
		error = add_name(o, pid, dir);
	close(dir);
	return error;
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

static int compare_pid(const void *a, const void *b)
{
	const struct process_name *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int owners_read(struct owners *o)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;
	int error = 0;

	memset(o, 0, sizeof(*o));
	while (proc && !error && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]))
			error = read_process(o, dirfd(proc), e->d_name);
	if (proc)
		closedir(proc);
	if (o->n)
		qsort(o->list, o->n, sizeof(*o->list), compare_owner);
	if (o->n_names)
		qsort(o->names, o->n_names, sizeof(*o->names), compare_pid);
	return error;
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

const char *owners_name(const struct owners *o, __u32 pid)
{
	const struct process_name key = { .pid = pid }, *found = NULL;

	if (o->n_names)
		found = bsearch(&key, o->names, o->n_names, sizeof(key), compare_pid);
	return found ? found->name : "";
}

void owners_free(struct owners *o)
{
	free(o->list);
	free(o->names);
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

static struct known_path *look_up(__u64 id)
{
	char path[PATH_MAX];
	struct known_path *e;

	cgroup_path(id, path, sizeof(path));
	e = malloc(sizeof(*e) + strlen(path) + 1);
	if (!e)
		return NULL;
	e->id = id;
	strcpy(e->path, path);
	return e;
}

const char *cgroup_paths_get(struct cgroup_paths *paths, __u64 id)
{
	const struct known_path key = { .id = id };
	struct known_path **known = tfind(&key, &paths->found, compare), *e;

	if (known)
		return (*known)->path[0] ? (*known)->path : NULL;
	e = look_up(id);
	if (!e || !tsearch(e, &paths->found, compare)) {
		free(e);
		return NULL;
	}
	return e->path[0] ? e->path : NULL;
}

void cgroup_paths_free(struct cgroup_paths *paths)
{
	tdestroy(paths->found, free);
	paths->found = NULL;
}
