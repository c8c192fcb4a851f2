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

#endif
