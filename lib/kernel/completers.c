// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cli/completion.h"
#include "cli/err.h"
#include "cli/privileges.h"
#include "cgroup/cgroup.h"
#include "kernel/completers.h"
#include "kernel/instance.h"
#include "kernel/netns.h"

void complete_instances(const struct completion *c)
{
	struct instance *list AUTO_FREE = NULL;
	int n = privileges_take() ? 0 : instance_list(&list);

	for (int i = 0; i < n; i++)
		completion_add(c, list[i].name, "");
}

void complete_congestion_controls(const struct completion *c)
{
	FILE *file AUTO_FCLOSE = fopen(CONGESTION_CONTROLS, "re");
	char name[BBR_NAME_LEN];

	while (file && fscanf(file, "%15s", name) == 1)
		completion_add(c, name, "");
}

/*
 * Adds the entries of a directory, with `before` in front. With `folders`, adds only its
 * directories, with a slash at the end.
 */
static void add_entries(const struct completion *c, const char *folder, const char *before,
			bool folders)
{
	DIR *dir AUTO_CLOSEDIR = opendir(folder);
	struct dirent *entry;
	char word[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || (folders && entry->d_type != DT_DIR))
			continue;
		snprintf(word, sizeof(word), "%s%s%s", before, entry->d_name, folders ? "/" : "");
		completion_add(c, word, "");
	}
}

void complete_netns(const struct completion *c)
{
	add_entries(c, NETNS_NAMED, "", false);
}

void complete_devices(const struct completion *c)
{
	add_entries(c, "/sys/class/net", "", false);
}

void complete_cgroups(const struct completion *c)
{
	const char *typed = c->current, *slash = strrchr(typed, '/');
	char *mount AUTO_FREE = cgroup_mount(), before[PATH_MAX], folder[2 * PATH_MAX];

	snprintf(before, sizeof(before), "%.*s", slash ? (int)(slash + 1 - typed) : 0, typed);
	if (mount) {
		snprintf(folder, sizeof(folder), "%s/%s", mount, before);
		add_entries(c, folder, before, true);
	}
}
