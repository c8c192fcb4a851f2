/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bpf/why/uses.bpf.c counts for `bbrctl check`: which TCP sockets use which congestion control, and
 * how they got it. Sockets that agree in the key are one group.
 */
#ifndef BPF_BBR_USES_H
#define BPF_BBR_USES_H

#include <linux/types.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/attach.h"

#define USES_GROUPS (1 << 16) /* at most; uses_lost counts the sockets of others */
#define USES_INODES (1 << 20) /* sockets whose processes' attachment is known */
#define USES_ROUTES (1 << 18) /* prefixes that lead to wanted routes, or away from them */
#define USES_CONDITIONS 64 /* attachments with conditions */

enum {
	USES_CHOSEN = 1, /* by setsockopt(TCP_CONGESTION) of a program or of BPF */
	USES_ROUTE = 2, /* its route's congctl has this name */
	USES_NO_ROUTE = 4, /* the socket has no route at present */
	USES_LISTENER = 8, /* passes on what it has chosen */
};

struct uses_key {
	__u64 ops; /* an address in the kernel; the tools show no such thing */
	__u64 cgroup; /* id */
	__u32 netns; /* inode number */
	__u32 ifindex; /* of the device of its route; 0: not known */
	__u32 attachment; /* uses_inodes' value for this socket; 0: none */
	__u32 flags; /* USES_* */
	__u32 route; /* uses_routes' value for its remote address; 0: none */
	__u32 unused;
	__u64 held; /* a bit for each of uses_conditions whose conditions hold */
};

/* From user space, the key of uses_routes. */
struct uses_route {
	__u32 prefixlen; /* 32 and the bits of the prefix */
	__u32 netns; /* inode number */
	__u32 addr[4]; /* network byte order, IPv4 as ::ffff:a.b.c.d */
};

/* From user space: the conditions of an attachment. All must hold. */
struct uses_condition {
	__u32 n; /* 0: there are no more of these */
	struct bbr_term term[BBR_ATTACH_TERMS];
};

struct uses_group {
	char name[BBR_NAME_LEN]; /* of the congestion control */
	__u32 map_id; /* of its struct_ops map; 0: it is the kernel's own */
	__u32 n; /* sockets */
	__u32 by_fq, by_tcp; /* of these: who paces them */
	__u32 raddr[4]; /* of one of them, in network byte order, IPv4 as ::ffff:a.b.c.d */
	/* Sums, bytes of payload. */
	__u64 bytes_acked, bytes_received;
	/* The largest of one socket, in bytes: last rate sample by least RTT; read in a round trip. */
	__u64 bdp_sent, bdp_received;
	__u64 rate; /* largest rate sample, bytes per second */
};

#endif
