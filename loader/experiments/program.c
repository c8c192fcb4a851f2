// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cli/err.h"
#include "experiments/experiments.h"
#include "instance/attach_program.h"
#include "kernel/clock.h"

extern const char experiment_object[], experiment_object_end[]; /* carried.S */

/* The coarse clock moves with each tick. */
static __u32 kernel_hz(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || !tick.tv_nsec)
		return 1000;
	return lround((double)NS_PER_S / tick.tv_nsec);
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
	if (!config || !control || !outcomes || !connections)
		return -ENOENT;
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

static int load(struct bpf_object *obj, struct experiment_request *r,
		const int assigned[EXPERIMENT_ARMS], const struct experiment_decision *first)
{
	int error = set_values(obj, r);

	if (!error && bpf_object__load(obj))
		error = -errno;
	if (!error)
		error = fill_maps(obj, r, assigned, first);
	if (error)
		return error;
	return experiment_check(
		bpf_program__fd(bpf_object__find_program_by_name(obj, EXPERIMENT_PROG)));
}

int experiment_program_start(struct experiment_request *r, const int assigned[EXPERIMENT_ARMS],
			     const struct experiment_decision *first, int cgroup_fd,
			     const char *cgroup)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = EXPERIMENT_PROG);
	struct bpf_object *obj = bpf_object__open_mem(
		experiment_object, experiment_object_end - experiment_object, &opts);
	int ret, error = obj ? load(obj, r, assigned, first) : -errno;

	if (error) {
		ret = err_bpf(error, "the kernel refused the BPF program of experiments");
		remedy("bbrctl -v experiment start shows the kernel's reasons");
	} else {
		struct bpf_program *prog = bpf_object__find_program_by_name(obj, EXPERIMENT_PROG);

		ret = attach_program(bpf_program__fd(prog), cgroup_fd, -1, cgroup);
	}
	bpf_object__close(obj);
	return ret;
}

int experiment_program_stop(const struct experiment_handle *h)
{
	int prog = bpf_prog_get_fd_by_id(h->prog_id), cgroup, ret;

	if (prog < 0)
		return err_bpf(errno, h->config.name);
	cgroup = open(h->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = cgroup < 0 ? err_bpf(errno, h->path) : detach_program(prog, cgroup, h->path);
	if (cgroup >= 0)
		close(cgroup);
	close(prog);
	return ret;
}
