/* SPDX-License-Identifier: GPL-2.0-only */
/* What bpf/netns.bpf.c writes of each network namespace, by its inode, and of its TCP sockets. */
#ifndef BPF_BBR_NETNS_H
#define BPF_BBR_NETNS_H

#include <linux/types.h>

#include "bpf_bbr/abi.h"

#define NETNS_MAX (1 << 16) /* namespaces that are listed */

struct netns_entry {
	/* Its default congestion control. */
	__u32 map_id; /* of the struct_ops map that is it; 0: none */
	char name[BBR_NAME_LEN];
	/*
	 * There is a process in it, or an open file or a mount through which one can enter. Otherwise
	 * only sockets keep it, and it can get no new ones but those that its listeners accept.
	 */
	__u32 is_live;
	__u64 table; /* address of the kernel's table that has its TCP sockets; 0: not known */
};

#define NETNS_USES_MAX (1 << 17) /* congestion controls of namespaces that are listed */

/* A congestion control that some TCP socket of a namespace uses. */
struct netns_use {
	__u32 netns; /* inode */
	__u32 map_id; /* of the struct_ops map that it is; 0: none */
	char name[BBR_NAME_LEN];
};

#endif
