// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "qdisc.h"

struct reading {
	struct device_qdisc *list;
	int n;
	int mq_index; /* the device with an mq root whose queues we read */
	__u32 mq_handle;
	int error;
};

static int ask(int fd)
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

	return send(fd, &request, sizeof(request), 0) < 0 ? -errno : 0;
}

static void note(struct reading *r, int index, const char *kind)
{
	struct device_qdisc *grown, *last = r->n ? &r->list[r->n - 1] : NULL;
	char device[IF_NAMESIZE];

	if (!strcmp(kind, "noqueue") || !if_indextoname(index, device))
		return;
	if (last && !strcmp(last->device, device)) {
		if (!strcmp(last->kind, "fq"))
			snprintf(last->kind, sizeof(last->kind), "%s", kind);
		return;
	}
	grown = realloc(r->list, (r->n + 1) * sizeof(*grown));
	if (!grown) {
		r->error = -ENOMEM;
		return;
	}
	r->list = grown;
	strcpy(grown[r->n].device, device);
	snprintf(grown[r->n++].kind, sizeof(grown->kind), "%s", kind);
}

/* Takes the root of a device or, below mq, each of its queues. */
static void take(struct reading *r, const struct nlmsghdr *head)
{
	const struct tcmsg *tc = NLMSG_DATA(head);
	int len = head->nlmsg_len - NLMSG_LENGTH(sizeof(*tc));
	const struct rtattr *a = (const void *)((const char *)tc + NLMSG_ALIGN(sizeof(*tc)));
	const char *kind = NULL;

	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == TCA_KIND)
			kind = RTA_DATA(a);
	if (!kind)
		return;
	if (tc->tcm_parent == TC_H_ROOT && (!strcmp(kind, "mq") || !strcmp(kind, "mqprio"))) {
		r->mq_index = tc->tcm_ifindex;
		r->mq_handle = TC_H_MAJ(tc->tcm_handle);
	} else if (tc->tcm_parent == TC_H_ROOT ||
		   (tc->tcm_ifindex == r->mq_index && tc->tcm_parent != TC_H_INGRESS &&
		    TC_H_MAJ(tc->tcm_parent) == r->mq_handle)) {
		note(r, tc->tcm_ifindex, kind);
	}
}

/* Is there more to come? */
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
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct reading r = {};

	*list = NULL;
	if (fd < 0)
		return -errno;
	r.error = ask(fd);
	while (!r.error && read_answer(fd, &r))
		;
	close(fd);
	if (r.error) {
		free(r.list);
		return r.error;
	}
	*list = r.list;
	return r.n;
}
