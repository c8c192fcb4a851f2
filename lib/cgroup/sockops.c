// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* asprintf() */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cgroup.h"
#include "sockops.h"

#define MAX_PROGS 64 /* sockops programs of one cgroup; the kernel allows no more */

/* Fills in *prog. Returns 1 if the program has this name, 0 if not, or -errno. */
static int inspect(int fd, const char *name, struct sockops_prog *prog)
{
	__u32 len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {
		.map_ids = (__u64)(unsigned long)prog->map_ids,
		.nr_map_ids = SOCKOPS_MAPS,
	};

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	prog->fd = fd;
	prog->id = info.id;
	prog->maps = info.nr_map_ids < SOCKOPS_MAPS ? info.nr_map_ids : SOCKOPS_MAPS;
	return !strcmp(info.name, name);
}

int sockops_visit(int cgroup_fd, const char *path, const char *name, sockops_visitor visit,
		  void *data)
{
	__u32 ids[MAX_PROGS], flags, n = MAX_PROGS;
	int ret = 0;

	if (bpf_prog_query(cgroup_fd, BPF_CGROUP_SOCK_OPS, 0, &flags, ids, &n))
		return errno == EINVAL ? 0 : -errno; /* EINVAL: a kernel without cgroup sockops */
	for (__u32 i = 0; !ret && i < n; i++) {
		struct sockops_prog prog = { .cgroup = path };
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		if (fd < 0)
			continue; /* detached since */
		if (inspect(fd, name, &prog) == 1)
			ret = visit(&prog, data);
		close(fd);
	}
	return ret;
}

static int walk(const char *path, const char *name, sockops_visitor visit, void *data)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int ret;

	if (!dir) /* cgroups come and go */
		return errno == ENOENT || errno == ENODEV ? 0 : -errno;
	ret = sockops_visit(dirfd(dir), path, name, visit, data);
	if (ret == -ENODEV) /* removed meanwhile */
		ret = 0;
	while (!ret && (entry = readdir(dir))) {
		char *below;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
			ret = -ENOMEM;
			break;
		}
		ret = walk(below, name, visit, data);
		free(below);
	}
	closedir(dir);
	return ret;
}

int sockops_visit_all(const char *name, sockops_visitor visit, void *data)
{
	char *mount = cgroup_mount();
	int ret = mount ? walk(mount, name, visit, data) : 0;

	free(mount);
	return ret;
}
