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

int btf_member_path(const struct btf *btf, __u32 type_id, const char *const *path, __u32 *offset)
{
	*offset = 0;
	for (; *path; path++) {
		const struct btf_type *t = btf__type_by_id(btf, btf__resolve_type(btf, type_id));
		const struct btf_member *m;
		int i, n;

		if (!t || !btf_is_composite(t))
			return -ENOENT;
		m = btf_members(t);
		n = btf_vlen(t);
		for (i = 0; i < n; i++)
			if (!strcmp(btf__name_by_offset(btf, m[i].name_off), *path))
				break;
		if (i == n)
			return -ENOENT;
		*offset += btf_member_bit_offset(t, i) / 8;
		type_id = m[i].type;
	}
	return 0;
}

#define MODULE_BTF "/sys/kernel/btf/tcp_bbr"

static int find_by_member(const struct btf *btf, int type, const struct algorithm **algorithm)
{
	for (size_t i = 0; i < n_algorithms; i++) {
		const char *const path[] = { algorithms[i]->kernel_member, NULL };
		__u32 offset;

		if (!path[0] || btf_member_path(btf, type, path, &offset))
			continue;
		*algorithm = algorithms[i];
		return 0;
	}
	return -EPROTONOSUPPORT;
}

static int find(struct btf *kernel, const struct algorithm **algorithm)
{
	int type = btf__find_by_name_kind(kernel, "bbr", BTF_KIND_STRUCT), error;
	struct btf *module;

	if (type > 0)
		return find_by_member(kernel, type, algorithm);
	module = btf__parse_split(MODULE_BTF, kernel);
	type = module ? btf__find_by_name_kind(module, "bbr", BTF_KIND_STRUCT) : -1;
	error = type > 0 ? find_by_member(module, type, algorithm) : -ENOENT;
	btf__free(module);
	return error;
}

int kernel_bbr_find(const struct algorithm **algorithm)
{
	struct btf *kernel = kernel_types();

	return kernel ? find(kernel, algorithm) : -ENOENT;
}

int kernel_bbr_refuse(void)
{
	char names[ALGORITHM_NAMES_LEN];

	err("bbrmon does not know the version of BBR that the kernel's own bbr has");
	algorithm_names(names, sizeof(names), " or ");
	remedy("load one that it knows, as a BPF program: bbrctl load --algorithm %s", names);
	return EXIT_REFUSED;
}
