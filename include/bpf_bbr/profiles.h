/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an instance reads its parameters from: map .data.params, one entry, to be mapped into memory.
 *
 * A profile is a full set of parameters. A connection gets one when it starts (see rules.h) and keeps it, but
 * follows the changes of its parameters at its next ACK. Profile 0, "default", is for all that no rule
 * names.
 *
 * Several parameters of a profile change at once by writing the bank that is not selected and then adding one
 * to gen. Before the other bank is written again, every ACK that still reads it must have ended: an RCU
 * grace period.
 */
#ifndef BPF_BBR_PROFILES_H
#define BPF_BBR_PROFILES_H

#include <linux/types.h>

#define BBR_PROFILES 64
#define BBR_PROFILE_NAME_LEN 16 /* 15 characters and the closing 0 */
#define BBR_PROFILE_DEFAULT "default" /* the name of profile 0 */

/*
 * The beginning of the map. Behind it are the banks, [BBR_PROFILES][2], each the algorithm's struct bbr_params
 * (bbr_abi.params_size bytes). Member by member, because a callback finds its place in each by a shift or one
 * multiplication.
 */
struct bbr_profiles_head {
	__u32 gen
		[BBR_PROFILES]; /* the lowest bit selects the bank; connections notice a change by it */
	char name[BBR_PROFILES]
		 [BBR_PROFILE_NAME_LEN]; /* "": free, or its last connections still run */
};

/*
 * The program's own map .data.clamped, which user space can only read, has a part of equal size for each profile: the
 * banks clamped to their ranges, once for each generation, so that an ACK need not. Each part begins with this.
 */
struct bbr_clamped_head {
	__u64 done; /* 1 + the generation that was clamped last; 0: none yet */
	__u64 plain; /* the same if it uses none of the options, else 0 */
	__s64 connections; /* that have this profile now */
};

#endif
