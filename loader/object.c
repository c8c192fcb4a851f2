// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "btf_path.h"
#include "bpf_bbr/migrate.h"
#include "err.h"
#include "instance.h"
#include "object.h"

#define TCP_CONG_NON_RESTRICTED 1 /* sockets without CAP_NET_ADMIN may use it */

extern const char bbr_object[], bbr_object_end[], migrate_object[], migrate_object_end[];

/* A kernel that is known to be unable to run it: says why. */
static bool explain_kernel(void)
{
	struct utsname uts = {};
	int major = 0, minor = 0, jit = 1;
	struct btf *btf;
	FILE *f;

	uname(&uts);
	sscanf(uts.release, "%d.%d", &major, &minor);
	if (major && major < 6) {
		err("Linux %s cannot run it: BPF may set a socket's pacing rate from 6.0 on",
		    uts.release);
		remedy("use Linux 6.1 or newer");
		return true;
	}
	f = fopen("/proc/sys/net/core/bpf_jit_enable", "r");
	if (f) {
		if (fscanf(f, "%d", &jit) != 1)
			jit = 1;
		fclose(f);
	}
	if (!jit) {
		err("the kernel's BPF JIT compiler is off, which congestion controls need");
		remedy("turn it on: sysctl net.core.bpf_jit_enable=1");
		return true;
	}
	btf = btf__load_vmlinux_btf();
	if (!btf) {
		err("this kernel carries no type information (/sys/kernel/btf/vmlinux)");
		remedy("use a kernel that was built with CONFIG_DEBUG_INFO_BTF=y");
		return true;
	}
	jit = btf__find_by_name_kind(btf, TCP_OPS_VALUE, BTF_KIND_STRUCT);
	btf__free(btf);
	if (jit < 0) {
		err("this kernel has no TCP congestion controls in BPF");
		remedy("use a kernel that was built with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y "
		       "and CONFIG_INET=y");
		return true;
	}
	return false;
}

int object_load(const char *file, struct bpf_object **obj)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = BBR_NAME);

	if (!have_caps("cannot load"))
		return EXIT_REFUSED;
	if (file)
		*obj = bpf_object__open_file(file, &opts);
	else
		*obj = bpf_object__open_mem(bbr_object, bbr_object_end - bbr_object, &opts);
	if (!*obj) {
		err("%s: cannot open it as a BPF object: %s", file ? file : "built-in object",
		    strerror(errno));
		return EXIT_REFUSED;
	}
	if (bpf_object__load(*obj)) {
		int error = errno;

		if (!explain_kernel()) {
			err_bpf(error, "the kernel refused the BPF program");
			remedy("bbrctl -v load shows the kernel's reasons");
		}
		bpf_object__close(*obj);
		*obj = NULL;
		return EXIT_REFUSED;
	}
	return EXIT_DONE;
}

int migrate_object_load(const struct migrate_config *config, struct bpf_object **obj)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "bbr_migrate");
	struct bpf_map *map;
	int error = 0;

	*obj = bpf_object__open_mem(migrate_object, migrate_object_end - migrate_object, &opts);
	map = *obj ? bpf_object__find_map_by_name(*obj, MIGRATE_MAP_CONFIG) : NULL;
	if (!map || bpf_map__set_initial_value(map, config, sizeof(*config)) ||
	    bpf_object__load(*obj))
		error = errno;
	if (!error)
		return EXIT_DONE;
	if (!explain_kernel()) {
		err_bpf(error, "the kernel refused the BPF program that goes over sockets");
		remedy("bbrctl -v migrate shows the kernel's reasons");
	}
	bpf_object__close(*obj);
	*obj = NULL;
	return EXIT_REFUSED;
}

int object_map(const struct bpf_object *obj, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(obj, name);

	return fd < 0 ? -ENOENT : fd;
}

static int put(const struct btf *btf, __u32 type, const char *member, const void *data, size_t len,
	       char *value)
{
	const char *const path[] = { "data", member, NULL };
	__u32 offset;
	int error = btf_member_path(btf, type, path, &offset);

	if (!error)
		memcpy(value + offset, data, len);
	return error;
}

/* The kernel's tcp_congestion_ops, with a program's file descriptor in place of each callback. */
static int fill_value(struct bpf_object *obj, const struct btf *btf, __u32 type, const char *name,
		      char *value)
{
	static const __u32 flags = TCP_CONG_NON_RESTRICTED;
	struct bpf_program *prog;
	int error;

	bpf_object__for_each_program(prog, obj)
	{
		unsigned long fd = bpf_program__fd(prog);

		/* Each program has the name of the callback that it is. */
		error = put(btf, type, bpf_program__name(prog), &fd, sizeof(fd), value);
		if (error)
			return error;
	}
	error = put(btf, type, "name", name, strlen(name), value);
	return error ? error : put(btf, type, "flags", &flags, sizeof(flags), value);
}

/*
 * libbpf registers a struct_ops map under the names that were compiled into the object, and its
 * versions differ in what they let one change. So leave libbpf's map alone, and make another one of the
 * same programs.
 */
int object_register(struct bpf_object *obj, const char *name, unsigned int *map_id)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	static const __u32 key;
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	struct btf *btf = btf__load_vmlinux_btf();
	char *value = NULL;
	int type, size, error, fd = -1;

	if (!btf)
		return -errno;
	type = btf__find_by_name_kind(btf, TCP_OPS_VALUE, BTF_KIND_STRUCT);
	if (type < 0) {
		error = -ENOTSUP;
		goto out;
	}
	size = btf__type_by_id(btf, type)->size;
	value = calloc(1, size);
	if (!value) {
		error = -ENOMEM;
		goto out;
	}
	error = fill_value(obj, btf, type, name, value);
	if (error)
		goto out;

	opts.btf_fd = bpf_object__btf_fd(obj);
	opts.btf_vmlinux_value_type_id = type;
	fd = bpf_map_create(BPF_MAP_TYPE_STRUCT_OPS, name, sizeof(key), size, 1, &opts);
	if (fd < 0 || bpf_map_update_elem(fd, &key, value, 0) ||
	    bpf_obj_get_info_by_fd(fd, &info, &len))
		error = -errno;
	*map_id = info.id;
out:
	if (fd >= 0)
		close(fd);
	free(value);
	btf__free(btf);
	return error;
}
