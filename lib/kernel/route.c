// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "cli/err.h"
#include "netlink.h"
#include "route.h"

#define DUMPS 10 /* a table that changes all the time is read so often */
#define LAST_METRIC (~0u)
#define LOCK_CONGCTL (1u << RTAX_CC_ALGO)

static bool is_v4(const struct route_prefix *p)
{
	return p->len >= 96 && address_is_v4(p->addr);
}

bool route_prefix_equal(const struct route_prefix *a, const struct route_prefix *b)
{
	return a->len == b->len && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

bool route_prefix_has(const struct route_prefix *a, const struct route_prefix *b)
{
	__u32 mask[4], other = 0;

	prefix_mask(mask, a->len);
	for (int i = 0; i < 4; i++)
		other |= (a->addr[i] ^ b->addr[i]) & mask[i];
	return is_v4(a) == is_v4(b) && a->len <= b->len && !other;
}

/* ---- reading */

static __u32 number_of(const struct rtattr *a)
{
	__u32 value;

	netlink_copy(a, &value, sizeof(value));
	return value;
}

static __u32 table_said(const struct nlmsghdr *message)
{
	return number_of(netlink_attributes_of(message, sizeof(struct rtmsg)).of[RTA_TABLE]);
}

/* Returns false if it is none of those that this file is about; it may be gone. */
static bool read_route(const struct nlmsghdr *message, struct route *r)
{
	const struct rtmsg *rt = NLMSG_DATA(message);
	const struct netlink_attributes all = netlink_attributes_of(message, sizeof(*rt)),
					metrics = netlink_nested(all.of[RTA_METRICS]);
	bool four = rt->rtm_family == AF_INET;
	struct rta_cacheinfo cache;

	if ((message->nlmsg_type != RTM_NEWROUTE && message->nlmsg_type != RTM_DELROUTE) ||
	    (!four && rt->rtm_family != AF_INET6) || rt->rtm_tos || rt->rtm_src_len ||
	    rt->rtm_flags & RTM_F_CLONED)
		return false;
	*r = (struct route){ .protocol = rt->rtm_protocol, .type = rt->rtm_type };
	r->to.len = rt->rtm_dst_len + (four ? 96 : 0);
	r->to.addr[2] = four ? htonl(0xffff) : 0;
	netlink_copy(all.of[RTA_DST], &r->to.addr[four ? 3 : 0], four ? 4 : 16);
	r->metric = number_of(all.of[RTA_PRIORITY]);
	netlink_copy(all.of[RTA_CACHEINFO], &cache, sizeof(cache));
	r->is_dynamic = rt->rtm_protocol == RTPROT_RA || cache.rta_expires;
	netlink_copy(metrics.of[RTAX_CC_ALGO], r->congctl, sizeof(r->congctl) - 1);
	r->is_locked = number_of(metrics.of[RTAX_LOCK]) & LOCK_CONGCTL;
	return true;
}

struct reading {
	route_match match;
	void *data;
	struct route *list;
	int n;
};

static void take(const struct nlmsghdr *message, void *data)
{
	struct reading *reading = data;
	struct route r;

	if (!read_route(message, &r) || !reading->match(&r, reading->data))
		return;
	r.message = mem_new(1, message->nlmsg_len);
	memcpy(r.message, message, message->nlmsg_len);
	MEM_ADD(reading->list, reading->n) = r;
}

void route_free(struct route *r)
{
	free(r->message);
	r->message = NULL;
}

/* Drops all from the n-th on. */
static void cut(struct reading *reading, int n)
{
	while (reading->n > n)
		route_free(&reading->list[--reading->n]);
}

int routes_list(route_match match, void *data, struct route **list)
{
	static const __u8 families[] = { AF_INET, AF_INET6 };
	struct reading reading = { .match = match, .data = data };
	int error = 0;

	for (int i = 0; !error && i < 2; i++) {
		const struct {
			struct nlmsghdr head;
			struct rtmsg rt;
		} request = {
			.head = { .nlmsg_len = sizeof(request),
				  .nlmsg_type = RTM_GETROUTE,
				  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
			.rt = { .rtm_family = families[i], .rtm_table = RT_TABLE_MAIN },
		};
		int before = reading.n;

		error = -ESTALE;
		for (int dumps = 0; error == -ESTALE && dumps < DUMPS; dumps++) {
			cut(&reading, before);
			error = netlink_ask(&request.head, take, &reading);
		}
		if (error == -ENOENT || error == -EOPNOTSUPP) /* no such table, no IPv6 */
			error = 0;
	}
	if (error) {
		cut(&reading, 0);
		free(reading.list);
		reading.list = NULL;
	}
	*list = reading.list;
	return error ? error : reading.n;
}

/* ---- watching */

int routes_watch(void)
{
	return netlink_watch(RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
}

struct change {
	route_match match;
	void *data;
	bool matches;
};

/* Events are of all tables. */
static void take_event(const struct nlmsghdr *message, void *data)
{
	struct change *change = data;
	struct route r;

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg)) || !read_route(message, &r) ||
	    table_said(message) != RT_TABLE_MAIN)
		return;
	change->matches |= change->match(&r, change->data);
}

bool routes_changed(int fd, route_match match, void *data)
{
	struct change change = { .match = match, .data = data };

	return netlink_events(fd, take_event, &change) || change.matches;
}

/* ---- writing */

/* A message in the making; what has no room is left out, and is_full is set. */
struct making {
	union {
		struct nlmsghdr head;
		char bytes[1 << 16];
	} is;
	bool is_full;
};

static struct rtattr *add(struct making *m, unsigned short type, const void *data, size_t size)
{
	struct rtattr *a = (void *)(m->is.bytes + NLMSG_ALIGN(m->is.head.nlmsg_len));

	if (NLMSG_ALIGN(m->is.head.nlmsg_len) + RTA_SPACE(size) > sizeof(m->is)) {
		m->is_full = true;
		return NULL;
	}
	memset(a, 0, RTA_SPACE(size));
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(a), data, size);
	m->is.head.nlmsg_len = NLMSG_ALIGN(m->is.head.nlmsg_len) + RTA_SPACE(size);
	return a;
}

static void add_metrics(struct making *m, const struct route *r, const struct rtattr *old)
{
	const struct netlink_attributes metrics = netlink_nested(old);
	__u32 lock = number_of(metrics.of[RTAX_LOCK]) & ~LOCK_CONGCTL;
	size_t begin = NLMSG_ALIGN(m->is.head.nlmsg_len);
	struct rtattr *nest = add(m, RTA_METRICS, NULL, 0);

	lock |= r->is_locked && r->congctl[0] ? LOCK_CONGCTL : 0;
	if (lock)
		add(m, RTAX_LOCK, &lock, sizeof(lock));
	for (int i = RTAX_LOCK + 1; i <= RTAX_MAX; i++)
		if (i != RTAX_CC_ALGO && metrics.of[i])
			add(m, i, RTA_DATA(metrics.of[i]), RTA_PAYLOAD(metrics.of[i]));
	if (r->congctl[0])
		add(m, RTAX_CC_ALGO, r->congctl, strlen(r->congctl) + 1);
	if (nest && m->is.head.nlmsg_len == begin + RTA_LENGTH(0))
		m->is.head.nlmsg_len = begin;
	else if (nest)
		nest->rta_len = m->is.head.nlmsg_len - begin;
}

/* The kernel takes no next hop's state. */
static void add_next_hops(struct making *m, const struct rtattr *old)
{
	struct rtattr *a = add(m, RTA_MULTIPATH, RTA_DATA(old), RTA_PAYLOAD(old));
	int len = a ? RTA_PAYLOAD(a) : 0;

	for (struct rtnexthop *hop = a ? RTA_DATA(a) : NULL; hop && RTNH_OK(hop, len);
	     len -= NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
		hop->rtnh_flags &= RTNH_F_ONLINK;
}

/* A next hop object has them; the kernel shows both and takes one. */
static bool is_of_next_hop(int type)
{
	return type == RTA_OIF || type == RTA_GATEWAY || type == RTA_VIA || type == RTA_MULTIPATH ||
	       type == RTA_ENCAP || type == RTA_ENCAP_TYPE || type == RTA_FLOW;
}

static void make(struct making *m, const struct route *r, int flags)
{
	const struct netlink_attributes old =
		netlink_attributes_of(r->message, sizeof(struct rtmsg));
	bool four = is_v4(&r->to);
	struct rtmsg *rt = NLMSG_DATA(&m->is.head);

	memset(&m->is, 0, NLMSG_SPACE(sizeof(*rt)));
	m->is_full = false;
	m->is.head.nlmsg_len = NLMSG_SPACE(sizeof(*rt));
	m->is.head.nlmsg_type = RTM_NEWROUTE;
	m->is.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	*rt = *(const struct rtmsg *)NLMSG_DATA(r->message);
	rt->rtm_dst_len = r->to.len - (four ? 96 : 0);
	rt->rtm_protocol = r->protocol;
	rt->rtm_flags &= RTNH_F_ONLINK;
	if (rt->rtm_dst_len)
		add(m, RTA_DST, &r->to.addr[four ? 3 : 0], four ? 4 : 16);
	if (r->metric)
		add(m, RTA_PRIORITY, &r->metric, sizeof(r->metric));
	for (int i = 1; i <= RTA_MAX; i++) {
		const struct rtattr *a = old.of[i];

		if (!a || i == RTA_DST || i == RTA_PRIORITY || i == RTA_METRICS ||
		    i == RTA_CACHEINFO || (old.of[RTA_NH_ID] && is_of_next_hop(i)))
			continue;
		if (i == RTA_MULTIPATH)
			add_next_hops(m, a);
		else
			add(m, a->rta_type, RTA_DATA(a), RTA_PAYLOAD(a));
	}
	add_metrics(m, r, old.of[RTA_METRICS]);
}

struct route route_made(const struct route *as, const struct route_prefix *to)
{
	struct route r = *as;

	r.to = *to;
	r.metric = LAST_METRIC;
	r.protocol = ROUTE_PROTOCOL;
	return r;
}

bool route_same(const struct route *a, const struct route *b)
{
	static struct making x, y;

	make(&x, a, 0);
	make(&y, b, 0);
	return x.is.head.nlmsg_len == y.is.head.nlmsg_len &&
	       !memcmp(&x.is, &y.is, x.is.head.nlmsg_len);
}

static int send_route(int type, const struct route *r, int flags)
{
	static struct making m;

	make(&m, r, flags);
	m.is.head.nlmsg_type = type;
	return m.is_full ? -E2BIG : netlink_ask(&m.is.head, NULL, NULL);
}

int route_write(const struct route *r, int flags)
{
	return send_route(RTM_NEWROUTE, r, flags);
}

int route_delete(const struct route *r)
{
	return send_route(RTM_DELROUTE, r, 0);
}

/* ---- asking */

static void take_table(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *rt = NLMSG_DATA(message);

	if (message->nlmsg_type == RTM_NEWROUTE && rt->rtm_type == RTN_UNICAST)
		*(__u32 *)data = table_said(message);
}

static __u32 table_of(const __u32 addr[4], bool four)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg rt;
		struct rtattr to;
		__u32 addr[4];
	} request = {
		.head = { .nlmsg_len = NLMSG_SPACE(sizeof(request.rt)) + RTA_SPACE(four ? 4 : 16),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.rt = { .rtm_family = four ? AF_INET : AF_INET6,
			.rtm_dst_len = four ? 32 : 128,
			/* IPv6 always says the table, and refuses to be asked for it. */
			.rtm_flags = RTM_F_FIB_MATCH | (four ? RTM_F_LOOKUP_TABLE : 0) },
		.to = { .rta_type = RTA_DST, .rta_len = RTA_LENGTH(four ? 4 : 16) },
	};
	__u32 table = 0;

	memcpy(request.addr, &addr[four ? 3 : 0], four ? 4 : 16);
	netlink_ask(&request.head, take_table, &table);
	return table;
}

bool route_is_main(const struct route_prefix *to, __u32 *table)
{
	__u32 last[4], mask[4];

	prefix_mask(mask, to->len);
	for (int i = 0; i < 4; i++)
		last[i] = to->addr[i] | ~mask[i];
	*table = table_of(to->addr, is_v4(to));
	if (*table != RT_TABLE_MAIN && table_of(last, is_v4(to)) == RT_TABLE_MAIN)
		*table = RT_TABLE_MAIN;
	return *table == RT_TABLE_MAIN;
}
