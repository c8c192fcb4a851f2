/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network namespaces of this machine, as far as they can be found: those of processes, of their
 * threads, and those mounted somewhere in our mount namespace, as in /run/netns. A namespace that
 * only a socket, an open file or a mount in another mount namespace keeps alive is not among them.
 */
#ifndef LIB_NETNS_H
#define LIB_NETNS_H

#include <limits.h>
#include <stdbool.h>

#include <linux/types.h>

#include "bpf_bbr/netns.h"

#define NETNS_NAMED "/run/netns/" /* where ip-netns(8) keeps them */
#define NETNS_OWN "/proc/thread-self/ns/net"

struct netns {
	const char *name; /* as --netns takes it: of /run/netns, or a path such as /proc/1/ns/net */
	__u32 inode;
};

/* A network namespace as the kernel lists it, whether it can be entered from here or not. */
struct netns_known {
	__u32 inode;
	struct netns_entry is;
	bool is_found; /* it was visited, or need not be */
	bool is_used; /* after netns_visit_all(): a socket of it matches */
};

/*
 * Called inside the namespace; a return value other than EXIT_DONE ends the walk. NULL: the namespaces
 * are only entered.
 */
typedef int (*netns_visitor)(const struct netns *ns, void *data);

/*
 * Visits every namespace once. Returns what the last visit returned, or EXIT_REFUSED after printing
 * which ones could not be opened or entered; it still visits the others.
 */
int netns_for_each(netns_visitor visit, void *data);

/* True if sockets are wanted that use this congestion control. */
typedef bool (*netns_match)(const struct netns_use *use, void *data);

/*
 * The same, but leaves out namespaces without a socket that is wanted, listeners included. The kernel
 * looks through all sockets of the machine once for it. match NULL: visits all. With a name:
 * netns_visit().
 */
int netns_visit_all(const char *name, netns_match match, netns_visitor visit, void *data);

/*
 * The namespaces of the machine as of the last netns_for_each(), by inode. Returns their number, or
 * -errno if the kernel does not list them.
 */
int netns_list(const struct netns_known **list);

/* The one with this inode; NULL: the kernel does not list it. */
const struct netns_known *netns_find(__u32 inode);

/* True if it could not be found from here, though more than sockets keep it. */
bool netns_is_unseen(const struct netns_known *k);

/* How many of them were found, and how many are unseen; -errno if that is not known. */
int netns_found(void);
int netns_unseen(void);

/* Prints what is not done because so many (netns_unseen()) could not be found, and the remedy. */
void netns_say_unseen(int unseen, const char *what);

/*
 * Visits one, by a name in /run/netns or a path; NULL is our own. Returns EXIT_USAGE, after
 * printing why, if there is none with this name.
 */
int netns_visit(const char *name, netns_visitor visit, void *data);

/* Reads the inode of one by its name. Messages call it `option`. */
int netns_inode(const char *option, const char *name, __u32 *inode);

/* Reads the first name of a namespace in /run/netns; false if it has none there. */
bool netns_name(__u32 inode, char name[NAME_MAX + 1]);

#endif
