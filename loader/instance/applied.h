/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `bbrctl apply` made, so that another apply takes away that and nothing else. The kernel keeps
 * it: a map BBR_MAP_APPLIED belongs to the program of such an instance or attachment. An instance's
 * map has a key for each network namespace whose default an apply set.
 */
#ifndef LOADER_APPLIED_H
#define LOADER_APPLIED_H

#include <stdbool.h>

#include <linux/types.h>

struct instance;

/*
 * Makes a map with a key for each network namespace, its inode. It belongs to the program, and is
 * found by its name. Returns a file descriptor, or -errno; -EAGAIN: the kernel refused the name.
 */
int netns_map_make(int prog_fd, const char *name, __u32 value_size);

/*
 * Marks a program, of an instance or an attachment, that has no mark yet. Returns 0 or -errno.
 */
int applied_mark(int prog_fd);

/* The same for an instance. No error if it is marked already. */
int applied_mark_instance(const struct instance *inst);

/* Returns 1 if an apply made the instance the default of this namespace, 0 if not, or -errno. */
int applied_has_default(const struct instance *inst, __u32 inode);

/* Notes that it did, or that this default is not an apply's. Returns 0 or -errno. */
int applied_note_default(const struct instance *inst, __u32 inode, bool is_applied);

#endif
