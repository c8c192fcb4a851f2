/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Routes of the network namespace that we are in, IPv4 and IPv6: those of table main without a TOS
 * or a source. A route's congctl decides for sockets that it leads; "lock" keeps programs from
 * choosing another.
 */
#ifndef LIB_ROUTE_H
#define LIB_ROUTE_H

#include <stdbool.h>

#include <linux/rtnetlink.h>
#include <linux/types.h>

#include "bpf_bbr/abi.h"

/*
 * bbrctl made the routes of this protocol (rtm_protocol), as `ip route show proto 66` lists them.
 * Nobody else uses the number: see iproute2's rt_protos and the kernel's rtnetlink.h.
 */
#define ROUTE_PROTOCOL 66

struct route_prefix {
	__u32 addr[4];
	__u32 len; /* both as in address.h: IPv4 is ::ffff:0:0/96 and longer */
};

struct route {
	struct route_prefix to;
	__u32 metric; /* with the lowest, of several to one prefix, it is used */
	__u8 protocol;
	__u8 type; /* RTN_UNICAST leads on; others are errors */
	bool is_dynamic; /* of a router advertisement, which changes it or lets it expire */
	bool is_locked;
	char congctl
		[BBR_NAME_LEN]; /* "": none, or it is not loaded: the kernel does not say which */
	struct nlmsghdr *message; /* all of it, as the kernel says it */
};

bool route_prefix_equal(const struct route_prefix *a, const struct route_prefix *b);

/* True if the second is the first or a part of it. */
bool route_prefix_has(const struct route_prefix *a, const struct route_prefix *b);

typedef bool (*route_match)(const struct route *r, void *data);

/* Lists those that match, for routes_free(). Returns their number or -errno. */
int routes_list(route_match match, void *data, struct route **list);
void route_free(struct route *r);

/*
 * Watches the routes of the network namespace that we are in, also after we have left it. Returns a
 * descriptor for poll(2), or -errno.
 */
int routes_watch(void);

/* Reads what changed since. True if a route that matches came, changed or went, or may have. */
bool routes_changed(int fd, route_match match, void *data);

/* A route of ours to a prefix that leads as another does. It comes last of those to this prefix. */
struct route route_made(const struct route *as, const struct route_prefix *to);

/* True if writing either has the same effect. */
bool route_same(const struct route *a, const struct route *b);

/*
 * Writes it whole, in one message, with the congctl and lock that it has now. flags: NLM_F_REPLACE
 * for the one of this prefix and metric, NLM_F_CREATE if there is none. Returns 0 or -errno.
 */
int route_write(const struct route *r, int flags);
int route_delete(const struct route *r);

/*
 * Asks the kernel which table it uses for an address of the prefix; the first and the last count.
 * Returns true if that is table main. Otherwise *table is the one it uses, 0: none.
 */
bool route_is_main(const struct route_prefix *to, __u32 *table);

#endif
