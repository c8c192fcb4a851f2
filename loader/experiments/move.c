// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cli/err.h"
#include "experiments/experiments.h"
#include "kernel/iterator.h"
#include "kernel/netns.h"

#define MOVE_PROG "bbr_exp_move"
#define MOVE_MAP_TO ".rodata.move_to"
#define MAX_MAPS 16
#define MAX_PASSES 8 /* a walk misses sockets that the hash table moves meanwhile */

extern const char experiment_object[], experiment_object_end[]; /* carried.S */

/* Makes the object use this map of the running experiment, if it has one with the same name. */
static int reuse(struct bpf_object *obj, __u32 id)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	int error, fd = bpf_map_get_fd_by_id(id);
	struct bpf_map *map;

	if (fd < 0)
		return -errno;
	error = bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : 0;
	map = error ? NULL : bpf_object__find_map_by_name(obj, info.name);
	if (map && strcmp(info.name, MOVE_MAP_TO))
		error = bpf_map__reuse_fd(map, fd) ? -errno : 0;
	close(fd);
	return error;
}

static int reuse_all(struct bpf_object *obj, __u32 prog_id)
{
	__u32 ids[MAX_MAPS], len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {
		.map_ids = (__u64)(unsigned long)ids,
		.nr_map_ids = MAX_MAPS,
	};
	int fd = bpf_prog_get_fd_by_id(prog_id), error;

	if (fd < 0)
		return -errno;
	error = bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : 0;
	close(fd);
	for (__u32 i = 0; !error && i < info.nr_map_ids && i < MAX_MAPS; i++)
		error = reuse(obj, ids[i]);
	return error;
}

/* Loads only the program that moves connections: the other one runs already. */
static int load(struct bpf_object *obj, __u32 prog_id, __u32 arm)
{
	struct bpf_map *to = bpf_object__find_map_by_name(obj, MOVE_MAP_TO);
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, EXPERIMENT_PROG);
	int error;

	if (!to || !prog)
		return -ENOENT;
	error = reuse_all(obj, prog_id);
	if (error)
		return error;
	if (bpf_program__set_autoload(prog, false) ||
	    bpf_map__set_initial_value(to, &arm, sizeof(arm)) || bpf_object__load(obj))
		return -errno;
	return 0;
}

struct walk {
	const struct experiment_handle *h;
	int link;
};

static int visit(const struct netns *ns, void *data)
{
	const struct walk *w = data;
	__u64 before = ~0ull;

	for (int i = 0; i < MAX_PASSES && before != w->h->control->moved; i++) {
		int error;

		before = w->h->control->moved;
		error = iterator_run(w->link);
		if (error)
			return err_bpf(error, ns->name);
	}
	return EXIT_DONE;
}

static int walk(const struct experiment_handle *h, const struct bpf_object *obj)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, MOVE_PROG);
	struct bpf_link *link = prog ? bpf_program__attach_iter(prog, NULL) : NULL;
	struct walk w = { .h = h };
	int ret;

	if (!link)
		return err_bpf(errno, "the kernel refused to walk its sockets");
	w.link = bpf_link__fd(link);
	ret = netns_for_each(visit, &w);
	bpf_link__destroy(link);
	return ret;
}

int experiment_move(const struct experiment_handle *h, int arm, __u64 *moved)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = EXPERIMENT_PROG);
	struct bpf_object *obj = bpf_object__open_mem(
		experiment_object, experiment_object_end - experiment_object, &opts);
	int error = obj ? load(obj, h->prog_id, arm) : -errno, ret;

	*moved = h->control->moved;
	if (error) {
		ret = err_bpf(error, "the kernel refused the BPF program that moves connections");
		remedy("bbrctl -v experiment stop shows the kernel's reasons");
	} else {
		ret = walk(h, obj);
	}
	*moved = h->control->moved - *moved;
	bpf_object__close(obj);
	return ret;
}
