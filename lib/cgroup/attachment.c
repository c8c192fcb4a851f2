// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_calls.h"
#include "cgroup.h"
#include "cli/err.h"

#define MAX_PROGS 64 /* sockops programs of one cgroup; the kernel allows no more */

int sockops_inspect(int fd, const char *name, struct sockops_prog *prog)
{
	struct bpf_prog_info info = {
		.map_ids = (__u64)(unsigned long)prog->map_ids,
		.nr_map_ids = SOCKOPS_MAPS,
	};

	if (object_info(fd, &info))
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
		int fd AUTO_CLOSE = bpf_prog_get_fd_by_id(ids[i]);

		if (fd < 0 && errno == ENOENT)
			continue; /* detached since */
		if (fd < 0)
			return -errno;
		ret = sockops_inspect(fd, name, &prog);
		if (ret == 1)
			ret = visit(&prog, data);
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
	int fd AUTO_CLOSE = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct sockops_walk *w = data;

	return fd < 0 ? -errno : sockops_visit(fd, path, w->name, w->visit, w->data);
}

int sockops_visit_all(const char *name, sockops_visitor visit, void *data)
{
	struct sockops_walk w = { name, visit, data };
	char *mount AUTO_FREE = cgroup_mount();

	return mount ? cgroup_walk(mount, visit_cgroup, &w) : 0;
}

/* ---- ours */

/* What the maps of one of our programs say. */
struct ours {
	struct bbr_attach attach;
	struct bbr_attach_for is_for; /* for whom it is; all zeros if it does not say */
	bool is_applied; /* an apply made it (its mark) */
};

/* Reads the map, and its only value if it has one of our names. -ENOENT: it is gone. */
static int read_map(__u32 id, struct ours *o)
{
	static const __u32 key;
	int error, fd AUTO_CLOSE = bpf_map_get_fd_by_id(id);
	struct bpf_map_info info;
	void *value = NULL;

	if (fd < 0)
		return -errno;
	error = map_info(fd, &info);
	if (error)
		return error;
	o->is_applied |= !strcmp(info.name, BBR_MAP_APPLIED);
	if (!strcmp(info.name, BBR_MAP_ATTACH) && info.value_size == sizeof(o->attach))
		value = &o->attach;
	if (!strcmp(info.name, BBR_MAP_ATTACH_FOR) && info.value_size == sizeof(o->is_for))
		value = &o->is_for;
	return value && bpf_map_lookup_elem(fd, &key, value) ? -errno : 0;
}

/* Returns 1 if the program is ours, 0 if not, or -errno. */
static int read_ours(const struct sockops_prog *prog, struct ours *o)
{
	int error = 0;

	*o = (struct ours){};
	for (__u32 i = 0; (!error || error == -ENOENT) && i < prog->maps; i++)
		error = read_map(prog->map_ids[i], o);
	if (error && error != -ENOENT)
		return error;
	o->attach.name[BBR_NAME_LEN - 1] = 0;
	o->is_for.below[BBR_ATTACH_PATH - 1] = 0;
	if (o->is_for.n > BBR_ATTACH_TERMS)
		o->is_for.n = 0;
	return o->attach.magic == BBR_ATTACH_MAGIC;
}

int attachment_check(int prog_fd)
{
	struct sockops_prog prog;
	struct ours ours;
	int ret = sockops_inspect(prog_fd, BBR_ATTACH_PROG, &prog);

	if (ret == 1)
		ret = read_ours(&prog, &ours);
	return ret < 0 ? ret : ret ? 0 : -EAGAIN;
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
	struct ours ours;
	int ret = read_ours(prog, &ours);

	if (ret != 1 || strcmp(ours.is_for.below, attachment_below(s->at)))
		return ret < 0 ? ret : 0;
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
	struct attachment at = {};
	struct ours ours;
	const struct bbr_attach_for *is_for = &ours.is_for;
	int ret = read_ours(prog, &ours);

	if (ret != 1)
		return ret;
	at.path = mem_format("%s%s%s", prog->cgroup, is_for->below[0] ? "/" : "", is_for->below);
	/* Of several only the one that comes first counts. */
	for (int i = 0; i < list->n; i++)
		if (!strcmp(list->at[i].path, at.path)) {
			free(at.path);
			return 0;
		}
	at.place = mem_copy(prog->cgroup);
	at.is_applied = ours.is_applied;
	for (__u32 i = 0; i < is_for->n; i++)
		if (is_for->term[i].kind != BBR_TERM_PATH || is_for->term[i].is_not)
			at.term[at.n++] = is_for->term[i];
	memcpy(at.name, ours.attach.name, BBR_NAME_LEN);
	MEM_ADD(list->at, list->n) = at;
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
