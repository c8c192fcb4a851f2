// SPDX-License-Identifier: GPL-2.0-only
/* Containers and pods, by what runtimes and the kubelet name their cgroups and folders. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"

/* How a runtime names the cgroup of a container; below `parent`, if it has one. */
static const struct naming {
	const char *parent, *prefix, *suffix, *runtime;
	bool has_id; /* in hexadecimal digits */
} namings[] = {
	{ NULL, "docker-", ".scope", "docker", true },
	{ "docker", "", "", "docker", true },
	{ NULL, "libpod-", ".scope", "podman", true },
	{ NULL, "libpod-", "", "podman", true },
	{ NULL, "cri-containerd-", ".scope", "containerd", true },
	{ NULL, "crio-", ".scope", "cri-o", true },
	{ NULL, "crio-", "", "cri-o", true },
	{ NULL, "nerdctl-", ".scope", "nerdctl", true },
	{ NULL, "lxc.payload.", "", "lxc", false },
	{ "lxc", "", "", "lxc", false },
	{ NULL, "systemd-nspawn@", ".service", "nspawn", false },
	{ NULL, "machine-", ".scope", "machine", false },
	{ NULL, "", "", "container", true },
};

#define ID_LEN 64
#define ID_SHOWN 12 /* as the runtimes show it */

/* True if text is named so; *name is the part that differs. */
static bool is_named(const struct naming *n, const char *parent, const char *text, int *len,
		     const char **name)
{
	size_t all = strlen(text), before = strlen(n->prefix), after = strlen(n->suffix);

	if ((n->parent && strcmp(n->parent, parent)) || all <= before + after ||
	    strncmp(text, n->prefix, before) || strcmp(text + all - after, n->suffix))
		return false;
	*name = text + before;
	*len = all - before - after;
	return !n->has_id || (*len == ID_LEN && strspn(*name, "0123456789abcdef") >= ID_LEN);
}

/* The uid of a pod in the name of its cgroup: "pod1-2", "kubepods-burstable-pod1_2.slice". */
static bool is_pod(const char *part, char *uid, size_t size)
{
	const char *from = strstr(part, "pod"), *next;
	size_t len;

	while (from && (next = strstr(from + 1, "pod")))
		from = next; /* after "kubepods" */
	if (!from)
		return false;
	len = strspn(from + 3, "0123456789abcdef-_");
	if (len < 32 || len >= size || (from[3 + len] && strcmp(from + 3 + len, ".slice")))
		return false;
	snprintf(uid, size, "%.*s", (int)len, from + 3);
	for (char *c = uid; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return true;
}

/* The same for a cgroup's path. */
static bool pod_of_path(const char *path, char *uid, size_t size)
{
	const char *last = strrchr(path, '/');

	return is_pod(last ? last + 1 : path, uid, size);
}

bool cgroup_is_pod(const char *path)
{
	char uid[40];

	return pod_of_path(path, uid, sizeof(uid));
}

/* Its NAMESPACE/NAME from its folder's name; neither has a "_". False, and "", if there is none. */
static bool find_pod(const char *pods, const char *uid, char name[POD_NAME_LEN])
{
	const struct dirent *entry;
	DIR *dir = opendir(pods);

	*name = 0;
	while (dir && !*name && (entry = readdir(dir))) {
		const char *middle = strchr(entry->d_name, '_'),
			   *end = middle ? strchr(middle + 1, '_') : NULL;

		if (end && !strcmp(end + 1, uid))
			snprintf(name, POD_NAME_LEN, "%.*s/%.*s", (int)(middle - entry->d_name),
				 entry->d_name, (int)(end - middle - 1), middle + 1);
	}
	if (dir)
		closedir(dir);
	return *name;
}

bool cgroup_container(const char *path, const char *pods, char *name, size_t size)
{
	char *copy = mem_copy(path), *parent = "", *rest = NULL, uid[40], pod[POD_NAME_LEN];
	const char *found;
	int len;

	*name = 0;
	for (char *part = strtok_r(copy, "/", &rest); part && !*name;
	     parent = part, part = strtok_r(NULL, "/", &rest)) {
		if (is_pod(part, uid, sizeof(uid)) && find_pod(pods, uid, pod))
			snprintf(name, size, "pod %s", pod);
		for (size_t i = 0; i < sizeof(namings) / sizeof(namings[0]) && !*name; i++)
			if (is_named(&namings[i], parent, part, &len, &found))
				snprintf(name, size, "%s %.*s", namings[i].runtime,
					 namings[i].has_id ? ID_SHOWN : len, found);
	}
	free(copy);
	return *name;
}

struct pods_walk {
	const char *folder;
	struct pod *list;
	size_t n;
};

/* Users may give cgroups of their own any name, so only root's count. */
static int visit_pod(const char *path, void *data)
{
	struct pods_walk *walk = data;
	char uid[40], name[POD_NAME_LEN];
	struct stat st;

	if (!pod_of_path(path, uid, sizeof(uid)) || stat(path, &st) || st.st_uid ||
	    !find_pod(walk->folder, uid, name))
		return 0;
	walk->list = mem_grow(walk->list, walk->n, sizeof(*walk->list));
	strcpy(walk->list[walk->n].name, name);
	walk->list[walk->n++].path = mem_copy(path);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pod *)a)->name, ((const struct pod *)b)->name);
}

int pods_list(const char *folder, struct pod **list)
{
	struct pods_walk walk = { .folder = folder };
	char *mount = cgroup_mount();
	int ret = mount ? cgroup_walk(mount, visit_pod, &walk) : 0;

	free(mount);
	*list = walk.list;
	if (ret) {
		pods_free(walk.list, walk.n);
		return ret;
	}
	if (walk.n)
		qsort(walk.list, walk.n, sizeof(*walk.list), by_name);
	return walk.n;
}

void pods_free(struct pod *list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i].path);
	free(list);
}
