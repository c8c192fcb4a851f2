/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives an instance's name to other code.
 */
#ifndef LOADER_SWAP_H
#define LOADER_SWAP_H

#include <stdbool.h>

#include <linux/types.h>

struct bpf_object;
struct instance;

struct swap {
	__u32 map_id; /* of the new code */
	bool atomic;
	const char *why_plain; /* why the new code is not registered by a link; NULL: it is */
	__u64 gap_ns; /* if not atomic: the name was missing for at most this long */
};

/*
 * Returns EXIT_DONE; or EXIT_REFUSED after printing why. Then the old code has the name, unless the
 * message says that it could not be registered again.
 */
int swap_code(const struct instance *old, struct bpf_object *obj, struct swap *swap);

/*
 * Gives the name back to the old code, whose map old_fd is. Returns EXIT_DONE, or EXIT_REFUSED
 * after printing why not. It refuses without a link, because the name would be missing again.
 */
int swap_back(const struct instance *old, int old_fd);

#endif
