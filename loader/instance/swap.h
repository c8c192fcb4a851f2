/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives an instance's name to other code.
 */
#ifndef LOADER_SWAP_H
#define LOADER_SWAP_H

#include <stdbool.h>

#include <linux/types.h>

#include "bpf_bbr/abi.h"

struct bpf_object;
struct instance;

struct swap {
	__u32 map_id; /* of the new code */
	bool atomic;
	const char *why_plain; /* why the new code is not registered by a link; NULL: it is */
	__u64 gap_ns; /* if not atomic: the name was missing for at most this long */
};

/*
 * If it fails, the old code has the name, unless the message says that it could not be registered
 * again.
 */
int swap_code(const struct instance *old, struct bpf_object *obj, struct swap *swap);

/*
 * Gives the name back to the old code, whose map old_fd is. It refuses without a link, because the
 * name would be missing again.
 */
int swap_back(const struct instance *old, int old_fd);

/*
 * Gives a loaded object, which will replace an instance, that instance's settings: profiles with
 * their indexes, rules, and the previous defaults of namespaces.
 */
int carry_settings(const struct instance *from, const struct bpf_object *to,
		   const struct bbr_abi *abi);

/*
 * Before the object is loaded: makes it use the instance's map in which experiments write a
 * connection's profile, so that they go on. Returns 0 or -errno.
 */
int carry_assigned(const struct instance *from, const struct bpf_object *to);

/*
 * Passes on only the previous defaults of namespaces, and what an apply made (netns_default.h).
 * Returns 0 or -errno.
 */
int carry_defaults(const struct instance *from, const struct bpf_object *to);

#endif
