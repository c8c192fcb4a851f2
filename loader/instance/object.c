// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <sys/utsname.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf_calls.h"
#include "bpf_bbr/migrate.h"
#include "kernel/kernel_types.h"
#include "cli/err.h"
#include "cli/text.h"
#include "kernel/instance.h"
#include "instance/struct_ops.h"
#include "instance/object.h"

extern const char migrate_object[], migrate_object_end[]; /* carried.S */

/* What a congestion control must be able to set of its socket. */
static const struct setting {
	const char *type, *member;
} settings[] = {
	{ "tcp_sock", "snd_cwnd" },
	{ "tcp_sock", "snd_ssthresh" },
	{ "sock", "sk_pacing_rate" },
	{ "sock", "sk_pacing_status" },
};

/* Loads a callback that sets so many bytes of its socket to 0; none: 0. Returns 0 or -errno. */
static int try_to_set(__u32 ops, __u32 callback, __u32 offset, __u32 size)
{
	const struct bpf_insn set = {
		.code = BPF_ST | BPF_MEM | (size == 8 ? BPF_DW : BPF_W),
		.dst_reg = BPF_REG_2,
		.off = (__s16)offset,
	};
	const struct bpf_insn nothing = {
		.code = BPF_ALU64 | BPF_MOV | BPF_K,
		.dst_reg = BPF_REG_0,
	};
	const struct bpf_insn insns[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1 },
		size ? set : nothing,
		nothing,
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .attach_btf_id = ops,
		    .expected_attach_type = (enum bpf_attach_type)callback);
	int fd AUTO_CLOSE = bpf_prog_load(BPF_PROG_TYPE_STRUCT_OPS, "try_to_set", "GPL", insns,
					  sizeof(insns) / sizeof(insns[0]), &opts);

	return fd < 0 ? -errno : 0;
}

static int try_setting(const struct btf *kernel, __u32 ops, __u32 callback, const struct setting *s)
{
	int type = btf__find_by_name_kind(kernel, s->type, BTF_KIND_STRUCT);
	__u32 offset;

	if (type < 0 || btf_member_offset(kernel, type, s->member, &offset) || offset > INT16_MAX)
		return -ENOENT;
	return try_to_set(ops, callback, offset,
			  strcmp(s->member, "sk_pacing_rate") ? sizeof(__u32) : sizeof(long));
}

/* What of this a program may not set. Empty also if the kernel takes no program at all. */
static char *find_unsettable(const struct btf *kernel)
{
	int ops = btf__find_by_name_kind(kernel, TCP_OPS, BTF_KIND_STRUCT);
	int callback = callback_index(kernel, "init");
	char *names = mem_copy("");

	if (ops < 0 || callback < 0 || try_to_set(ops, callback, 0, 0))
		return names;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (try_setting(kernel, ops, callback, &settings[i]) == -EACCES)
			names = mem_join(names, ", ", settings[i].member);
	return names;
}

/* The callbacks of an open object that the kernel's congestion controls do not have. */
static char *find_missing(const struct bpf_object *obj, const struct btf *kernel)
{
	char *names = mem_copy("");
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		const char *name = callback_name(kernel, bpf_program__name(prog));

		if (bpf_program__type(prog) == BPF_PROG_TYPE_STRUCT_OPS &&
		    callback_index(kernel, name) < 0)
			names = mem_join(names, ", ", name);
	}
	return names;
}

/* If this kernel has types, but not all that a congestion control needs. */
static bool explain_features(const struct bpf_object *obj, const struct btf *kernel)
{
	char *missing AUTO_FREE = find_missing(obj, kernel);
	char *unsettable AUTO_FREE = find_unsettable(kernel);
	struct utsname uts = {};

	uname(&uts);
	if (missing[0])
		err("Linux %s cannot run it: its congestion controls have no %s", uts.release,
		    missing);
	else if (unsettable[0])
		err("Linux %s cannot run it: it does not let BPF programs set %s", uts.release,
		    unsettable);
	else
		return false;
	remedy("use Linux 6.1 or newer, or one to which its distribution has added this");
	return true;
}

/*
 * If it is known why this kernel cannot run a congestion control (obj) or, without one, another
 * program, prints that and returns true.
 */
static bool explain_kernel(const struct bpf_object *obj)
{
	const struct btf *btf;
	char jit[8];

	text_first_line("/proc/sys/net/core/bpf_jit_enable", jit, sizeof(jit));
	if (!strcmp(jit, "0")) {
		err("the kernel's BPF JIT compiler is off; congestion controls need it\n"
		    "turn it on: sysctl net.core.bpf_jit_enable=1");
		return true;
	}
	btf = kernel_types();
	if (!btf) {
		err("this kernel has no type information (/sys/kernel/btf/vmlinux)\n"
		    "use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
		return true;
	}
	if (btf__find_by_name_kind(btf, TCP_OPS_VALUE, BTF_KIND_STRUCT) < 0) {
		err("this kernel does not support TCP congestion control in BPF\n"
		    "use a kernel built with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y "
		    "and CONFIG_INET=y");
		return true;
	}
	return obj && explain_features(obj, btf);
}

static int refuse(const struct bpf_object *obj, int error, const char *what, const char *verb)
{
	if (explain_kernel(obj))
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

		if (!object_info(bpf_program__fd(prog), &info))
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
	return refuse(obj->bpf, errno, "the kernel refused the BPF program", "load");
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
	return refuse(NULL, error, "the kernel refused the BPF program that walks the sockets",
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
	return err_refused(
		"the kernel refused to name the program's maps, so the tools would not find the "
		"instance\n"
		"try again; it may have been short of memory");
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
	if (error == -EEXIST)
		return err_refused(
			"%s: the kernel already has another congestion control of this name\n"
			"choose another name with --name",
			name);
	return error ? err_bpf(error, "the kernel refused to register it") : EXIT_DONE;
}
