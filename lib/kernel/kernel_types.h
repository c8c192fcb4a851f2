/* SPDX-License-Identifier: GPL-2.0-only */
/* The types of the running kernel (BTF). */
#ifndef LIB_KERNEL_TYPES_H
#define LIB_KERNEL_TYPES_H

#include <linux/types.h>

struct btf;

/* The value of a struct_ops map for TCP. */
#define TCP_OPS_VALUE "bpf_struct_ops_tcp_congestion_ops"

/*
 * Read when they are first asked for (6 MB, several milliseconds), and kept. NULL with errno if the kernel has none. They are not
 * the caller's to free.
 */
struct btf *kernel_types(void);

/* For a process that goes on for long, or has more to ask of another kernel. Nobody may use them any more. */
void kernel_types_forget(void);

/*
 * The offset in bytes of a member of a type, down a path of names that ends with NULL. 0 or -ENOENT.
 */
int btf_member_path(const struct btf *btf, __u32 type_id, const char *const *path, __u32 *offset);

#endif
