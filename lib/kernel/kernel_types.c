// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#include "cli/err.h"
#include "descriptor.h"
#include "kernel_types.h"

static struct btf *types;

struct btf *kernel_types(void)
{
	if (!types)
		types = btf__load_vmlinux_btf();
	return types;
}

void kernel_types_forget(void)
{
	btf__free(types);
	types = NULL;
}

int btf_member_offset(const struct btf *btf, __u32 type_id, const char *path, __u32 *offset)
{
	for (*offset = 0; *path; path += *path == '.') {
		const struct btf_type *t = btf__type_by_id(btf, btf__resolve_type(btf, type_id));
		size_t len = strcspn(path, ".");
		int i, n = t && btf_is_composite(t) ? btf_vlen(t) : 0;

		for (i = 0; i < n; i++) {
			const char *name = btf__name_by_offset(btf, btf_members(t)[i].name_off);

			if (!strncmp(name, path, len) && !name[len])
				break;
		}
		if (i == n)
			return -ENOENT;
		*offset += btf_member_bit_offset(t, i) / 8;
		type_id = btf_members(t)[i].type;
		path += len;
	}
	return 0;
}

bool kernel_has_member(const char *type, const char *path)
{
	const struct btf *btf = kernel_types();
	int id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : -1;
	__u32 offset;

	return id > 0 && !btf_member_offset(btf, id, path, &offset);
}

#define MODULE_BTF "/sys/kernel/btf/tcp_bbr"

static int find_by_member(const struct btf *btf, int type, const struct algorithm **algorithm)
{
	for (size_t i = 0; i < n_algorithms; i++) {
		const char *member = algorithms[i]->kernel_member;
		__u32 offset;

		if (!member || btf_member_offset(btf, type, member, &offset))
			continue;
		*algorithm = algorithms[i];
		return 0;
	}
	return -EPROTONOSUPPORT;
}

int kernel_bbr_find(const struct algorithm **algorithm)
{
	struct btf *kernel = kernel_types(), *module;
	int type, error;

	if (!kernel)
		return -ENOENT;
	type = btf__find_by_name_kind(kernel, "bbr", BTF_KIND_STRUCT);
	if (type > 0)
		return find_by_member(kernel, type, algorithm);
	module = btf__parse_split(MODULE_BTF, kernel);
	type = module ? btf__find_by_name_kind(module, "bbr", BTF_KIND_STRUCT) : -1;
	error = type > 0 ? find_by_member(module, type, algorithm) : -ENOENT;
	btf__free(module);
	return error;
}

int kernel_bbr_refuse(void)
{
	char names[ALGORITHM_NAMES_LEN];

	algorithm_names(names, sizeof(names), " or ");
	return err_refused("bbrmon does not know the version of BBR that the kernel's own bbr has\n"
			   "load one that it knows, as a BPF program: bbrctl load --algorithm %s",
			   names);
}
