// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy(), qsort_r() */
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

#include "address.h"
#include "cgroup/cgroup.h"
#include "cli/completion.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/units.h"
#include "grouping.h"
#include "kernel/netns.h"
#include "stream/event_source.h"
#include "verbs.h"

struct reading {
	struct owners *owners;
	__u32 pid;
};

static int add_owner(__u64 inode, __u32 fd, void *data)
{
	const struct reading *r = data;
	struct owners *o = r->owners;

	MEM_ADD(o->list, o->n) = (struct owner){ inode, r->pid, fd, .name = "" };
	return 0;
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
	int dir = openat(proc, pid_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct reading r = { o, strtoul(pid_name, NULL, 10) };
	char name[PROCESS_NAME_LEN];
	size_t first = o->n;

	if (dir < 0)
		return;
	process_sockets(dir, add_owner, &r);
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

/* Looks at all processes once. Those that cannot be seen or have ended are left out. */
static void owners_read(struct owners *o)
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

static void owners_free(struct owners *o)
{
	free(o->list);
	*o = (struct owners){};
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

static int compare_id(const void *a, const void *b)
{
	const struct known_path *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* The path that find() found for an id; "" if there is none. */
static const char *known_path(void **tree, __u64 id,
			      void (*find)(__u64 id, char *path, size_t size))
{
	const struct known_path key = { .id = id };
	struct known_path **known = tfind(&key, tree, compare_id), *e;
	char path[PATH_MAX];

	if (!known) {
		find(id, path, sizeof(path));
		e = mem_new(1, sizeof(*e) + strlen(path) + 1);
		e->id = id;
		strcpy(e->path, path);
		known = mem_need(tsearch(e, tree, compare_id));
	}
	return (*known)->path;
}

const char *grouping_cgroup(struct grouping *g, __u64 id)
{
	const char *path = known_path(&g->cgroups, id, cgroup_path);

	return path[0] ? path : NULL;
}

void service_of(char *buf, size_t size, const char *path)
{
	static const char *const units[] = { ".service", ".scope" };
	const char *last = "/", *unit = NULL;
	size_t len = 1, unit_len = 0;

	for (const char *s = path + 1; path[0] && *s; s += strcspn(s, "/"), s += *s == '/') {
		last = s;
		len = strcspn(s, "/");
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
			size_t end = strlen(units[i]);

			if (len > end && !strncmp(s + len - end, units[i], end)) {
				unit = s;
				unit_len = len - end;
			}
		}
	}
	snprintf(buf, size, "%.*s", (int)(unit ? unit_len : len), unit ? unit : last);
}

/* ---- labels */

#define PREFIX_V4 (96 + 24)
#define PREFIX_V6 64

const char *const group_by_names[] = {
	[BY_NONE] = "",		[BY_CGROUP] = "cgroup", [BY_PROCESS] = "process",
	[BY_PREFIX] = "prefix", [BY_NETNS] = "netns",	NULL,
};

bool option_group_by(const char *option, const char *s, void *to)
{
	for (int i = BY_NONE + 1; group_by_names[i]; i++) {
		if (!strcmp(s, group_by_names[i])) {
			*(enum group_by *)to = i;
			return true;
		}
	}
	return err_value(option, s, "must be cgroup, process, prefix or netns");
}

void complete_group_by(const struct completion *c)
{
	for (int i = BY_NONE + 1; group_by_names[i]; i++)
		completion_add(c, group_by_names[i], "");
}

unsigned int remote_prefix(__u32 prefix[4], const __u32 addr[4])
{
	unsigned int len = address_is_v4(addr) ? PREFIX_V4 : PREFIX_V6;
	__u32 mask[4];

	prefix_mask(mask, len);
	for (int i = 0; i < 4; i++)
		prefix[i] = addr[i] & mask[i];
	return len;
}

static void find_netns(__u64 inode, char *name, size_t size)
{
	if (!netns_name(inode, name))
		snprintf(name, size, "%llu", inode);
}

void group_label(char label[GROUP_LABEL_LEN], struct grouping *g, const struct group_member *m)
{
	const struct owner *owner;
	const char *path;
	unsigned int len;
	__u32 prefix[4];
	size_t n;

	switch (g->by) {
	case BY_CGROUP:
		path = grouping_cgroup(g, m->cgroup);
		if (path)
			snprintf(label, GROUP_LABEL_LEN, "%s", path);
		else
			sprintf(label, "unreachable:%llx", m->cgroup);
		break;
	case BY_PROCESS:
		owner = owners_of(&g->owners, m->inode, &n);
		if (!owner)
			strcpy(label, "no process");
		else if (g->has_no_pids)
			strcpy(label, owner->name);
		else
			sprintf(label, "%s[%u]", owner->name, owner->pid);
		break;
	case BY_PREFIX:
		len = remote_prefix(prefix, m->raddr);
		format_prefix(label, GROUP_LABEL_LEN, prefix, len);
		break;
	default:
		if (m->is_recorded)
			sprintf(label, "%u", m->netns);
		else
			strcpy(label, known_path(&g->netns, m->netns, find_netns));
	}
}

void grouping_read(struct grouping *g)
{
	owners_free(&g->owners);
	tdestroy(g->netns, free);
	g->netns = NULL;
	if (g->by == BY_PROCESS || g->with_processes)
		owners_read(&g->owners);
}

void grouping_free(struct grouping *g)
{
	owners_free(&g->owners);
	tdestroy(g->cgroups, free);
	tdestroy(g->netns, free);
}

/* ---- groups */

static int compare_label(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return strcmp(x->label, y->label);
}

void *groups_find(const struct groups *g, const char *label)
{
	const struct group key = { .label = (char *)label };
	struct group **found = tfind(&key, &g->tree, compare_label);

	return found ? *found : NULL;
}

void *groups_get(struct groups *g, const char *label)
{
	struct group *made = groups_find(g, label);

	if (made)
		return made;
	made = mem_new(1, g->size);
	made->label = mem_copy(label);
	mem_need(tsearch(made, &g->tree, compare_label));
	MEM_ADD(g->list, g->n) = made;
	return made;
}

static void free_group(void *group)
{
	free(((struct group *)group)->label);
	free(group);
}

void groups_drop(struct groups *g, size_t i)
{
	struct group *dropped = g->list[i];

	tdelete(dropped, &g->tree, compare_label);
	g->list[i] = g->list[--g->n];
	free_group(dropped);
}

struct sorting {
	int (*compare)(const void *a, const void *b, void *ctx);
	void *ctx;
};

/* Those that are equal in all else are in the order of their labels. */
static int compare_groups(const void *a, const void *b, void *ctx)
{
	const void *x = *(void *const *)a, *y = *(void *const *)b;
	const struct sorting *sorting = ctx;
	int order = sorting->compare(x, y, sorting->ctx);

	return order ? order : compare_label(x, y);
}

void groups_sort(struct groups *g, int (*compare)(const void *a, const void *b, void *ctx),
		 void *ctx, size_t most, void (*add)(void *to, const void *from))
{
	struct sorting sorting = { compare, ctx };
	struct group *rest;

	if (g->n)
		qsort_r(g->list, g->n, sizeof(*g->list), compare_groups, &sorting);
	if (!most || g->n <= most)
		return;
	rest = mem_new(1, g->size);
	rest->others = g->n - most;
	for (size_t i = most; i < g->n; i++)
		add(rest, g->list[i]);
	g->list[most] = g->rest = rest;
	g->n = most + 1;
}

void groups_free(struct groups *g)
{
	tdestroy(g->tree, free_group);
	free(g->rest);
	free(g->list);
	*g = (struct groups){ .size = g->size };
}

bool option_largest(const char *option, const char *s, void *to)
{
	__u64 *n = to;

	return option_count(option, s, n) &&
	       (*n <= GROUPS_MOST || err_value(option, s, "must be 1 to 1000"));
}

const char *group_shown(const struct group *g)
{
	static char others[32];

	if (g->label)
		return text_shown(g->label);
	snprintf(others, sizeof(others), "%zu other%s", g->others, plural(g->others));
	return others;
}

void group_add_json(struct json *j, const struct group *g, enum group_by by)
{
	json_add_string(j, "by", group_by_names[by]);
	json_add_string(j, group_by_names[by], g->label);
	json_add_int_if(j, "others", !g->label, g->others);
}
