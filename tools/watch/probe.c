// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "descriptor.h"
#include "event/event.h"
#include "kernel/kernel_types.h"
#include "monitor.h"

/* The object of an algorithm that no kernel has is empty. */
#define X(name) extern const char probe_##name[], probe_##name##_end[];
#include "algorithms.h"
#undef X

/* In the order of the tools' table. */
static const struct object {
	const char *begin, *end;
} objects[] = {
#define X(name) { probe_##name, probe_##name##_end },
#include "algorithms.h"
#undef X
};

void probe_init(struct probe *p)
{
	const struct btf *btf = kernel_types();

	memset(p, 0, sizeof(*p));
	memset(p->links, -1, sizeof(p->links));
	p->built_in = btf && btf__find_by_name_kind(btf, "bbr", BTF_KIND_STRUCT) > 0;
}

bool probe_is_possible(const struct probe *p)
{
	return !p->refused && (p->built_in || !access("/sys/kernel/btf/tcp_bbr", F_OK));
}

static int map_id(const struct bpf_object *obj, const char *name, __u32 *id)
{
	struct bpf_map_info info;
	int error = map_info(bpf_object__find_map_fd_by_name(obj, name), &info);

	*id = info.id;
	return error;
}

static int prog_id(const struct bpf_program *prog, __u32 *id)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return -errno;
	*id = info.id;
	return 0;
}

static int attach(struct probe *p, struct instance *inst)
{
	struct bpf_program *prog;
	int n = 0, error;

	error = bpf_object__load(p->obj);
	if (!error)
		error = map_id(p->obj, BBR_MAP_WATCH, &inst->watch_id);
	if (!error)
		error = map_id(p->obj, BBR_MAP_RINGS, &inst->rings_id);
	bpf_object__for_each_program(prog, p->obj)
	{
		if (!error)
			error = prog_id(prog, &inst->prog_id);
		if (error)
			break;
		p->links[n] = bpf_raw_tracepoint_open(NULL, bpf_program__fd(prog));
		if (p->links[n] < 0)
			return -errno;
		n++;
	}
	return error;
}

int probe_attach(struct probe *p, struct instance *inst)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "bbr_probe");
	const struct object *object;
	int error;

	memset(inst, 0, sizeof(*inst));
	memcpy(inst->name, KERNEL_BBR, sizeof(KERNEL_BBR));
	inst->supported = true;
	/* A module's algorithm is known only when it is loaded. */
	error = kernel_bbr_find(&inst->algorithm);
	if (error == -EPROTONOSUPPORT) {
		p->refused = true;
		return error;
	}
	if (!error) {
		object = &objects[algorithm_index(inst->algorithm)];
		p->obj = bpf_object__open_mem(object->begin, object->end - object->begin, &opts);
		error = p->obj ? attach(p, inst) : -errno;
	}
	if (!error)
		return 0;
	note("the kernel's own bbr cannot be watched: %s", strerror(-error));
	p->refused = true;
	probe_detach(p);
	return error;
}

void probe_detach(struct probe *p)
{
	for (int i = 0; i < PROBE_PROGRAMS; i++) {
		if (p->links[i] >= 0)
			close(p->links[i]);
		p->links[i] = -1;
	}
	bpf_object__close(p->obj);
	p->obj = NULL;
}
