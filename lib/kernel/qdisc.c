// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <sys/socket.h>

#include "cli/err.h"
#include "cli/text.h"
#include "netlink.h"
#include "qdisc.h"

struct reading {
	struct device_qdisc *list;
	int n;
	/* The device with an mq root whose queues we read. */
	int mq_index;
	__u32 mq_handle;
	char mq_kind[16];
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
	q = &MEM_ADD(r->list, r->n);
	memset(q, 0, sizeof(*q));
	q->index = index;
	strcpy(q->device, device);
	return q;
}

/* The kernel's default qdiscs, and others that only keep packets in order. */
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

static void add_fq(struct fq_counts *fq, const struct netlink_attributes *qdisc)
{
	const struct netlink_attributes stats = netlink_nested(qdisc->of[TCA_STATS2]),
					options = netlink_nested(qdisc->of[TCA_OPTIONS]);
	struct gnet_stats_basic sent;
	struct gnet_stats_queue queue;
	struct tc_fq_qd_stats own;

	netlink_copy(stats.of[TCA_STATS_BASIC], &sent, sizeof(sent));
	netlink_copy(stats.of[TCA_STATS_QUEUE], &queue, sizeof(queue));
	netlink_copy(stats.of[TCA_STATS_APP], &own, sizeof(own));
	netlink_copy(options.of[TCA_FQ_PLIMIT], &fq->limit, sizeof(fq->limit));
	netlink_copy(options.of[TCA_FQ_FLOW_PLIMIT], &fq->flow_limit, sizeof(fq->flow_limit));
	fq->n++;
	fq->packets += sent.packets;
	fq->drops += queue.drops;
	fq->flow_drops += own.flows_plimit;
}

/* queue: which of those below mq, 0 for a root. */
static void take_queue(struct reading *r, int index, const struct netlink_attributes *qdisc,
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
static void take(const struct nlmsghdr *head, void *data)
{
	struct reading *r = data;
	const struct tcmsg *tc = NLMSG_DATA(head);
	const struct netlink_attributes qdisc = netlink_attributes_of(head, sizeof(*tc));
	const char *kind;

	if (head->nlmsg_type != RTM_NEWQDISC || !qdisc.of[TCA_KIND])
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
	struct reading r = {};
	int error = netlink_ask(&request.head, take, &r);

	*list = NULL;
	if (error && error != -ESTALE) {
		qdiscs_free(r.list, r.n);
		return error;
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
	const char *device = text_shell_word(q->device);
	char make[64 + 5 * IF_NAMESIZE] = "";

	if (q->multi[0] ? !q->queues : !is_plain(q->kind))
		return NULL;
	if (!q->multi[0])
		return mem_format("tc qdisc replace dev %s root fq", device);
	if (!q->handle) /* it has to have one before its queues have names */
		snprintf(make, sizeof(make), "tc qdisc replace dev %s root handle 1: %s; ", device,
			 q->multi);
	return mem_format("%sfor q in %s; do tc qdisc replace dev %s parent %x:$q fq; done", make,
			  q->queues, device, q->handle ? q->handle : 1);
}

char *qdisc_flow_limit_advice(const struct device_qdisc *q, __u32 flow_limit)
{
	const char *device = text_shell_word(q->device);

	if (!q->multi[0])
		return mem_format("tc qdisc change dev %s root fq flow_limit %u", device,
				  flow_limit);
	if (!q->handle)
		return NULL;
	return mem_format("for q in $(tc qdisc show dev %s | sed -n 's/^qdisc fq .* parent "
			  "\\([0-9a-f:]*\\) .*/\\1/p'); do tc qdisc change dev %s parent $q fq "
			  "flow_limit %u; done",
			  device, device, flow_limit);
}
