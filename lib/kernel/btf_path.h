/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The value of a struct_ops map for TCP as the running kernel lays it out.
 */
#ifndef LIB_BTF_PATH_H
#define LIB_BTF_PATH_H

#include <linux/types.h>

struct btf;

#define TCP_OPS_VALUE "bpf_struct_ops_tcp_congestion_ops"

/*
 * The offset in bytes of a member of a type, down a path of names that ends with NULL. 0 or -ENOENT.
 */
int btf_member_path(const struct btf *btf, __u32 type_id, const char *const *path, __u32 *offset);

#endif
