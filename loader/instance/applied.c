// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "instance/netns_default.h"
#include "kernel/instance.h"
#include "kernel/route.h"

#define MAX_NOTES 4096 /* of an instance */

static int make_notes(int prog_fd, const char *name, __u32 key_size, __u32 value_size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	struct bpf_map_info info;
	int error, map = bpf_map_create(BPF_MAP_TYPE_HASH, name, key_size, value_size, MAX_NOTES,
					&opts);

	if (map < 0)
		return -errno;
	error = map_info(map, &info);
	/* libbpf makes a map without a name if the kernel refuses its probe for names once. */
	if (!error && strcmp(info.name, name))
		error = -EAGAIN;
	/* From here on it lives as long as the program, through which it can be found. */
	if (!error && bpf_prog_bind_map(prog_fd, map, NULL))
		error = -errno;
	if (!error)
		return map;
	close(map);
	return error;
}

int notes_open(const struct instance *inst, __u32 id, const char *name, __u32 key_size,
	       __u32 value_size)
{
	int prog AUTO_CLOSE = -1;

	if (id)
		return instance_map(id);
	prog = bpf_prog_get_fd_by_id(inst->prog_id);
	return prog < 0 ? -errno : make_notes(prog, name, key_size, value_size);
}

int applied_mark(int prog_fd)
{
	int map AUTO_CLOSE = make_notes(prog_fd, BBR_MAP_APPLIED, sizeof(__u32), sizeof(__u32));

	return map < 0 ? map : 0;
}

int applied_mark_instance(const struct instance *inst)
{
	int map AUTO_CLOSE =
		notes_open(inst, inst->applied_id, BBR_MAP_APPLIED, sizeof(__u32), sizeof(__u32));

	return map < 0 ? map : 0;
}

int applied_has_default(const struct instance *inst, __u32 inode)
{
	int map AUTO_CLOSE = inst->applied_id ? instance_map(inst->applied_id) : -ENOENT, ret = map;
	__u32 value;

	if (map >= 0)
		ret = bpf_map_lookup_elem(map, &inode, &value) ? -errno : 1;
	return ret == -ENOENT ? 0 : ret;
}

int applied_note_default(const struct instance *inst, __u32 inode, bool is_applied)
{
	static const __u32 value = 1;
	int map AUTO_CLOSE = inst->applied_id ? instance_map(inst->applied_id) : -ENOENT;
	int error = map < 0 ? map : 0;

	if (!error && (is_applied ? bpf_map_update_elem(map, &inode, &value, BPF_ANY) :
				    bpf_map_delete_elem(map, &inode)))
		error = -errno;
	/* One that has no mark yet has no notes either: machine_take_over() makes both. */
	return error == -ENOENT ? 0 : error;
}

struct route_key {
	__u32 inode, metric;
	struct route_prefix to;
};

static struct route_key key_of(__u32 inode, const struct route *r)
{
	return (struct route_key){ inode, r->metric, r->to };
}

/* Opens the map; makes it if there is none yet, and it is wanted. */
static int open_routes(const struct instance *inst, bool is_wanted)
{
	if (!inst->routes_id && !is_wanted)
		return -ENOENT;
	return notes_open(inst, inst->routes_id, BBR_MAP_ROUTES, sizeof(struct route_key),
			  sizeof(struct route_note));
}

int route_note_read(const struct instance *inst, __u32 inode, const struct route *r,
		    struct route_note *note)
{
	const struct route_key key = key_of(inode, r);
	int map AUTO_CLOSE = open_routes(inst, false), ret;

	if (map < 0)
		return map == -ENOENT ? 0 : map;
	ret = bpf_map_lookup_elem(map, &key, note) ? -errno : 1;
	note->previous[BBR_NAME_LEN - 1] = 0;
	return ret == -ENOENT ? 0 : ret;
}

int route_note_write(const struct instance *inst, __u32 inode, const struct route *r,
		     const struct route_note *note)
{
	const struct route_key key = key_of(inode, r);
	int map AUTO_CLOSE = open_routes(inst, note), error = 0;

	if (map < 0)
		return map == -ENOENT && !note ? 0 : map;
	if (note ? bpf_map_update_elem(map, &key, note, BPF_ANY) : bpf_map_delete_elem(map, &key))
		error = -errno;
	return error == -ENOENT && !note ? 0 : error;
}
