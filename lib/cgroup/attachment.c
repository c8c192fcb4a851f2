// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_calls.h"
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

/* ---- ours */

static int read_attach(__u32 map_id, struct bbr_attach *attach)
{
	static const __u32 key;
	int error, fd = bpf_map_get_fd_by_id(map_id);
	struct bpf_map_info info;

	if (fd < 0)
		return -errno;
	error = map_info(fd, &info);
	if (!error && (strcmp(info.name, BBR_MAP_ATTACH) || info.value_size != sizeof(*attach)))
		error = -ENOENT;
	if (!error && bpf_map_lookup_elem(fd, &key, attach))
		error = -errno;
	if (!error && attach->magic != BBR_ATTACH_MAGIC)
		error = -ENOENT;
	if (!error)
		attach->name[BBR_NAME_LEN - 1] = 0;
	close(fd);
	return error;
}

/* Returns 1 if the program is ours, 0 if not, or -errno. */
static int is_ours(const struct sockops_prog *prog, struct bbr_attach *attach)
{
	int error = -ENOENT;

	for (__u32 i = 0; error == -ENOENT && i < prog->maps; i++)
		error = read_attach(prog->map_ids[i], attach);
	return error == -ENOENT ? 0 : error ? error : 1;
}

int attachment_check(int prog_fd)
{
	struct sockops_prog prog;
	struct bbr_attach attach;
	int ret = sockops_inspect(prog_fd, BBR_ATTACH_PROG, &prog);

	if (ret == 1)
		ret = is_ours(&prog, &attach);
	return ret < 0 ? ret : ret ? 0 : -EAGAIN;
}

/* Returns 1 if an apply made the program (its mark), 0 if not, or -errno. */
static int is_applied(const struct sockops_prog *prog)
{
	int ret = 0;

	for (__u32 i = 0; !ret && i < prog->maps; i++) {
		struct bpf_map_info info;
		int fd = bpf_map_get_fd_by_id(prog->map_ids[i]);

		if (fd < 0)
			return -errno;
		ret = map_info(fd, &info);
		ret = ret ? ret : !strcmp(info.name, BBR_MAP_APPLIED);
		close(fd);
	}
	return ret;
}

struct search {
	struct bbr_attach *attach;
	int fd;
};

static int take_first(const struct sockops_prog *prog, void *data)
{
	struct search *s = data;
	int ret = is_ours(prog, s->attach);

	if (ret != 1)
		return ret;
	s->fd = fcntl(prog->fd, F_DUPFD_CLOEXEC, 0);
	return s->fd < 0 ? -errno : 1;
}

int cgroup_program(int cgroup_fd, struct bbr_attach *attach)
{
	struct search s = { .attach = attach };
	int ret = sockops_visit(cgroup_fd, "", BBR_ATTACH_PROG, take_first, &s);

	if (ret < 0)
		return ret;
	return ret ? s.fd : -ENOENT;
}

struct list {
	struct attachment *at;
	int n;
};

static int take(const struct sockops_prog *prog, void *data)
{
	struct list *list = data;
	struct bbr_attach attach;
	int applied, ret = is_ours(prog, &attach);

	if (ret != 1)
		return ret;
	applied = is_applied(prog);
	if (applied < 0)
		return applied;
	if (list->n && !strcmp(list->at[list->n - 1].path, prog->cgroup))
		return 0; /* only the first one of a cgroup counts */
	list->at = mem_grow(list->at, list->n, sizeof(*list->at));
	list->at[list->n] =
		(struct attachment){ .path = mem_copy(prog->cgroup), .is_applied = applied };
	memcpy(list->at[list->n++].name, attach.name, BBR_NAME_LEN);
	return 0;
}

int attachments_list(struct attachment **list)
{
	struct list found = {};
	int error = sockops_visit_all(BBR_ATTACH_PROG, take, &found);

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
