/* SPDX-License-Identifier: GPL-2.0-only */
/* The types of the running kernel (BTF). */
#ifndef LIB_KERNEL_TYPES_H
#define LIB_KERNEL_TYPES_H

#include <stdbool.h>

#include <linux/types.h>

struct btf;

/* A congestion control, and the value of a struct_ops map of one. */
#define TCP_OPS "tcp_congestion_ops"
#define TCP_OPS_VALUE "bpf_struct_ops_tcp_congestion_ops"

/*
 * Reads them on the first call (6 MB, several milliseconds), and keeps them. NULL with errno if the
 * kernel has none. The caller must not free them.
 */
struct btf *kernel_types(void);

/* Frees them, for a process that runs for long. Earlier pointers to them become invalid. */
void kernel_types_forget(void);

/* Finds the offset in bytes of a member, by a path of names: "data.init". Returns 0 or -ENOENT. */
int btf_member_offset(const struct btf *btf, __u32 type_id, const char *path, __u32 *offset);

/* True if the kernel's struct of this name has such a member. No types: false. */
bool kernel_has_member(const char *type, const char *path);

/*
 * Which BBR the kernel's own `bbr` is. Mainline has version 1. Some distributions build their
 * kernels with version 3 under the same name, with a different state.
 */
struct algorithm;

/*
 * Finds its algorithm by its types, whether it is built in or a loaded module. Returns 0; -ENOENT
 * if there is none; -EPROTONOSUPPORT if it is none of the algorithms that were compiled in.
 */
int kernel_bbr_find(const struct algorithm **algorithm);

/* Prints that such a bbr cannot be watched. Returns EXIT_REFUSED. */
int kernel_bbr_refuse(void);

#endif
