// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_calls.h"
#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "running.h"
#include "instance/object.h"
#include "kernel/clock.h"
#include "kernel/netns.h"

#define MOVE_PROG "bbr_exp_move"
#define MOVE_MAP_TO ".rodata.move_to"
#define MAX_PASSES 8 /* a walk misses sockets that the hash table moves meanwhile */

extern const char experiment_object[], experiment_object_end[]; /* carried.S */

static struct bpf_object *open_object(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = EXPERIMENT_PROG);

	return bpf_object__open_mem(experiment_object, experiment_object_end - experiment_object,
				    &opts);
}

static int set_values(struct bpf_object *obj, struct experiment_request *r)
{
	struct bpf_map *config = bpf_object__find_map_by_name(obj, EXPERIMENT_MAP_CONFIG);
	struct bpf_map *control = bpf_object__find_map_by_name(obj, EXPERIMENT_MAP_CONTROL);
	struct bpf_map *outcomes = bpf_object__find_map_by_name(obj, EXPERIMENT_MAP_OUTCOMES);
	struct bpf_map *connections = bpf_object__find_map_by_name(obj, EXPERIMENT_MAP_CONNECTIONS);
	struct experiment_control begin = { .decisions = 1 };

	r->config.hz = kernel_hz();
	r->config.started_realtime = realtime_ns();
	r->config.started = now_ns();
	memcpy(begin.share, r->share, sizeof(begin.share));
	if (r->config.design == EXPERIMENT_CANARY)
		begin.lease = r->config.started; /* until somebody watches */
	if (bpf_map__set_initial_value(config, &r->config, sizeof(r->config)) ||
	    bpf_map__set_initial_value(control, &begin, sizeof(begin)) ||
	    bpf_map__set_max_entries(outcomes, r->config.outcomes) ||
	    bpf_map__set_max_entries(connections, r->config.outcomes))
		return -errno;
	return 0;
}

static int fill_maps(struct bpf_object *obj, const struct experiment_request *r,
		     const int assigned[EXPERIMENT_ARMS], const struct experiment_decision *first)
{
	int arms = bpf_object__find_map_fd_by_name(obj, EXPERIMENT_MAP_ASSIGNED);
	int log = bpf_object__find_map_fd_by_name(obj, EXPERIMENT_MAP_LOG);
	int prog = bpf_program__fd(bpf_object__find_program_by_name(obj, EXPERIMENT_PROG));
	__u32 place = 0;

	/*
	 * The program does not use the log. Binding the log to it keeps the log alive and lets
	 * tools find it.
	 */
	if (bpf_map_update_elem(log, &place, first, BPF_ANY) || bpf_prog_bind_map(prog, log, NULL))
		return -errno;
	for (; place < r->config.arms; place++)
		if (assigned[place] >= 0 &&
		    bpf_map_update_elem(arms, &place, &assigned[place], BPF_ANY))
			return -errno;
	return 0;
}

int experiment_program_start(struct experiment_request *r, const struct experiment_decision *first,
			     const char *cgroup)
{
	int cgroup_fd AUTO_CLOSE = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC), prog = -1;
	int assigned[EXPERIMENT_ARMS], error, ret;
	struct bpf_object *obj;

	if (cgroup_fd < 0)
		return err_bpf(errno, cgroup);
	ret = arms_open(&r->config, assigned);
	if (ret)
		return ret;
	obj = open_object();
	error = obj ? set_values(obj, r) : -errno;
	if (!error && bpf_object__load(obj))
		error = -errno;
	error = error ?: fill_maps(obj, r, assigned, first);
	if (!error) {
		prog = bpf_program__fd(bpf_object__find_program_by_name(obj, EXPERIMENT_PROG));
		error = experiment_check(prog);
	}
	if (error) {
		ret = err_bpf(error, "the kernel refused the BPF program of experiments");
		remedy("bbrctl -v experiment start shows the kernel's reasons");
	} else {
		ret = attach_program(prog, cgroup_fd, -1, cgroup);
	}
	bpf_object__close(obj);
	arms_close(assigned);
	return ret;
}

/* ---- its end */

/* Makes the object use this map of the running experiment, if it has one with the same name. */
static int reuse(struct bpf_object *obj, __u32 id)
{
	int error, fd AUTO_CLOSE = bpf_map_get_fd_by_id(id);
	struct bpf_map_info info;
	struct bpf_map *map;

	if (fd < 0)
		return -errno;
	error = map_info(fd, &info);
	if (error)
		return error;
	map = bpf_object__find_map_by_name(obj, info.name);
	return map && strcmp(info.name, MOVE_MAP_TO) && bpf_map__reuse_fd(map, fd) ? -errno : 0;
}

/* Loads only the program that moves connections: the other one runs already. */
static int load_mover(struct bpf_object *obj, __u32 prog_id, __u32 arm)
{
	struct bpf_map *to = bpf_object__find_map_by_name(obj, MOVE_MAP_TO);
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, EXPERIMENT_PROG);
	int fd AUTO_CLOSE = bpf_prog_get_fd_by_id(prog_id), ret;
	struct sockops_prog running;

	if (fd < 0)
		return -errno;
	ret = sockops_inspect(fd, EXPERIMENT_PROG, &running);
	ret = ret < 0 ? ret : 0;
	for (__u32 i = 0; !ret && i < running.maps; i++)
		ret = reuse(obj, running.map_ids[i]);
	if (ret)
		return ret;
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
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
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
	struct bpf_object *obj = open_object();
	int error = obj ? load_mover(obj, h->prog_id, arm) : -errno, ret;

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

int experiment_program_stop(const struct experiment_handle *h)
{
	int prog AUTO_CLOSE = bpf_prog_get_fd_by_id(h->prog_id), cgroup AUTO_CLOSE = -1;

	if (prog < 0)
		return err_bpf(errno, h->config.name);
	cgroup = open(h->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cgroup < 0 ? err_bpf(errno, h->path) : detach_program(prog, cgroup, h->path);
}
