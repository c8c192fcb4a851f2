/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the tools recognise an instance: a struct_ops map whose programs use a map BBR_MAP_ABI that
 * holds a struct bbr_abi with this magic. libbpf freezes that map, so nobody can change it later.
 */
#ifndef BPF_BBR_ABI_H
#define BPF_BBR_ABI_H

#include <linux/types.h>

#define BBR_NAME "bpf_bbr" /* the instance that bbrctl means if none is named */
#define BBR_NAME_LEN 16 /* TCP_CA_NAME_MAX: 15 characters and the closing 0 */
#ifndef BBR_VERSION
#define BBR_VERSION "0.1.0"
#endif

#define BBR_ABI_MAGIC 0x31726262 /* "bbr1" */
/*
 * Major rises with layouts that older tools would misread, among them the state of a connection (an
 * algorithm's struct bbr). Minor rises with fields added at the end of an algorithm's tail of
 * bbr_event or of its bbr_params; tools accept these.
 */
#ifndef BBR_ABI_MAJOR
#define BBR_ABI_MAJOR 3
#endif
#ifndef BBR_ABI_MINOR
#define BBR_ABI_MINOR 0
#endif

/* The same in each major. */
struct bbr_abi {
	__u32 magic;
	__u16 major;
	__u16 minor;
	__u32 params_size; /* bytes of the algorithm's struct bbr_params */
	__u32 watch_size; /* bytes of struct bbr_watch */
	__u32 event_size; /* bytes of an event in a ring: BBR_EVENT_BASE and tail_size */
	char version[20]; /* of the program, for people */
	char algorithm[BBR_NAME_LEN]; /* its name in the tools' table: "bbr" */
	__u32 tail_size; /* bytes of the algorithm's own part of an event */
};

/* Kernel names of the maps of an instance (at most 15 characters). */
#define BBR_MAP_ABI ".rodata.bbr_abi" /* struct bbr_abi, frozen */
#define BBR_MAP_FLAGS ".rodata.flags" /* __u32: the flags of the op table, if they can be chosen */
#define BBR_MAP_PARAMS ".data.params" /* struct shell_profiles */
#define BBR_MAP_WATCH ".data.watch" /* struct bbr_watch */
#define BBR_MAP_CLAMPED ".data.clamped" /* a struct shell_clamped for each profile; read only */
#define BBR_MAP_RULES "bbr_rules" /* which profile a new connection gets: see rules.h */
#define BBR_MAP_DEFAULTS \
	"bbr_defaults" /* bbrctl's, if any: inode of a namespace -> its default before */
#define BBR_MAP_APPLIED \
	"bbr_applied" /* bbrctl's, if apply made it: inodes of namespaces whose default it set */
#define BBR_MAP_ROUTES "bbr_routes" /* bbrctl's, if any: routes whose congctl an apply set */
#define BBR_MAP_MORE \
	"bbr_more" /* socket storage: the second part of the state, if the algorithm has one */
#define BBR_MAP_RINGS "bbr_rings" /* array of ring buffers, one a subscriber */

#endif
