// SPDX-License-Identifier: GPL-2.0-only
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

struct sockops_walk {
	const char *name;
	sockops_visitor visit;
	void *data;
};

static int visit_cgroup(const char *path, void *data)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	const struct sockops_walk *w = data;

	if (fd < 0)
		return -errno;
	ret = sockops_visit(fd, path, w->name, w->visit, w->data);
	close(fd);
	return ret;
}

int sockops_visit_all(const char *name, sockops_visitor visit, void *data)
{
	struct sockops_walk w = { name, visit, data };
	char *mount = cgroup_mount();
	int ret = mount ? cgroup_walk(mount, visit_cgroup, &w) : 0;

	free(mount);
	return ret;
}

/* ---- ours */

/* Reads the only value of a frozen map with this name; -ENOENT: it is another map. */
static int read_frozen(__u32 map_id, const char *name, void *value, size_t size)
{
	static const __u32 key;
	int error, fd = bpf_map_get_fd_by_id(map_id);
	struct bpf_map_info info;

	if (fd < 0)
		return -errno;
	error = map_info(fd, &info);
	if (!error && (strcmp(info.name, name) || info.value_size != size))
		error = -ENOENT;
	if (!error && bpf_map_lookup_elem(fd, &key, value))
		error = -errno;
	close(fd);
	return error;
}

/* Reads the first of the program's maps that has this name. Returns 1, 0 if none has, or -errno. */
static int read_map(const struct sockops_prog *prog, const char *name, void *value, size_t size)
{
	int error = -ENOENT;

	for (__u32 i = 0; error == -ENOENT && i < prog->maps; i++)
		error = read_frozen(prog->map_ids[i], name, value, size);
	return error == -ENOENT ? 0 : error ? error : 1;
}

/* Returns 1 if the program is ours, 0 if not, or -errno. */
static int is_ours(const struct sockops_prog *prog, struct bbr_attach *attach)
{
	int ret = read_map(prog, BBR_MAP_ATTACH, attach, sizeof(*attach));

	if (ret == 1 && attach->magic != BBR_ATTACH_MAGIC)
		ret = 0;
	if (ret == 1)
		attach->name[BBR_NAME_LEN - 1] = 0;
	return ret;
}

/* For whom it is; all zeros if it does not say. Returns 0 or -errno. */
static int read_for(const struct sockops_prog *prog, struct bbr_attach_for *is_for)
{
	int ret;

	memset(is_for, 0, sizeof(*is_for));
	ret = read_map(prog, BBR_MAP_ATTACH_FOR, is_for, sizeof(*is_for));
	is_for->below[BBR_ATTACH_PATH - 1] = 0;
	if (is_for->n > BBR_ATTACH_TERMS)
		is_for->n = 0;
	return ret < 0 ? ret : 0;
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

const char *attachment_below(const struct attachment *at)
{
	size_t len = strlen(at->place);

	return at->path[len] ? at->path + len + 1 : "";
}

bool attachment_equal(const struct attachment *a, const struct attachment *b)
{
	return !strcmp(a->name, b->name) && a->n == b->n &&
	       !memcmp(a->term, b->term, a->n * sizeof(*a->term));
}

struct search {
	const struct attachment *at;
	int fd;
};

static int take_same(const struct sockops_prog *prog, void *data)
{
	struct search *s = data;
	struct bbr_attach_for is_for;
	struct bbr_attach attach;
	int ret = is_ours(prog, &attach);

	if (ret != 1)
		return ret;
	ret = read_for(prog, &is_for);
	if (ret || strcmp(is_for.below, attachment_below(s->at)))
		return ret;
	s->fd = fcntl(prog->fd, F_DUPFD_CLOEXEC, 0);
	return s->fd < 0 ? -errno : 1;
}

int attachment_program(int place_fd, const struct attachment *at)
{
	struct search s = { .at = at };
	int ret = sockops_visit(place_fd, "", BBR_ATTACH_PROG, take_same, &s);

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
	struct bbr_attach_for is_for;
	struct bbr_attach attach;
	struct attachment at = { .place = (char *)prog->cgroup };
	int applied, ret = is_ours(prog, &attach);

	if (ret != 1)
		return ret;
	ret = read_for(prog, &is_for);
	applied = ret ? ret : is_applied(prog);
	if (applied < 0)
		return applied;
	at.path = mem_format("%s%s%s", at.place, is_for.below[0] ? "/" : "", is_for.below);
	/* Of several only the one that comes first counts. */
	for (int i = 0; i < list->n; i++)
		if (!strcmp(list->at[i].path, at.path)) {
			free(at.path);
			return 0;
		}
	at.place = mem_copy(prog->cgroup);
	at.is_applied = applied;
	for (__u32 i = 0; i < is_for.n; i++)
		if (is_for.term[i].kind != BBR_TERM_PATH || is_for.term[i].is_not)
			at.term[at.n++] = is_for.term[i];
	memcpy(at.name, attach.name, BBR_NAME_LEN);
	list->at = mem_grow(list->at, list->n, sizeof(*list->at));
	list->at[list->n++] = at;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct attachment *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int attachments_list(struct attachment **list)
{
	struct list found = {};
	int error = sockops_visit_all(BBR_ATTACH_PROG, take, &found);

	if (error) {
		attachments_free(found.at, found.n);
		found.at = NULL;
	} else if (found.n) {
		qsort(found.at, found.n, sizeof(*found.at), by_path);
	}
	*list = found.at;
	return error ? error : found.n;
}

void attachment_free(struct attachment *at)
{
	free(at->path);
	free(at->place);
}

void attachments_free(struct attachment *list, int n)
{
	for (int i = 0; i < n; i++)
		attachment_free(&list[i]);
	free(list);
}
