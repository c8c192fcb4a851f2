/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loaded instances of bpf_bbr, found by asking the kernel: registered struct_ops maps whose
 * programs use a map that says so (see bpf_bbr/abi.h), whether bpftool or bbrctl registered them.
 */
#ifndef LIB_INSTANCE_H
#define LIB_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/events.h"
#include "bpf_bbr/profiles.h"

struct algorithm;
struct bbr_ops_layout;
struct bpf_link_info;

struct instance {
	char name[BBR_NAME_LEN]; /* of the congestion control */
	/* Algorithm and version can be printed. */
	struct bbr_abi abi;
	const struct algorithm *algorithm; /* NULL: these tools do not know it */
	__u32 map_id; /* of the struct_ops map */
	__u32 prog_id; /* of cong_control */
	__u32 params_id; /* of the maps */
	__u32 clamped_id;
	__u32 rules_id;
	__u32 watch_id;
	__u32 rings_id;
	__u32 defaults_id; /* 0: there is none */
	__u32 applied_id; /* 0: no apply made it */
	__u32 routes_id; /* 0: there is none */
	__u32 assigned_id; /* 0: loaded by a version without experiments */
	__u32 link_id; /* of the link that registers it; 0: it is registered without one */
	__u32 users; /* sockets and namespace defaults that use it now, as the kernel counts them */
	__u64 loaded_ns; /* CLOCK_BOOTTIME */
	bool registered; /* new sockets can choose it */
	bool supported; /* ABI and algorithm are known here; else only name and *_id are valid */
};

/* Reads an ABI record, of any major, from what a program wrote. False: it is none. */
bool abi_read(const void *record, size_t size, struct bbr_abi *abi);

/* True if the sizes in a record of our own major make sense. */
bool abi_is_sound(const struct bbr_abi *abi);

/*
 * Lists all registered instances, by name; the caller frees *list. Returns their number or -errno
 * (-EPERM: not allowed to ask).
 */
int instance_list(struct instance **list);

/* The same, and those that live on in their connections. Several can have one name. */
int instance_list_alive(struct instance **list);

/* Finds the instance with this name. EXIT_NOTHING: it is not loaded, and has printed which are. */
int instance_find(const char *name, struct instance *inst);

/* The same, but EXIT_REFUSED if these tools do not know its ABI and algorithm. */
int instance_get(const char *name, struct instance *inst);

/* For callers that know the layout: otherwise the kernel's whole BTF is read for it. */
void instance_know_layout(const struct bbr_ops_layout *layout);

/*
 * Returns 0 if the tools will find these programs as those of an instance, -EAGAIN if not, or
 * another -errno. If the kernel once refuses libbpf's probe, libbpf gives maps no names, and
 * programs no maps that their code does not use.
 */
int instance_check(int cong_control_fd, int init_fd);

/* The map id of the instance with this name; 0 if there is none, or -errno. */
int instance_id(const char *name);

/* Has the names of all congestion controls that the kernel has, of whatever kind. */
#define CONGESTION_CONTROLS "/proc/sys/net/ipv4/tcp_available_congestion_control"

/* True if it has one of this name. False also if that file cannot be read. Loads no module. */
bool congestion_control_exists(const char *name);

/* Opens a map by its id. Returns a file descriptor or -errno. */
int instance_map(__u32 id);

/* The id of the map that a struct_ops link registers; 0: it has been detached. */
__u32 link_map_id(const struct bpf_link_info *info);

/* Maps the instance's struct bbr_watch into memory; NULL with errno set. */
struct bbr_watch *instance_watch_map(const struct instance *inst);
void instance_watch_unmap(struct bbr_watch *watch);

/* The same for the names of its BBR_PROFILES profiles. Later changes show. */
const char (*instance_profile_names_map(const struct instance *inst))[BBR_PROFILE_NAME_LEN];
void instance_profile_names_unmap(const char (*names)[BBR_PROFILE_NAME_LEN]);

#endif
