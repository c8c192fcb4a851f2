/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instances as the default of network namespaces (sysctl net.ipv4.tcp_congestion_control). The
 * kernel keeps what the default was before, in a map that belongs to the instance's program.
 */
#ifndef LOADER_NETNS_DEFAULT_H
#define LOADER_NETNS_DEFAULT_H

#include <stdbool.h>

#include <linux/types.h>

#include "kernel/instance.h"

struct json;
struct route;

/* Reads the default of the namespace that we are in. Returns 0 or -errno; -ENOENT: it has no IPv4. */
int default_read(char name[BBR_NAME_LEN]);

/* The current default of a namespace. */
struct default_of {
	char *netns; /* as --netns takes it */
	__u32 inode;
	char name[BBR_NAME_LEN];
	__s64 map_id; /* what it points at, 0 if that is no BPF program; -1: not known */
};

/*
 * True if it is this instance. If false, the name may still be the same: an instance of this name
 * was unloaded, and its successor is not the default until somebody sets it again.
 */
bool default_is(const struct default_of *d, const struct instance *inst);

/* Lists those of all namespaces, for defaults_free(); says which ones are missing in the list. */
int defaults_list(struct default_of **list, int *n);
void defaults_free(struct default_of *list, int n);

/*
 * Makes the instance the default of a namespace, as --netns takes it. Adds what it did to the
 * object j, or prints it if j is NULL. EXIT_NOTHING: it is already.
 */
int default_set(const char *instance, const char *netns, struct json *j);

/*
 * Gives each namespace whose default is the instance its previous default. Warns about namespaces
 * where somebody else made it the default, and those that cannot be found from here; *unseen: how
 * many these are. j: as above.
 */
int defaults_restore(const struct instance *inst, struct json *j, unsigned int *unseen);

/* What the default of a namespace was before bbrctl made an instance the default. */
struct default_note {
	__u32 inode;
	char previous[BBR_NAME_LEN]; /* "": not known */
};

/* Lists all notes of an instance; the caller frees *list. Returns their number or -errno. */
int default_notes(const struct instance *inst, struct default_note **list);

/*
 * Makes `name` the default of a namespace, and sets the instance's note there to `previous`. If
 * `previous` is NULL, it deletes the note, and uses cubic or reno if `name` is gone. is_applied:
 * the default is an apply's (applied.c).
 */
int default_put(const struct instance *inst, const char *netns, const char *name,
		const char *previous, bool is_applied);

/*
 * After new code got the name: sets the default again in each namespace whose default has this
 * name, because until then the namespace keeps the old code. *n: how many.
 */
int defaults_set_again(const char *name, unsigned int *n);

/*
 * What `bbrctl apply` made, so that another apply takes away that and nothing else. The kernel keeps
 * it: a map BBR_MAP_APPLIED belongs to the program of such an instance or attachment. An instance's
 * map has a key for each network namespace whose default an apply set.
 */

/*
 * Opens the instance's map of notes that has this id. 0: makes one for at most 4096 notes, which
 * belongs to the program, and is found by its name. Returns a file descriptor, or -errno; -EAGAIN:
 * the kernel refused the name.
 */
int notes_open(const struct instance *inst, __u32 id, const char *name, __u32 key_size,
	       __u32 value_size);

/* Marks a program, of an instance or an attachment, that has no mark yet. Returns 0 or -errno. */
int applied_mark(int prog_fd);
/* The same for an instance, which may be marked already. */
int applied_mark_instance(const struct instance *inst);

/* Returns 1 if an apply made the instance the default of this namespace, 0 if not, or -errno. */
int applied_has_default(const struct instance *inst, __u32 inode);

/* Notes that it did, or that this default is not an apply's. Returns 0 or -errno. */
int applied_note_default(const struct instance *inst, __u32 inode, bool is_applied);

/*
 * A route that has the instance as its congctl because an apply set it; what it had before. (A route
 * that an apply made needs no note: see ROUTE_PROTOCOL.)
 */
struct route_note {
	char previous[BBR_NAME_LEN]; /* "": none */
	__u32 was_locked;
};

/* Reads the note about a route of a namespace. Returns 1, 0 if there is none, or -errno. */
int route_note_read(const struct instance *inst, __u32 inode, const struct route *r,
		    struct route_note *note);

/* Writes it; NULL: deletes it. Returns 0 or -errno. */
int route_note_write(const struct instance *inst, __u32 inode, const struct route *r,
		     const struct route_note *note);

#endif
