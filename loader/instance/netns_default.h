/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instances as the default of network namespaces (sysctl net.ipv4.tcp_congestion_control). What the
 * default was before is kept in the kernel, in a map that belongs to the instance's program.
 */
#ifndef LOADER_NETNS_DEFAULT_H
#define LOADER_NETNS_DEFAULT_H

#include <stdbool.h>

#include "kernel/instance.h"

struct json;

/* The default of a namespace, now. */
struct default_of {
	char *netns; /* as --netns takes it */
	__u32 inode;
	char name[BBR_NAME_LEN];
};

/* Of all namespaces; *list is to be freed by defaults_free(). Their number; some may be missing. */
int defaults_list(struct default_of **list);
void defaults_free(struct default_of *list, int n);

/*
 * Makes the instance the default of a namespace, as --netns has it. EXIT_DONE, or after printing why
 * EXIT_NOTHING (it is already), EXIT_USAGE (no such namespace) or EXIT_REFUSED. Unless j is NULL
 * what was done becomes a member of its object, else it is printed.
 */
int default_set(const char *instance, const char *netns, struct json *j);

/* Is there a namespace of this name? EXIT_DONE, or another after printing why not. */
int default_check_netns(const char *netns);

/*
 * Gives each namespace of which the instance is the default what it had before. Warns of those that
 * have it by other hands. Unless j is NULL what was done becomes a member of its object, else it is printed.
 */
int defaults_restore(const struct instance *inst, struct json *j);

/* What the default of a namespace was before an instance was made it. */
struct default_note {
	__u32 inode;
	char previous[BBR_NAME_LEN]; /* "": that is not known */
};

/* All of an instance; *list is to be freed. Their number, or -errno. */
int default_notes(const struct instance *inst, struct default_note **list);

/*
 * Makes `name` the default of a namespace, and with it changes what the instance has noted there: `previous`, or nothing
 * if that is NULL; in that case cubic or reno takes the place of a name that is gone. EXIT_DONE, or EXIT_REFUSED after
 * printing why.
 */
int default_put(const struct instance *inst, const char *netns, const char *name,
		const char *previous);

/*
 * After other code was put under the name: each namespace that has it as its default is given that code, for until then it
 * goes on with the old. *n is their number. EXIT_DONE, or another after printing what failed.
 */
int defaults_set_again(const char *name, unsigned int *n);

#endif
