// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf_bbr/migrate.h"
#include "kernel/kernel_types.h"
#include "cli/err.h"
#include "kernel/instance.h"
#include "instance/struct_ops.h"
#include "instance/object.h"

extern const char migrate_object[], migrate_object_end[]; /* carried.S */

/* If this kernel is known to be unable to run it, prints why and returns true. */
static bool explain_kernel(void)
{
	struct utsname uts = {};
	int major = 0, minor = 0, jit = 1;
	const struct btf *btf;
	FILE *f;

	uname(&uts);
	sscanf(uts.release, "%d.%d", &major, &minor);
	if (major && major < 6) {
		err("Linux %s cannot run it: BPF programs can set a socket's pacing rate only from "
		    "Linux 6.0 on",
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
		err("the kernel's BPF JIT compiler is off; congestion controls need it");
		remedy("turn it on: sysctl net.core.bpf_jit_enable=1");
		return true;
	}
	btf = kernel_types();
	if (!btf) {
		err("this kernel has no type information (/sys/kernel/btf/vmlinux)");
		remedy("use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
		return true;
	}
	if (btf__find_by_name_kind(btf, TCP_OPS_VALUE, BTF_KIND_STRUCT) < 0) {
		err("this kernel does not support TCP congestion control in BPF");
		remedy("use a kernel built with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y "
		       "and CONFIG_INET=y");
		return true;
	}
	return false;
}

static int refuse(int error, const char *what, const char *verb)
{
	if (explain_kernel())
		return EXIT_REFUSED;
	err_bpf(error, what);
	remedy("bbrctl -v %s shows the kernel's reasons", verb);
	return EXIT_REFUSED;
}

/*
 * With -v: how many instructions the verifier processed for each program. Its limit is 1,000,000.
 */
static void note_verified(const struct bpf_object *obj)
{
	struct bpf_program *prog;

	if (!err_is_verbose())
		return;
	bpf_object__for_each_program(prog, obj)
	{
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			note("%s: the verifier went through %u instructions",
			     bpf_program__name(prog), info.verified_insns);
	}
}

int object_load(const struct object *obj)
{
	const struct btf *kernel = kernel_types();

	if (kernel)
		callbacks_rename(obj->bpf, kernel);
	if (!bpf_object__load(obj->bpf)) {
		note_verified(obj->bpf);
		return EXIT_DONE;
	}
	return refuse(errno, "the kernel refused the BPF program", "load");
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
	bpf_object__close(*obj);
	*obj = NULL;
	return refuse(error, "the kernel refused the BPF program that walks the sockets",
		      "migrate");
}

int object_map(const struct bpf_object *obj, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(obj, name);

	return fd < 0 ? -ENOENT : fd;
}

int object_program(const struct bpf_object *obj, const char *name)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(obj, name));

	return fd < 0 ? -ENOENT : fd;
}

int object_check_found(const struct bpf_object *obj)
{
	int error =
		instance_check(object_program(obj, "cong_control"), object_program(obj, "init"));

	if (!error)
		return EXIT_DONE;
	if (error != -EAGAIN)
		return err_bpf(error, "cannot look at the loaded BPF program");
	err("the kernel refused to name the program's maps, so the tools would not find the "
	    "instance");
	remedy("try again; it may have been short of memory");
	return EXIT_REFUSED;
}

int object_register(struct bpf_object *obj, const char *name, unsigned int *map_id)
{
	const char *why_not;
	struct ops ops;
	bool by_link;
	int error;

	if (object_check_found(obj) || pin_prepare(name, &why_not))
		return EXIT_REFUSED;
	by_link = !why_not;
	error = ops_make(&ops, obj, name, by_link);
	if (why_not)
		note("%s: not registered by a link: %s", name, why_not);
	if (!error)
		error = ops_register(&ops);
	if (!error && by_link)
		error = pin_link(name, ops.link_fd);
	*map_id = ops.map_id;
	ops_free(&ops);
	if (error && by_link)
		pin_remove(name, 0); /* what was made for it */
	if (error == -EEXIST) {
		err("%s: the kernel already has another congestion control of this name", name);
		remedy("choose another name with --name");
		return EXIT_REFUSED;
	}
	return error ? err_bpf(error, "the kernel refused to register it") : EXIT_DONE;
}
