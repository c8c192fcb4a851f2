/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network namespaces of this machine, as far as they can be found: those of processes, of their
 * threads, and those mounted somewhere in our mount namespace, as in /run/netns. One that lives only by
 * a socket, an open file, or a mount in another mount namespace is not among them.
 */
#ifndef LIB_NETNS_H
#define LIB_NETNS_H

#include <limits.h>
#include <stdbool.h>

#include <linux/types.h>

#define NETNS_NAMED "/run/netns/" /* where ip-netns(8) has them */

struct netns {
	const char *name; /* as --netns takes it: of /run/netns, or a path such as /proc/1/ns/net */
	__u32 inode;
};

/* Called inside of the namespace; anything but EXIT_DONE ends the walk. */
typedef int (*netns_visitor)(const struct netns *ns, void *data);

/*
 * Visits every namespace once. Returns what the last visit did, or EXIT_REFUSED after printing which
 * could not be entered; the others have been visited then.
 */
int netns_for_each(netns_visitor visit, void *data);

/*
 * Visits one, by a name in /run/netns or a path; NULL is the one that we are in. EXIT_USAGE after
 * printing why if there is none of this name.
 */
int netns_visit(const char *name, netns_visitor visit, void *data);

/* The inode of one, by a name of which messages say that it is of `option`. As netns_visit(). */
int netns_inode(const char *option, const char *name, __u32 *inode);

/* netns_visit(), or netns_for_each() for NULL. */
int netns_visit_all(const char *name, netns_visitor visit, void *data);

/* The first name in /run/netns of a namespace; false if it has none there. */
bool netns_name(__u32 inode, char name[NAME_MAX + 1]);

#endif
