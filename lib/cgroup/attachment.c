// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_calls.h"
#include "cgroup.h"
#include "cli/err.h"

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
	list->at = mem_resize(list->at, list->n + 1, sizeof(*list->at));
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
