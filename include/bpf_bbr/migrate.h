/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bpf/migrate.bpf.c gets from bbrctl, and its record of each socket that it found.
 */
#ifndef BPF_BBR_MIGRATE_H
#define BPF_BBR_MIGRATE_H

#include <linux/types.h>

#include "bpf_bbr/abi.h"

#define MIGRATE_MAP_CONFIG ".rodata.config" /* struct migrate_config */

/* Addresses and ports are in network byte order, IPv4 as ::ffff:a.b.c.d; 0 matches any port. */
struct migrate_config {
	char from[BBR_NAME_LEN];
	char to[BBR_NAME_LEN];
	__u32 raddr[4]; /* what rmask leaves of the remote address */
	__u32 rmask[4];
	__u64 cgroup; /* its id; 0: any */
	__u32 mark;
	__u16 rport;
	__u16 lport;
	__u8 has_mark;
	__u8 listeners; /* move these, too */
	__u8 dry_run; /* change nothing */
	__u8 pad[5];
};

enum migrate_what {
	MIGRATE_MOVED, /* or would be, in a dry run */
	MIGRATE_FAILED,
	MIGRATE_LEFT, /* a listener */
};

struct migrate_record {
	__u64 cookie; /* of the socket, unique */
	__u32 netns; /* inode number */
	__s32 error; /* -errno */
	__u32 laddr[4];
	__u32 raddr[4];
	__u16 lport;
	__u16 rport;
	__u16 family;
	__u8 state; /* TCP_ESTABLISHED, ... */
	__u8 what; /* enum migrate_what */
	__u32 mptcp_token; /* of the MPTCP connection that it is a subflow of, as ss -M shows it */
	__u8 is_subflow; /* else there is no token */
	__u8 pad[3];
};

_Static_assert(sizeof(struct migrate_config) == 88, "read by the program as it is written");
_Static_assert(sizeof(struct migrate_record) == 64, "a stream of these is read");

#endif
