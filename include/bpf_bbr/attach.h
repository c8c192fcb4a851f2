/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the tools recognise the program that gives a cgroup's connections a congestion control: it is
 * named BBR_ATTACH_PROG and uses a map BBR_MAP_ATTACH, which holds a struct bbr_attach with this
 * magic.
 */
#ifndef BPF_BBR_ATTACH_H
#define BPF_BBR_ATTACH_H

#include "abi.h"
#include "rules.h"

#define BBR_ATTACH_PROG "bbr_attach"
#define BBR_MAP_ATTACH ".rodata.bbr_att" /* struct bbr_attach, frozen */
#define BBR_ATTACH_MAGIC 0x61726262 /* "bbra" */

struct bbr_attach {
	__u32 magic;
	char name[BBR_NAME_LEN]; /* of the congestion control */
};

/* Which of the cgroup's connections; map BBR_MAP_ATTACH_FOR, frozen. */
#define BBR_MAP_ATTACH_FOR ".rodata.bbr_for"
#define BBR_ATTACH_TERMS 16
#define BBR_ATTACH_PATH 4096

struct bbr_attach_for {
	__u32 n; /* conditions; all must hold */
	struct bbr_term term[BBR_ATTACH_TERMS];
	/*
	 * "": the cgroup that the program is attached to. Otherwise the program is for a cgroup below
	 * that one, by its path from there, also if it is made later or again. A term of kind PATH is
	 * then the first.
	 */
	char below[BBR_ATTACH_PATH];
};

#endif
