// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* asprintf() */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "attachment.h"
#include "cgroup.h"

#define MAX_PROGS 64 /* sockops programs of one cgroup; the kernel allows no more */

static int read_attach(__u32 map_id, struct bbr_attach *attach)
{
	static const __u32 key;
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	int error = -ENOENT, fd = bpf_map_get_fd_by_id(map_id);

	if (fd < 0)
		return -errno;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, BBR_MAP_ATTACH) &&
	    info.value_size == sizeof(*attach) && !bpf_map_lookup_elem(fd, &key, attach) &&
	    attach->magic == BBR_ATTACH_MAGIC) {
		attach->name[BBR_NAME_LEN - 1] = 0;
		error = 0;
	}
	close(fd);
	return error;
}

/* Is the program of this file descriptor ours? 0: yes. */
static int inspect(int fd, struct bbr_attach *attach)
{
	__u32 ids[4], len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {
		.map_ids = (__u64)(unsigned long)ids,
		.nr_map_ids = 4,
	};

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	if (strcmp(info.name, BBR_ATTACH_PROG))
		return -ENOENT;
	for (__u32 i = 0; i < info.nr_map_ids && i < 4; i++)
		if (!read_attach(ids[i], attach))
			return 0;
	return -ENOENT;
}

int cgroup_program(int cgroup_fd, struct bbr_attach *attach)
{
	__u32 ids[MAX_PROGS], flags, n = MAX_PROGS;

	if (bpf_prog_query(cgroup_fd, BPF_CGROUP_SOCK_OPS, 0, &flags, ids, &n))
		return errno == EINVAL ? -ENOENT : -errno; /* this kernel has none for cgroups */
	for (__u32 i = 0; i < n; i++) {
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		if (fd < 0)
			continue; /* detached since */
		if (!inspect(fd, attach))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

struct list {
	struct attachment *at;
	int n;
};

static int note(int dir_fd, const char *path, struct list *list)
{
	struct bbr_attach attach;
	struct attachment *grown;
	int fd = cgroup_program(dir_fd, &attach);

	if (fd == -ENOENT || fd == -ENODEV) /* none, or removed meanwhile */
		return 0;
	if (fd < 0)
		return fd;
	close(fd);
	grown = realloc(list->at, (list->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->at = grown;
	grown[list->n].path = strdup(path);
	memcpy(grown[list->n].name, attach.name, BBR_NAME_LEN);
	return grown[list->n++].path ? 0 : -ENOMEM;
}

static int walk(const char *path, struct list *list)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int error;

	if (!dir) /* cgroups come and go */
		return errno == ENOENT || errno == ENODEV ? 0 : -errno;
	error = note(dirfd(dir), path, list);
	while (!error && (entry = readdir(dir))) {
		char *below;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
			error = -ENOMEM;
			break;
		}
		error = walk(below, list);
		free(below);
	}
	closedir(dir);
	return error;
}

int attachments_list(struct attachment **list)
{
	struct list found = {};
	char *mount = cgroup_mount();
	int error = mount ? walk(mount, &found) : 0;

	free(mount);
	if (error) {
		attachments_free(found.at, found.n);
		found.at = NULL;
	}
	*list = found.at;
	return error ? error : found.n;
}

void attachments_free(struct attachment *list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i].path);
	free(list);
}
