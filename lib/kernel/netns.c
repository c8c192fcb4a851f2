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

#include <bpf/bpf.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "cli/units.h"
#include "netns.h"
#include "netns.lskel.h"

/* As of the last walk. */
static struct netns_known *known;
static int n_known = -ENODATA;
static int n_unseen; /* of those that are live */

struct walk {
	netns_match match; /* NULL: all */
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

static int by_inode(const void *a, const void *b)
{
	const struct netns_known *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static struct netns_known *find_known(struct netns_known *list, int n, __u32 inode)
{
	const struct netns_known key = { .inode = inode };

	return n > 0 ? bsearch(&key, list, n, sizeof(key), by_inode) : NULL;
}

/* Runs the program. Loads it first, once for all walks. */
static int run_program(struct netns_bpf **program)
{
	static struct netns_bpf *loaded;
	static int error;

	if (!loaded && !error) {
		loaded = netns_bpf__open();
		error = loaded ? netns_bpf__load(loaded) : -ENOMEM;
		if (!error)
			error = netns_bpf__list_namespaces__attach(loaded);
	}
	if (error < 0)
		return error;
	*program = loaded;
	return iterator_run(loaded->links.list_namespaces_fd);
}

/*
 * Takes the next entry out of a map. `last` is the key of the one that was taken before; NULL: none
 * was. (From the beginning, the kernel would look again through all places that are empty by now.)
 * Returns 1, 0 if there is none, or -errno.
 */
static int take_entry(int map, const void *last, void *key, void *value)
{
	int error;

	do {
		error = bpf_map_get_next_key(map, last, key) ? errno : 0;
		if (last)
			bpf_map_delete_elem(map, last);
		last = NULL;
		if (error)
			return error == ENOENT ? 0 : -error;
		error = bpf_map_lookup_elem(map, key, value) ? errno : 0;
	} while (error == ENOENT); /* it has gone meanwhile */
	return error ? -error : 1;
}

/*
 * Takes the entries out of the map, so that the next run begins with none. Returns how many or
 * -errno; the caller frees *list in any case.
 */
static int take_namespaces(int map, struct netns_known **list)
{
	__u32 last, *before = NULL;
	struct netns_known next;
	int n = 0, is_there;

	memset(&next, 0, sizeof(next));
	while ((is_there = take_entry(map, before, &next.inode, &next.is)) > 0) {
		MEM_ADD(*list, n) = next;
		last = next.inode;
		before = &last;
	}
	if (is_there < 0)
		return is_there;
	if (n)
		qsort(*list, n, sizeof(**list), by_inode);
	return n;
}

bool netns_is_unseen(const struct netns_known *k)
{
	return !k->is_found && k->is.is_live;
}

/* Lets the kernel look through a table of sockets. Returns 0 or -errno. */
static int look_through(const struct netns_bpf *program, __u64 table)
{
	__u64 args[] = { table, 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	do {
		if (bpf_prog_test_run_opts(program->progs.find_uses.prog_fd, &opts))
			return -errno;
		if (!program->bss->uses_are_known)
			return -ENOTSUP;
		args[1] = program->bss->next_list;
	} while (args[1]);
	return 0;
}

/* Notes which of the namespaces have a socket that matches. If that is not known, all have one. */
static void find_uses(const struct netns_bpf *program, struct netns_known *list, int n,
		      const struct walk *w)
{
	__u64 last[2], key[2], *before = NULL, table = 0;
	struct netns_use use;
	int error = 0, is_there;

	for (int i = 0; i < n && !error; i++) {
		/* Mostly all have the machine's. To look through one again does no harm. */
		error = list[i].is.table ? 0 : -ENOTSUP;
		if (!error && list[i].is.table != table)
			error = look_through(program, table = list[i].is.table);
	}
	while ((is_there = take_entry(program->maps.uses.map_fd, before, key, &use)) > 0) {
		struct netns_known *k = find_known(list, n, use.netns);

		if (k && !k->is_used)
			k->is_used = w->match(&use, w->data);
		before = memcpy(last, key, sizeof(last));
	}
	for (int i = 0; i < n; i++)
		list[i].is_used |= error || is_there;
}

/*
 * Asks the kernel for all namespaces and, if the walk has a match, for their sockets. Returns the
 * number of namespaces or -errno.
 */
static int ask_kernel(struct netns_known **list, const struct walk *w)
{
	struct netns_bpf *program;
	__u64 address;
	int n = run_program(&program);

	*list = NULL;
	if (n)
		return n;
	n = take_namespaces(program->maps.namespaces.map_fd, list);
	if (w->match && n > 0)
		find_uses(program, *list, n, w);
	while (!bpf_map_get_next_key(program->maps.struct_ops_ids.map_fd, NULL, &address))
		bpf_map_delete_elem(program->maps.struct_ops_ids.map_fd, &address);
	if (n >= 0 && (__u32)n != program->bss->n_listed)
		n = -E2BIG;
	if (n < 0) {
		free(*list);
		*list = NULL;
	}
	return n;
}

static void note_found(struct walk *w, ino_t inode)
{
	struct netns_known *k = find_known(known, n_known, inode);

	tsearch((void *)inode, &w->seen, compare);
	if (!k || k->is_found)
		return;
	k->is_found = true;
	n_unseen -= k->is.is_live;
}

static bool all_are_found(void)
{
	return n_known > 0 && !n_unseen;
}

/* Those that ended while we looked for them are no longer missing. */
static void end_list(void)
{
	struct netns_known *now AUTO_FREE = NULL;
	int n_now, n = 0;

	if (n_known < 0 || all_are_found())
		return;
	n_now = ask_kernel(&now, &(struct walk){});
	n_unseen = 0;
	for (int i = 0; i < n_known; i++) {
		const struct netns_known *k = find_known(now, n_now, known[i].inode);

		if (!known[i].is_found && n_now >= 0 && !k)
			continue;
		if (!known[i].is_found && k)
			known[i].is = k->is;
		n_unseen += netns_is_unseen(&known[i]);
		known[n++] = known[i];
	}
	n_known = n;
}

int netns_list(const struct netns_known **list)
{
	*list = known;
	return n_known;
}

const struct netns_known *netns_find(__u32 inode)
{
	return find_known(known, n_known, inode);
}

int netns_found(void)
{
	int n = n_known < 0 ? n_known : 0;

	for (int i = 0; i < n_known; i++)
		n += known[i].is_found;
	return n;
}

int netns_unseen(void)
{
	return n_known < 0 ? n_known : n_unseen;
}

void netns_say_unseen(int unseen, const char *what)
{
	if (unseen < 0) {
		err("%s: cannot tell whether all network namespaces were found: %s", what,
		    strerror(-unseen));
		return;
	}
	err("%s: %d network namespace%s cannot be found from here\n"
	    "run it where /proc shows the processes of the whole machine, as with docker's "
	    "--pid=host",
	    what, unseen, plural(unseen));
}

static void leave_inode(void *inode)
{
	(void)inode; /* the nodes hold numbers, not memory */
}

static bool is_seen(const struct walk *w, ino_t inode)
{
	return tfind((void *)inode, &w->seen, compare);
}

/* A namespace that is not listed has begun since. */
static bool is_wanted(const struct walk *w, ino_t inode)
{
	const struct netns_known *k = w->match ? find_known(known, n_known, inode) : NULL;

	return !k || k->is_used;
}

/*
 * Our only thread enters the namespace and comes back. *result is what the visit returned. Returns
 * false after printing why if we cannot enter. If we cannot come back we exit: everything after
 * that would happen in the wrong namespace.
 */
static bool visit_inside(int fd, const struct netns *ns, netns_visitor visit, void *data,
			 int *result)
{
	int home AUTO_CLOSE = open(NETNS_OWN, O_RDONLY | O_CLOEXEC);

	if (home < 0 || setns(fd, CLONE_NEWNET)) {
		err("cannot enter the network namespace %s: %s", ns->name, strerror(errno));
		return false;
	}
	*result = visit ? visit(ns, data) : EXIT_DONE;
	if (setns(home, CLONE_NEWNET)) {
		err("cannot leave the network namespace %s: %s", ns->name, strerror(errno));
		_exit(EXIT_REFUSED);
	}
	return true;
}

/* It is no error if a namespace ends between two looks at it. */
static void say_unreachable(struct walk *w, const char *what, const char *path)
{
	if (errno == ENOENT || errno == ESRCH || errno == ENOTDIR)
		return;
	err("cannot %s %s: %s", what, path, strerror(errno));
	w->unreachable = true;
}

/* inode: the one that must be there, 0 if it is not known. */
static void visit_path(struct walk *w, const char *path, ino_t inode)
{
	struct netns ns = { .name = path };
	int fd AUTO_CLOSE = -1;
	struct stat st;

	if (w->result || all_are_found() || stat(path, &st) || (inode && st.st_ino != inode) ||
	    is_seen(w, st.st_ino))
		return;
	if (!is_wanted(w, st.st_ino)) {
		note_found(w, st.st_ino);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		say_unreachable(w, "open the network namespace", path);
	} else if (!is_seen(w, st.st_ino)) {
		ns.inode = st.st_ino;
		note_found(w, ns.inode);
		if (!strncmp(path, NETNS_NAMED, strlen(NETNS_NAMED)))
			ns.name += strlen(NETNS_NAMED);
		if (!visit_inside(fd, &ns, w->visit, w->data, &w->result))
			w->unreachable = true;
	}
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
	FILE *f AUTO_FCLOSE = fopen("/proc/self/mountinfo", "re");
	char *line AUTO_FREE = NULL, path[PATH_MAX];
	unsigned long inode;
	size_t size = 0;

	if (!f)
		say_unreachable(w, "look for network namespaces in", "/proc/self/mountinfo");
	while (f && getline(&line, &size, f) > 0) {
		if (sscanf(line, "%*s %*s %*s net:[%lu] %4095s", &inode, path) != 2)
			continue;
		unescape(path);
		visit_path(w, path, inode); /* unless something else is mounted over it */
	}
}

/* Visits the namespaces of the threads of a process: each thread can have its own. */
static void visit_threads(struct walk *w, const char *pid)
{
	char path[sizeof("/proc//task//ns/net") + 2 * NAME_MAX];
	DIR *dir AUTO_CLOSEDIR = NULL;
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	visit_path(w, path, 0);
	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	if (!dir)
		say_unreachable(w, "look for network namespaces in", path);
	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]) || !strcmp(e->d_name, pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s/ns/net", pid, e->d_name);
		visit_path(w, path, 0);
	}
}

static void visit_processes(struct walk *w)
{
	DIR *dir AUTO_CLOSEDIR = opendir("/proc");
	struct dirent *e;

	if (!dir)
		say_unreachable(w, "look for network namespaces in", "/proc");
	while (dir && !all_are_found() && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			visit_threads(w, e->d_name);
}

int netns_visit_all(const char *name, netns_match match, netns_visitor visit, void *data)
{
	struct walk w = { .match = match, .visit = visit, .data = data };

	if (name)
		return netns_visit(name, visit, data);
	free(known);
	n_known = ask_kernel(&known, &w);
	n_unseen = 0;
	for (int i = 0; i < n_known; i++)
		n_unseen += netns_is_unseen(&known[i]);
	visit_mounts(&w); /* first, for the sake of the names */
	visit_processes(&w);
	end_list();
	tdestroy(w.seen, leave_inode);
	return w.result ? w.result : w.unreachable ? EXIT_REFUSED : EXIT_DONE;
}

int netns_for_each(netns_visitor visit, void *data)
{
	return netns_visit_all(NULL, NULL, visit, data);
}

/* Opens ns->name and fills in its inode. Returns a descriptor, or -1 after printing why not. */
static int open_named(const char *option, struct netns *ns)
{
	const char *why = "not a network namespace";
	char path[PATH_MAX];
	struct statfs fs;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s%s", strchr(ns->name, '/') ? "" : NETNS_NAMED, ns->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == NSFS_MAGIC && !fstat(fd, &st) &&
	    ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET) {
		ns->inode = st.st_ino;
		return fd;
	}
	err("%s %s: %s\n"
	    "a name of `ip netns list`, or a path such as /proc/PID/ns/net",
	    option, ns->name, fd < 0 ? strerror(errno) : why);
	auto_close(&fd);
	return -1;
}

int netns_visit(const char *name, netns_visitor visit, void *data)
{
	struct netns ns = { .name = name ? name : NETNS_OWN };
	int ret = EXIT_REFUSED, fd AUTO_CLOSE = open_named("--netns", &ns);

	if (fd < 0)
		return EXIT_USAGE;
	visit_inside(fd, &ns, visit, data, &ret);
	return ret;
}

int netns_inode(const char *option, const char *name, __u32 *inode)
{
	struct netns ns = { .name = name };
	int fd AUTO_CLOSE = open_named(option, &ns);

	if (fd < 0)
		return EXIT_USAGE;
	*inode = ns.inode;
	return EXIT_DONE;
}

bool netns_name(__u32 inode, char name[NAME_MAX + 1])
{
	DIR *dir AUTO_CLOSEDIR = opendir(NETNS_NAMED);
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
	return found;
}
