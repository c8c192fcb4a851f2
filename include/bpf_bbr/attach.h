/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the tools recognise the program that gives a cgroup's connections a congestion control: it is
 * named BBR_ATTACH_PROG and uses a map BBR_MAP_ATTACH, which holds a struct bbr_attach with this
 * magic.
 */
#ifndef BPF_BBR_ATTACH_H
#define BPF_BBR_ATTACH_H

#include "abi.h"

#define BBR_ATTACH_PROG "bbr_attach"
#define BBR_MAP_ATTACH ".rodata.bbr_att" /* struct bbr_attach, frozen */
#define BBR_ATTACH_MAGIC 0x61726262 /* "bbra" */

struct bbr_attach {
	__u32 magic;
	char name[BBR_NAME_LEN]; /* of the congestion control */
};

#endif
