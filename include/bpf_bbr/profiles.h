/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an instance reads its parameters: map .data.params, one entry, which tools map into memory.
 *
 * A profile is a full set of parameters. A connection gets one when it starts (see rules.h) and
 * keeps it, but follows the changes of its parameters at its next ACK. Profile 0, "default", is for
 * all connections that no rule matches.
 *
 * To change several parameters of a profile at once, write the bank that is not selected, and then
 * add one to gen. Before the other bank is written again, every ACK that still reads it must have
 * ended: wait for an RCU grace period.
 */
#ifndef BPF_BBR_PROFILES_H
#define BPF_BBR_PROFILES_H

#include <linux/types.h>

#define BBR_PROFILES 64
#define BBR_PROFILE_NAME_LEN 16 /* 15 characters and the closing 0 */
#define BBR_PROFILE_DEFAULT "default" /* the name of profile 0 */

/*
 * The beginning of the map. The banks follow, [BBR_PROFILES][2], each the algorithm's struct
 * bbr_params (bbr_abi.params_size bytes). Each member is an array over all profiles, because a
 * callback then finds its place in each by a shift or one multiplication.
 */
struct bbr_profiles_head {
	/* The lowest bit selects the bank; connections see changes by it. */
	__u32 gen[BBR_PROFILES];
	char name[BBR_PROFILES]
		 [BBR_PROFILE_NAME_LEN]; /* "": free, or its last connections still run */
};

/*
 * The program's own map .data.clamped, which user space can only read. It has a part of equal size
 * for each profile: the banks clamped to their ranges, once for each generation, so that an ACK
 * need not clamp. Each part begins with this.
 */
struct bbr_clamped_head {
	__u64 done; /* 1 + the generation that was clamped last; 0: none yet */
	__u64 plain; /* the same if it uses none of the options, else 0 */
	__s64 connections; /* that have this profile now */
};

/*
 * In an instance: a program that gives a connection this congestion control writes here which
 * profile replaces that of the rules. The connection takes the profile, and the place is free
 * again. The socket's ports select the place; if another connection has it, the writer waits. A
 * connection outside of experiments checks one word.
 */
#define INSTANCE_MAP_ASSIGNED ".data.assigned" /* struct assigned_places */
#define ASSIGNED_PLACES 64
#define ASSIGNED_CLOCKS_MS 16 /* so much later another CPU may have read its clock */
#define ASSIGNED_LASTS_MS 1000 /* a profile that no connection has taken by then expires */

struct assigned_profile {
	__u64 owner; /* see assigned_owner(); 0: free */
	__u32 profile; /* index */
	__u32 pad;
};

/*
 * The low half is the low half of the socket's cookie, inverted: so a socket without a cookie does
 * not own a free place. The high half is the time in ms (of 2^20 ns).
 */
static inline __u64 assigned_owner(__u64 cookie, __u64 now_ns)
{
	return (now_ns >> 20) << 32 | (__u32)~cookie;
}

/* True if a place with this owner is free for the other one, whose clock may have been read before. */
static inline int assigned_is_free(__u64 owner, __u64 other)
{
	__u32 age_ms = (other >> 32) - (owner >> 32);

	return !owner || age_ms + ASSIGNED_CLOCKS_MS > ASSIGNED_LASTS_MS + ASSIGNED_CLOCKS_MS;
}

struct assigned_places {
	struct assigned_profile place[ASSIGNED_PLACES];
};

/* ports: skc_portpair, the remote port in network byte order, the local one in the host's. */
static inline __u32 assigned_place(__u32 ports)
{
	return (ports ^ ports >> 16) & (ASSIGNED_PLACES - 1);
}

_Static_assert(sizeof(struct assigned_profile) == 16, "is ABI");

#endif
