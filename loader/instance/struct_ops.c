// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "instance/struct_ops.h"
#include "kernel/instance.h"
#include "kernel/kernel_types.h"

/* Linux 6.4; the headers that this is built with may be older. */
#define F_LINK (1U << 13) /* BPF_F_LINK */
#define STRUCT_OPS ((enum bpf_attach_type)44) /* BPF_STRUCT_OPS */

#define BURST "tso_segs"
#define LEAST_BURST "min_tso_segs"

static const struct btf_member *member(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, id);

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name))
			return &btf_members(t)[i];
	return NULL;
}

int callback_index(const struct btf *kernel, const char *name)
{
	const struct btf_member *found = member(kernel, TCP_OPS, name);
	int type = btf__find_by_name_kind(kernel, TCP_OPS, BTF_KIND_STRUCT);

	return found ? (int)(found - btf_members(btf__type_by_id(kernel, type))) : -ENOENT;
}

int callback_args(const struct btf *kernel, const char *name)
{
	const struct btf_member *found = member(kernel, TCP_OPS, name);
	const struct btf_type *t =
		found ? btf__type_by_id(kernel, btf__resolve_type(kernel, found->type)) : NULL;

	t = t && btf_is_ptr(t) ? btf__type_by_id(kernel, t->type) : t;
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

static bool asks_for_burst(const struct btf *kernel)
{
	return member(kernel, TCP_OPS, BURST) && !member(kernel, TCP_OPS, LEAST_BURST);
}

const char *callback_name(const struct btf *kernel, const char *program)
{
	return !strcmp(program, LEAST_BURST) && asks_for_burst(kernel) ? BURST : program;
}

/*
 * Renames in place, because libbpf holds pointers into these types. The object already has the new
 * name: its program checks whether the kernel has such a member.
 */
void callbacks_rename(struct bpf_object *obj, const struct btf *kernel)
{
	struct btf *btf = bpf_object__btf(obj);
	const struct btf_member *ours = btf ? member(btf, TCP_OPS, LEAST_BURST) : NULL;
	const struct btf_member *named = btf ? member(btf, TCP_OPS "___burst", BURST) : NULL;

	if (ours && named && asks_for_burst(kernel))
		((struct btf_member *)ours)->name_off = named->name_off;
}

static const __u32 key;

/* The element's type, and the value that is being made. */
struct ops_value {
	const struct btf *btf;
	__u32 type;
	char *value;
	__u32 size;
};

static int ops_value_open(struct ops_value *v)
{
	int type;

	v->value = NULL;
	v->btf = kernel_types();
	if (!v->btf)
		return -errno;
	type = btf__find_by_name_kind(v->btf, TCP_OPS_VALUE, BTF_KIND_STRUCT);
	if (type < 0)
		return -ENOTSUP;
	v->type = type;
	v->size = btf__type_by_id(v->btf, type)->size;
	v->value = calloc(1, v->size);
	return v->value ? 0 : -ENOMEM;
}

static int find_member(const struct ops_value *v, const char *member, __u32 *offset)
{
	char path[64];

	snprintf(path, sizeof(path), "data.%s", member);
	return btf_member_offset(v->btf, v->type, path, offset);
}

static int put(struct ops_value *v, const char *member, const void *data, size_t len)
{
	__u32 offset;
	int error = find_member(v, member, &offset);

	if (!error)
		memcpy(v->value + offset, data, len);
	return error;
}

/*
 * Makes the map and takes over the value. For a link, the kernel accepts the programs already here,
 * so that later it can only refuse the name.
 */
static int make_map(struct ops *ops, struct ops_value *v, const char *name, int btf_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .btf_fd = btf_fd,
		    .btf_vmlinux_value_type_id = v->type, .map_flags = ops->by_link ? F_LINK : 0);
	struct bpf_map_info info;
	int error;

	ops->fd = bpf_map_create(BPF_MAP_TYPE_STRUCT_OPS, name, sizeof(key), v->size, 1, &opts);
	error = ops->fd < 0 ? -errno : map_info(ops->fd, &info);
	if (error)
		return error;
	ops->map_id = info.id;
	if (ops->by_link && bpf_map_update_elem(ops->fd, &key, v->value, 0))
		return -errno;
	ops->value = v->value;
	v->value = NULL;
	return 0;
}

__u32 object_flags(const struct bpf_object *obj)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, BBR_MAP_FLAGS);
	size_t size = 0;
	const __u32 *flags = map ? bpf_map__initial_value((struct bpf_map *)map, &size) : NULL;

	return flags && size == sizeof(*flags) ? *flags : TCP_CONG_NON_RESTRICTED;
}

int object_set_flags(struct bpf_object *obj, __u32 flags)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, BBR_MAP_FLAGS);

	if (!map)
		return flags == object_flags(obj) ? 0 : -ENOENT;
	return bpf_map__set_initial_value(map, &flags, sizeof(flags));
}

/* Reads an instance's element. The kernel returns program ids where it takes file descriptors. */
static int read_value(struct ops_value *v, const struct instance *inst)
{
	int error = ops_value_open(v), fd AUTO_CLOSE = error ? -1 : instance_map(inst->map_id);

	if (error || fd < 0)
		return error ? error : fd;
	return bpf_map_lookup_elem(fd, &key, v->value) ? -errno : 0;
}

int ops_flags(const struct instance *inst, __u32 *flags)
{
	struct ops_value v;
	__u32 offset;
	int error = read_value(&v, inst);

	if (!error)
		error = find_member(&v, "flags", &offset);
	if (!error)
		memcpy(flags, v.value + offset, sizeof(*flags));
	free(v.value);
	return error;
}

/* Reads the tag of a program, the kernel's hash of its code. */
static int read_tag(int fd, __u8 tag[BPF_TAG_SIZE])
{
	struct bpf_prog_info info = {};

	if (fd < 0 || object_info(fd, &info))
		return -errno;
	memcpy(tag, info.tag, BPF_TAG_SIZE);
	return 0;
}

static bool has_program(const struct ops_value *v, const struct bpf_program *prog)
{
	__u8 ours[BPF_TAG_SIZE], its[BPF_TAG_SIZE];
	__u32 offset;
	__u64 id;
	int fd AUTO_CLOSE = -1;

	if (find_member(v, callback_name(v->btf, bpf_program__name(prog)), &offset))
		return false;
	memcpy(&id, v->value + offset, sizeof(id));
	fd = bpf_prog_get_fd_by_id(id);
	return !read_tag(fd, its) && !read_tag(bpf_program__fd(prog), ours) &&
	       !memcmp(its, ours, BPF_TAG_SIZE);
}

bool ops_has_code(const struct instance *inst, const struct bpf_object *obj)
{
	const struct bpf_program *prog = NULL;
	struct ops_value v;
	bool same = !read_value(&v, inst);

	while (same && (prog = bpf_object__next_program(obj, (struct bpf_program *)prog)))
		same = has_program(&v, prog);
	free(v.value);
	return same;
}

/*
 * libbpf registers a struct_ops map under the name that was compiled into the object, and its
 * versions differ in what they allow to change. So leave libbpf's map alone, and make another one
 * from the same programs.
 */
int ops_make(struct ops *ops, struct bpf_object *obj, const char *name, bool by_link)
{
	struct bpf_program *prog;
	struct ops_value v;
	__u32 flags = object_flags(obj);
	int error = ops_value_open(&v);

	*ops = (struct ops){ .by_link = by_link, .fd = -1, .link_fd = -1 };
	bpf_object__for_each_program(prog, obj)
	{
		unsigned long fd = bpf_program__fd(prog);

		if (!error)
			error = put(&v, callback_name(v.btf, bpf_program__name(prog)), &fd,
				    sizeof(fd));
	}
	if (!error)
		error = put(&v, "name", name, strlen(name));
	if (!error)
		error = put(&v, "flags", &flags, sizeof(flags));
	if (!error)
		error = make_map(ops, &v, name, bpf_object__btf_fd(obj));
	free(v.value); /* unless make_map() has taken it over */
	return error;
}

/*
 * Makes a value that the kernel returned into one that it takes. The programs' file descriptors
 * stay open until the process ends: the value refers to them.
 */
static int reopen_programs(struct ops_value *v)
{
	const struct btf_type *t = btf__type_by_id(v->btf, v->type);
	__u32 start;
	int error = btf_member_offset(v->btf, v->type, "data", &start);

	if (error)
		return error;
	/* `data` is the last member. */
	t = btf__type_by_id(v->btf,
			    btf__resolve_type(v->btf, btf_members(t)[btf_vlen(t) - 1].type));
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_type *m =
			btf__type_by_id(v->btf, btf__resolve_type(v->btf, btf_members(t)[i].type));
		char *at = v->value + start + btf_member_bit_offset(t, i) / 8;
		__u64 program;
		int fd;

		if (!btf_is_ptr(m))
			continue;
		m = btf__type_by_id(v->btf, btf__resolve_type(v->btf, m->type));
		memcpy(&program, at, sizeof(program));
		if (!btf_is_func_proto(m) || !program)
			continue;
		fd = bpf_prog_get_fd_by_id(program);
		if (fd < 0)
			return -errno;
		program = fd;
		memcpy(at, &program, sizeof(program));
	}
	memset(v->value, 0, start); /* the state, and how many use it */
	return 0;
}

int ops_remake(struct ops *ops, const struct instance *inst, int btf_fd)
{
	struct ops_value v;
	int error = read_value(&v, inst);

	*ops = (struct ops){ .fd = -1, .link_fd = -1 };
	if (!error)
		error = reopen_programs(&v);
	if (!error)
		error = make_map(ops, &v, inst->name, btf_fd);
	free(v.value); /* unless make_map() has taken it over */
	return error;
}

int ops_register(struct ops *ops)
{
	if (!ops->by_link)
		return bpf_map_update_elem(ops->fd, &key, ops->value, 0) ? -errno : 0;
	ops->link_fd = bpf_link_create(ops->fd, 0, STRUCT_OPS, NULL);
	return ops->link_fd < 0 ? -errno : 0;
}

void ops_free(struct ops *ops)
{
	auto_close(&ops->link_fd);
	auto_close(&ops->fd);
	free(ops->value);
}

/*
 * A link that could not be detached (before 6.11 none can) ends some time after its last holder
 * is gone, and we have removed its pin.
 */
static int wait_for_end(const struct instance *inst, int error)
{
	for (int i = 0; i < 500; i++) {
		if (!congestion_control_exists(inst->name))
			return EXIT_DONE;
		usleep(10000);
	}
	return err_refused(
		"%s: its link (id %u) is still in use, and the kernel does not detach it: %s\n"
		"end the process, or remove the pin other than %s, that holds it",
		inst->name, inst->link_id, strerror(error), pin_path(inst->name));
}

static int end_link(const struct instance *inst)
{
	int error, fd = bpf_link_get_fd_by_id(inst->link_id);

	if (fd < 0)
		return err_bpf(errno, "cannot open the instance's link");
	/*
	 * Remove the pin first: if we are killed after that, the link ends with our file
	 * descriptor. The other way round, a pin would be left whose link has ended.
	 */
	error = pin_remove(inst->name, inst->link_id);
	if (error) {
		close(fd);
		return err_bpf(error, "cannot remove the instance's pin");
	}
	error = bpf_link_detach(fd) ? errno : 0;
	close(fd);
	return error ? wait_for_end(inst, error) : EXIT_DONE;
}

int unregister(const struct instance *inst)
{
	int fd AUTO_CLOSE = -1;

	if (inst->link_id)
		return end_link(inst);
	fd = instance_map(inst->map_id);
	if (fd < 0)
		return err_bpf(fd, "cannot open the instance");
	if (bpf_map_delete_elem(fd, &key))
		return err_bpf(errno, "the kernel refused to unregister it");
	return EXIT_DONE;
}
