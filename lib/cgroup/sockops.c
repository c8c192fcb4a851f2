// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cgroup.h"
#include "cli/err.h"

#define MAX_PROGS 64 /* sockops programs of one cgroup; the kernel allows no more */

int sockops_inspect(int fd, const char *name, struct sockops_prog *prog)
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

		if (fd < 0 && errno == ENOENT)
			continue; /* detached since */
		if (fd < 0)
			return -errno;
		ret = sockops_inspect(fd, name, &prog);
		if (ret == 1)
			ret = visit(&prog, data);
		close(fd);
	}
	return ret;
}

static int visit_one(const char *path, const char *name, sockops_visitor visit, void *data)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = sockops_visit(fd, path, name, visit, data);
	close(fd);
	return ret;
}

static int is_below(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

/*
 * Cgroups come and go. Any user may have some, as deep as they like: so none stays open while those
 * below it are visited, and one whose path is too long for the kernel is left out. Nobody can attach
 * a program there by its path.
 */
static int walk(const char *path, const char *name, sockops_visitor visit, void *data)
{
	int ret = visit_one(path, name, visit, data), n = 0;
	struct dirent **entries = NULL;

	if (!ret) {
		n = scandir(path, &entries, is_below, NULL);
		ret = n < 0 ? -errno : 0;
	}
	for (int i = 0; i < n; i++) {
		char *below = mem_format("%s/%s", path, entries[i]->d_name);

		if (!ret)
			ret = walk(below, name, visit, data);
		free(below);
		free(entries[i]);
	}
	free(entries);
	return ret == -ENOENT || ret == -ENODEV || ret == -ENAMETOOLONG ? 0 : ret;
}

int sockops_visit_all(const char *name, sockops_visitor visit, void *data)
{
	char *mount = cgroup_mount();
	int ret = mount ? walk(mount, name, visit, data) : 0;

	free(mount);
	return ret;
}
