// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include "cli/err.h"
#include "netlink.h"

struct netlink_attributes netlink_attributes(const void *first, int len)
{
	struct netlink_attributes all = {};

	for (const struct rtattr *a = first; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) < sizeof(all.of) / sizeof(all.of[0]))
			all.of[a->rta_type & NLA_TYPE_MASK] = a;
	return all;
}

struct netlink_attributes netlink_attributes_of(const struct nlmsghdr *message, size_t head)
{
	int len = (int)message->nlmsg_len - (int)NLMSG_SPACE(head);

	return netlink_attributes((const char *)message + NLMSG_SPACE(head), len);
}

struct netlink_attributes netlink_nested(const struct rtattr *a)
{
	return a ? netlink_attributes(RTA_DATA(a), RTA_PAYLOAD(a)) : (struct netlink_attributes){};
}

void netlink_copy(const struct rtattr *a, void *to, size_t size)
{
	memset(to, 0, size);
	if (a)
		memcpy(to, RTA_DATA(a), RTA_PAYLOAD(a) < size ? RTA_PAYLOAD(a) : size);
}

/* Returns 1 if more is to come, 0, or -errno. */
static int read_answer(int fd, netlink_visitor visit, void *data, bool *is_changed)
{
	static char buf[1 << 16] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t len = recv(fd, buf, sizeof(buf), 0);

	if (len < 0)
		return -errno;
	for (const struct nlmsghdr *head = (const void *)buf; NLMSG_OK(head, len);
	     head = NLMSG_NEXT(head, len)) {
		*is_changed |= !!(head->nlmsg_flags & NLM_F_DUMP_INTR);
		/* Both begin with -errno or 0. */
		if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR)
			return NLMSG_PAYLOAD(head, 0) < sizeof(int) ? 0 : *(int *)NLMSG_DATA(head);
		if (visit)
			visit(head, data);
	}
	return 1;
}

int netlink_ask(const struct nlmsghdr *request, netlink_visitor visit, void *data)
{
	static const int on = 1;
	int fd AUTO_CLOSE = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), ret;
	bool is_changed = false;

	if (fd < 0)
		return -errno;
	/* Without it, the kernel lists the routes of all tables. */
	setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	ret = send(fd, request, request->nlmsg_len, 0) < 0 ? -errno : 1;
	while (ret > 0)
		ret = read_answer(fd, visit, data, &is_changed);
	return ret || !is_changed ? ret : -ESTALE;
}

int netlink_watch(__u32 groups)
{
	const struct sockaddr_nl us = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), error;

	if (fd < 0 || !bind(fd, (const struct sockaddr *)&us, sizeof(us)))
		return fd < 0 ? -errno : fd;
	error = -errno;
	close(fd);
	return error;
}

int netlink_events(int fd, netlink_visitor visit, void *data)
{
	bool is_changed = false;
	int ret;

	do
		ret = read_answer(fd, visit, data, &is_changed);
	while (ret >= 0);
	return ret == -EAGAIN ? 0 : ret;
}
