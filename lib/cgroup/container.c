// SPDX-License-Identifier: GPL-2.0-only
/* Containers and pods, by what runtimes and the kubelet name their cgroups and folders. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static bool is_pod(const char *part, char uid[POD_UID_LEN])
{
	const char *from = strstr(part, "pod"), *next;
	size_t len;

	while (from && (next = strstr(from + 1, "pod")))
		from = next; /* after "kubepods" */
	if (!from)
		return false;
	len = strspn(from + 3, "0123456789abcdef-_");
	if (len < 32 || len >= POD_UID_LEN || (from[3 + len] && strcmp(from + 3 + len, ".slice")))
		return false;
	snprintf(uid, POD_UID_LEN, "%.*s", (int)len, from + 3);
	for (char *c = uid; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return true;
}

bool cgroup_pod_uid(const char *path, char uid[POD_UID_LEN])
{
	const char *last = strrchr(path, '/');

	return is_pod(last ? last + 1 : path, uid);
}

bool cgroup_is_pod(const char *path)
{
	char uid[POD_UID_LEN];

	return cgroup_pod_uid(path, uid);
}

/* The folder's name is NAMESPACE_NAME_UID; neither of the first two has a "_". */
bool cgroup_pod_name(const char *pods, const char *uid, char name[POD_NAME_LEN])
{
	const struct dirent *entry;
	DIR *dir AUTO_CLOSEDIR = opendir(pods);

	*name = 0;
	while (dir && !*name && (entry = readdir(dir))) {
		const char *middle = strchr(entry->d_name, '_'),
			   *end = middle ? strchr(middle + 1, '_') : NULL;

		if (end && !strcmp(end + 1, uid))
			snprintf(name, POD_NAME_LEN, "%.*s/%.*s", (int)(middle - entry->d_name),
				 entry->d_name, (int)(end - middle - 1), middle + 1);
	}
	return *name;
}

bool cgroup_container(const char *path, const char *pods, char *name, size_t size)
{
	char *copy AUTO_FREE = mem_copy(path), *parent = "", *rest = NULL, uid[POD_UID_LEN],
		   pod[POD_NAME_LEN];
	const char *found;
	int len;

	*name = 0;
	for (char *part = strtok_r(copy, "/", &rest); part && !*name;
	     parent = part, part = strtok_r(NULL, "/", &rest)) {
		if (is_pod(part, uid) && cgroup_pod_name(pods, uid, pod))
			snprintf(name, size, "pod %s", pod);
		for (size_t i = 0; i < sizeof(namings) / sizeof(namings[0]) && !*name; i++)
			if (is_named(&namings[i], parent, part, &len, &found))
				snprintf(name, size, "%s %.*s", namings[i].runtime,
					 namings[i].has_id ? ID_SHOWN : len, found);
	}
	return *name;
}
