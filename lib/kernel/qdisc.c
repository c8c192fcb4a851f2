// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "cli/err.h"
#include "qdisc.h"

struct reading {
	struct device_qdisc *list;
	int n;
	/* The device with an mq root whose queues we read. */
	int mq_index;
	__u32 mq_handle;
	char mq_kind[16];
	int error;
};

/* The device's entry, which is new unless it was the last. NULL: none. */
static struct device_qdisc *entry_of(struct reading *r, int index)
{
	struct device_qdisc *q = r->n ? &r->list[r->n - 1] : NULL;
	char device[IF_NAMESIZE];

	if (!if_indextoname(index, device))
		return NULL;
	if (q && !strcmp(q->device, device))
		return q;
	r->list = mem_grow(r->list, r->n, sizeof(*r->list));
	q = &r->list[r->n++];
	memset(q, 0, sizeof(*q));
	q->index = index;
	strcpy(q->device, device);
	return q;
}

/* What devices get by themselves, and what does no more than keep packets in order. */
static bool is_plain(const char *kind)
{
	static const char *const plain[] = {
		"pfifo_fast", "fq_codel", "fq_pie", "sfq", "pfifo", "bfifo", "pfifo_head_drop",
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(kind, plain[i]))
			return true;
	return false;
}

/* The attributes of a qdisc, or of one of its nested attributes, by their types. */
struct attributes {
	const struct rtattr *of[TCA_MAX + 1];
};

static struct attributes attributes_of(const void *first, int len)
{
	struct attributes all = {};

	for (const struct rtattr *a = first; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) <= TCA_MAX)
			all.of[a->rta_type & NLA_TYPE_MASK] = a;
	return all;
}

static struct attributes nested_in(const struct rtattr *a)
{
	return a ? attributes_of(RTA_DATA(a), RTA_PAYLOAD(a)) : (struct attributes){};
}

/* Copies the beginning of an attribute; what it does not have stays 0. */
static void copy_from(const struct rtattr *a, void *to, size_t size)
{
	memset(to, 0, size);
	if (a)
		memcpy(to, RTA_DATA(a), RTA_PAYLOAD(a) < size ? RTA_PAYLOAD(a) : size);
}

static void add_fq(struct fq_counts *fq, const struct attributes *qdisc)
{
	const struct attributes stats = nested_in(qdisc->of[TCA_STATS2]),
				options = nested_in(qdisc->of[TCA_OPTIONS]);
	struct gnet_stats_basic sent;
	struct gnet_stats_queue queue;
	struct tc_fq_qd_stats own;

	copy_from(stats.of[TCA_STATS_BASIC], &sent, sizeof(sent));
	copy_from(stats.of[TCA_STATS_QUEUE], &queue, sizeof(queue));
	copy_from(stats.of[TCA_STATS_APP], &own, sizeof(own));
	copy_from(options.of[TCA_FQ_PLIMIT], &fq->limit, sizeof(fq->limit));
	copy_from(options.of[TCA_FQ_FLOW_PLIMIT], &fq->flow_limit, sizeof(fq->flow_limit));
	fq->n++;
	fq->packets += sent.packets;
	fq->drops += queue.drops;
	fq->flow_drops += own.flows_plimit;
}

/* queue: which of those below mq, 0 for a root. */
static void take_queue(struct reading *r, int index, const struct attributes *qdisc,
		       unsigned int queue)
{
	const char *kind = RTA_DATA(qdisc->of[TCA_KIND]);
	struct device_qdisc *q = strcmp(kind, "noqueue") ? entry_of(r, index) : NULL;
	char *others;

	if (!q)
		return;
	if (!strcmp(kind, "fq"))
		add_fq(&q->fq, qdisc);
	if (!q->kind[0] || !strcmp(q->kind, "fq"))
		snprintf(q->kind, sizeof(q->kind), "%s", kind);
	if (!queue)
		return;
	strcpy(q->multi, r->mq_kind);
	q->handle = r->mq_handle >> 16;
	if (!is_plain(kind))
		return;
	others = q->queues; /* the kernel lists them from the last to the first */
	q->queues = mem_format("%x%s%s", queue, others ? " " : "", others ? others : "");
	free(others);
}

/* Takes the root of a device or, below mq, each of its queues. */
static void take(struct reading *r, const struct nlmsghdr *head)
{
	const struct tcmsg *tc = NLMSG_DATA(head);
	int len = head->nlmsg_len - NLMSG_LENGTH(sizeof(*tc));
	const struct attributes qdisc =
		attributes_of((const char *)tc + NLMSG_ALIGN(sizeof(*tc)), len);
	const char *kind;

	if (!qdisc.of[TCA_KIND])
		return;
	kind = RTA_DATA(qdisc.of[TCA_KIND]);
	if (tc->tcm_parent == TC_H_ROOT && (!strcmp(kind, "mq") || !strcmp(kind, "mqprio"))) {
		r->mq_index = tc->tcm_ifindex;
		r->mq_handle = TC_H_MAJ(tc->tcm_handle);
		strcpy(r->mq_kind, kind);
	} else if (tc->tcm_parent == TC_H_ROOT) {
		take_queue(r, tc->tcm_ifindex, &qdisc, 0);
	} else if (tc->tcm_ifindex == r->mq_index && tc->tcm_parent != TC_H_INGRESS &&
		   TC_H_MAJ(tc->tcm_parent) == r->mq_handle) {
		take_queue(r, tc->tcm_ifindex, &qdisc, TC_H_MIN(tc->tcm_parent));
	}
}

/* True if more is to come. */
static bool read_answer(int fd, struct reading *r)
{
	static char buf[1 << 16] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t len = recv(fd, buf, sizeof(buf), 0);

	if (len < 0)
		r->error = -errno;
	for (const struct nlmsghdr *head = (const void *)buf; !r->error && NLMSG_OK(head, len);
	     head = NLMSG_NEXT(head, len)) {
		if (head->nlmsg_type == NLMSG_DONE)
			return false;
		if (head->nlmsg_type == NLMSG_ERROR)
			r->error = ((const struct nlmsgerr *)NLMSG_DATA(head))->error;
		else if (head->nlmsg_type == RTM_NEWQDISC)
			take(r, head);
	}
	return !r->error;
}

int qdiscs_list(struct device_qdisc **list)
{
	const struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = RTM_GETQDISC,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.tc = { .tcm_family = AF_UNSPEC },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct reading r = {};

	*list = NULL;
	if (fd < 0)
		return -errno;
	r.error = send(fd, &request, sizeof(request), 0) < 0 ? -errno : 0;
	while (!r.error && read_answer(fd, &r))
		;
	close(fd);
	if (r.error) {
		qdiscs_free(r.list, r.n);
		return r.error;
	}
	*list = r.list;
	return r.n;
}

void qdiscs_free(struct device_qdisc *list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i].queues);
	free(list);
}

char *qdisc_advice(const struct device_qdisc *q)
{
	char make[64 + IF_NAMESIZE] = "";

	if (q->multi[0] ? !q->queues : !is_plain(q->kind))
		return NULL;
	if (!q->multi[0])
		return mem_format("tc qdisc replace dev %s root fq", q->device);
	if (!q->handle) /* it has to have one before its queues have names */
		snprintf(make, sizeof(make), "tc qdisc replace dev %s root handle 1: %s; ",
			 q->device, q->multi);
	return mem_format("%sfor q in %s; do tc qdisc replace dev %s parent %x:$q fq; done", make,
			  q->queues, q->device, q->handle ? q->handle : 1);
}

char *qdisc_flow_limit_advice(const struct device_qdisc *q, __u32 flow_limit)
{
	if (!q->multi[0])
		return mem_format("tc qdisc change dev %s root fq flow_limit %u", q->device,
				  flow_limit);
	if (!q->handle)
		return NULL;
	return mem_format("for q in $(tc qdisc show dev %s | sed -n 's/^qdisc fq .* parent "
			  "\\([0-9a-f:]*\\) .*/\\1/p'); do tc qdisc change dev %s parent $q fq "
			  "flow_limit %u; done",
			  q->device, q->device, flow_limit);
}
