// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/btf.h>

#include "btf_path.h"
#include "cli/err.h"
#include "kernel_bbr.h"

#define MODULE_BTF "/sys/kernel/btf/tcp_bbr"

/* Version 1 estimates the rate of a policer, version 3 has bounds instead. */
static bool lacks_policer(const struct btf *btf, int type)
{
	static const char *const path[] = { "lt_bw", NULL };
	__u32 offset;

	return btf_member_path(btf, type, path, &offset);
}

static bool is_other(struct btf *kernel)
{
	int type = btf__find_by_name_kind(kernel, "bbr", BTF_KIND_STRUCT);
	struct btf *module;
	bool other;

	if (type > 0)
		return lacks_policer(kernel, type);
	module = btf__parse_split(MODULE_BTF, kernel);
	type = module ? btf__find_by_name_kind(module, "bbr", BTF_KIND_STRUCT) : -1;
	other = type > 0 && lacks_policer(module, type);
	btf__free(module);
	return other;
}

bool kernel_bbr_is_other(void)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool other = kernel && is_other(kernel);

	btf__free(kernel);
	return other;
}

int kernel_bbr_refuse(void)
{
	err("the kernel's own bbr is not BBR version 1, the only one that bbrmon can read there");
	remedy("BBR version 3 can be watched as a BPF program: bbrctl load --algorithm bbr3");
	return EXIT_REFUSED;
}
