// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "instance/applied.h"
#include "kernel/instance.h"

#define MAX_DEFAULTS 4096 /* namespaces of an instance */

int applied_mark(int prog_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int error, map = bpf_map_create(BPF_MAP_TYPE_HASH, BBR_MAP_APPLIED, sizeof(__u32),
					sizeof(__u32), MAX_DEFAULTS, &opts);

	if (map < 0)
		return -errno;
	/* From here on it lives as long as the program, through which it can be found. */
	error = bpf_prog_bind_map(prog_fd, map, NULL) ? -errno : 0;
	close(map);
	return error;
}

int applied_mark_instance(const struct instance *inst)
{
	int error, prog;

	if (inst->applied_id)
		return 0;
	prog = bpf_prog_get_fd_by_id(inst->prog_id);
	if (prog < 0)
		return -errno;
	error = applied_mark(prog);
	close(prog);
	return error;
}

bool applied_has_default(const struct instance *inst, __u32 inode)
{
	int map = inst->applied_id ? instance_map(inst->applied_id) : -1;
	__u32 value;
	bool has;

	if (map < 0)
		return false;
	has = !bpf_map_lookup_elem(map, &inode, &value);
	close(map);
	return has;
}

int applied_note_default(const struct instance *inst, __u32 inode, bool is_applied)
{
	static const __u32 value = 1;
	int error = 0, map = inst->applied_id ? instance_map(inst->applied_id) : -ENOENT;

	if (map < 0)
		return is_applied ? map : 0;
	if (is_applied)
		error = bpf_map_update_elem(map, &inode, &value, BPF_ANY) ? -errno : 0;
	else
		bpf_map_delete_elem(map, &inode);
	close(map);
	return error;
}
