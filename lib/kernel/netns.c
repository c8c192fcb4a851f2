// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* setns() */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "cli/err.h"
#include "netns.h"

struct walk {
	netns_visitor visit;
	void *data;
	void *seen; /* tree of inodes */
	int result; /* of the last visit */
	bool unreachable;
};

static int compare(const void *a, const void *b)
{
	return a < b ? -1 : a > b;
}

static void leave_inode(void *inode)
{
	(void)inode; /* the nodes hold numbers, not memory */
}

static bool is_seen(const struct walk *w, ino_t inode)
{
	return tfind((void *)inode, &w->seen, compare);
}

/* It is no error if a namespace ends between two looks at it. */
static bool has_vanished(int error)
{
	return error == ENOENT || error == ESRCH || error == ENOTDIR;
}

/*
 * Our only thread enters the namespace and comes back. *result is what the visit returned. Returns
 * false after printing why if we cannot enter. If we cannot come back we exit: everything after
 * that would happen in the wrong namespace.
 */
static bool visit_inside(int fd, const struct netns *ns, netns_visitor visit, void *data,
			 int *result)
{
	int home = open(NETNS_OWN, O_RDONLY | O_CLOEXEC);

	if (home < 0 || setns(fd, CLONE_NEWNET)) {
		err("cannot enter the network namespace %s: %s", ns->name, strerror(errno));
		if (home >= 0)
			close(home);
		return false;
	}
	*result = visit(ns, data);
	if (setns(home, CLONE_NEWNET)) {
		err("cannot leave the network namespace %s: %s", ns->name, strerror(errno));
		_exit(EXIT_REFUSED);
	}
	close(home);
	return true;
}

/* inode: the one that must be there, 0 if it is not known. */
static void visit_path(struct walk *w, const char *path, ino_t inode)
{
	struct netns ns = { .name = path };
	struct stat st;
	int fd;

	if (w->result || stat(path, &st) || (inode && st.st_ino != inode) || is_seen(w, st.st_ino))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		if (!has_vanished(errno)) {
			err("cannot open the network namespace %s: %s", path, strerror(errno));
			w->unreachable = true;
		}
	} else if (!is_seen(w, st.st_ino)) {
		tsearch((void *)st.st_ino, &w->seen, compare);
		ns.inode = st.st_ino;
		if (!strncmp(path, NETNS_NAMED, strlen(NETNS_NAMED)))
			ns.name += strlen(NETNS_NAMED);
		if (!visit_inside(fd, &ns, w->visit, w->data, &w->result))
			w->unreachable = true;
	}
	if (fd >= 0)
		close(fd);
}

/* mountinfo writes blanks and backslashes as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && isdigit((unsigned char)s[1])) {
			*to++ = strtol((char[]){ s[1], s[2], s[3], 0 }, NULL, 8);
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

static void visit_mounts(struct walk *w)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, path[PATH_MAX];
	unsigned long inode;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		if (sscanf(line, "%*s %*s %*s net:[%lu] %4095s", &inode, path) != 2)
			continue;
		unescape(path);
		visit_path(w, path, inode); /* unless something else is mounted over it */
	}
	free(line);
	if (f)
		fclose(f);
}

/* Visits the namespaces of the threads of a process: each thread can have its own. */
static void visit_threads(struct walk *w, const char *pid)
{
	char path[sizeof("/proc//task//ns/net") + 2 * NAME_MAX];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	visit_path(w, path, 0);
	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]) || !strcmp(e->d_name, pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s/ns/net", pid, e->d_name);
		visit_path(w, path, 0);
	}
	if (dir)
		closedir(dir);
}

static void visit_processes(struct walk *w)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			visit_threads(w, e->d_name);
	if (dir)
		closedir(dir);
}

int netns_for_each(netns_visitor visit, void *data)
{
	struct walk w = { .visit = visit, .data = data };

	visit_mounts(&w); /* first, for the sake of the names */
	visit_processes(&w);
	tdestroy(w.seen, leave_inode);
	return w.result ? w.result : w.unreachable ? EXIT_REFUSED : EXIT_DONE;
}

static void refuse(const char *option, const char *name, const char *why)
{
	err("%s %s: %s", option, name, why);
	remedy("a name of `ip netns list`, or a path such as /proc/PID/ns/net");
}

/* Opens ns->name and fills in its inode. Returns a descriptor, or -1 after printing why not. */
static int open_named(const char *option, struct netns *ns)
{
	char path[PATH_MAX];
	struct statfs fs;
	struct stat st;
	int fd;

	if (strchr(ns->name, '/'))
		snprintf(path, sizeof(path), "%s", ns->name);
	else
		snprintf(path, sizeof(path), NETNS_NAMED "%s", ns->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		refuse(option, ns->name, strerror(errno));
		return -1;
	}
	if (fstatfs(fd, &fs) || fs.f_type != NSFS_MAGIC || fstat(fd, &st) ||
	    ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET) {
		close(fd);
		refuse(option, ns->name, "not a network namespace");
		return -1;
	}
	ns->inode = st.st_ino;
	return fd;
}

int netns_visit(const char *name, netns_visitor visit, void *data)
{
	struct netns ns = { .name = name ? name : NETNS_OWN };
	int ret = EXIT_REFUSED, fd = open_named("--netns", &ns);

	if (fd < 0)
		return EXIT_USAGE;
	visit_inside(fd, &ns, visit, data, &ret);
	close(fd);
	return ret;
}

int netns_inode(const char *option, const char *name, __u32 *inode)
{
	struct netns ns = { .name = name };
	int fd = open_named(option, &ns);

	if (fd < 0)
		return EXIT_USAGE;
	*inode = ns.inode;
	close(fd);
	return EXIT_DONE;
}

int netns_visit_all(const char *name, netns_visitor visit, void *data)
{
	return name ? netns_visit(name, visit, data) : netns_for_each(visit, data);
}

bool netns_name(__u32 inode, char name[NAME_MAX + 1])
{
	DIR *dir = opendir(NETNS_NAMED);
	struct stat st, own;
	bool found = false;
	struct dirent *e;

	if (stat(NETNS_OWN, &own))
		own.st_dev = 0;
	while (dir && !found && (e = readdir(dir))) {
		/* A name whose mount is gone is a file of another file system. */
		found = !fstatat(dirfd(dir), e->d_name, &st, 0) && st.st_ino == inode &&
			st.st_dev == own.st_dev;
		if (found)
			snprintf(name, NAME_MAX + 1, "%s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}
