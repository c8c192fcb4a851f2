// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy() */
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/cgroup.h"
#include "cgroup_paths.h"

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
