// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "instance/callbacks.h"

#define OPS "tcp_congestion_ops"
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

static bool asks_for_burst(const struct btf *kernel)
{
	return member(kernel, OPS, BURST) && !member(kernel, OPS, LEAST_BURST);
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
	const struct btf_member *ours = btf ? member(btf, OPS, LEAST_BURST) : NULL;
	const struct btf_member *named = btf ? member(btf, OPS "___burst", BURST) : NULL;

	if (ours && named && asks_for_burst(kernel))
		((struct btf_member *)ours)->name_off = named->name_off;
}
