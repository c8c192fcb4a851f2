/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's short names of types, so that the same source compiles as BPF and natively.
 */
#ifndef TYPES_H
#define TYPES_H

#ifdef __bpf__
#include "vmlinux.h"
#define inline inline __attribute__((always_inline))

/*
 * For an object without any map of its own: without memory for the object's BTF, libbpf 1.1 would
 * go on, and crash when it loads the programs.
 */
#define NEED_BTF                                  \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(max_entries, 1);           \
		__type(key, u32);                 \
		__type(value, u32);               \
	} need_btf SEC(".maps")
#else
#include <stdbool.h>
#include <stddef.h>
#include <linux/tcp.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

enum tcp_ca_event { /* not in the kernel's user space headers; as in vmlinux.h */
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};
#endif

#endif
