/* SPDX-License-Identifier: GPL-2.0-only */
/* Questions to rtnetlink in the network namespace that we are in: qdiscs and routes. */
#ifndef LIB_NETLINK_H
#define LIB_NETLINK_H

#include <stddef.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

/* Attributes by their types; NULL: there is none of this type. */
struct netlink_attributes {
	const struct rtattr *of[32];
};

_Static_assert(RTA_MAX < 32 && TCA_MAX < 32 && RTAX_MAX < 32, "they have room");

struct netlink_attributes netlink_attributes(const void *first, int len);

/* Those behind the message's own head, whose size this is. */
struct netlink_attributes netlink_attributes_of(const struct nlmsghdr *message, size_t head);

/* Those inside an attribute, which may be NULL. */
struct netlink_attributes netlink_nested(const struct rtattr *a);

/* Copies the beginning of an attribute; what it does not have stays 0. */
void netlink_copy(const struct rtattr *a, void *to, size_t size);

typedef void (*netlink_visitor)(const struct nlmsghdr *message, void *data);

/*
 * Sends a request, with NLM_F_DUMP or NLM_F_ACK, and visits each message of the answer; NULL: none.
 * Returns 0, or -errno; -ESTALE: what it lists changed meanwhile, so that it may lack something.
 */
int netlink_ask(const struct nlmsghdr *request, netlink_visitor visit, void *data);

/*
 * Opens a socket that gets the events of these groups (RTMGRP_*) in the network namespace that we are
 * in, also after we have left it. Returns its descriptor, for poll(2), or -errno.
 */
int netlink_watch(__u32 groups);

/* Visits the events that are there. Returns 0, or -ENOBUFS: some were lost; or another -errno. */
int netlink_events(int fd, netlink_visitor visit, void *data);

#endif
