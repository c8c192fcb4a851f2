// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

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
