// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "event/event.h"
#include "filter_expr.h"

static bool is_in_prefix(const __u32 *addr, const struct filter_node *node)
{
	for (int i = 0; i < 4; i++)
		if ((addr[i] & node->host.mask[i]) != node->host.addr[i])
			return false;
	return true;
}

static bool matches_host(const struct filter_node *node, const struct bbr_event *e)
{
	if (node->host.port >= 0 && ntohs(node->is_remote ? e->rport : e->lport) != node->host.port)
		return false;
	if (node->host.any)
		return true;
	if (node->host.is_inet6 && e->family != AF_INET6)
		return false;
	return is_in_prefix(node->is_remote ? e->raddr : e->laddr, node);
}

static bool matches_device(const struct filter_node *node, const struct bbr_snapshot *s)
{
	for (int i = 0; i < node->device.n; i++) {
		const struct filter_device *d = &node->device.list[i];

		if (d->ifindex == s->bound_ifindex && (!d->netns || d->netns == s->event.netns))
			return true;
	}
	return false;
}

static bool matches_profile(const struct filter_node *node, const struct snapshot *c)
{
	const char *profile = origin_profile(c->origin, &c->state->event);

	return profile && !strcmp(profile, node->name);
}

static bool compare_port(const struct filter_node *node, const struct bbr_event *e)
{
	__u16 port = ntohs(node->is_remote ? e->rport : e->lport);

	switch (node->compare) {
	case FILTER_EQ:
		return port == node->port;
	case FILTER_NE:
		return port != node->port;
	case FILTER_GE:
		return port >= node->port;
	case FILTER_LE:
		return port <= node->port;
	case FILTER_GT:
		return port > node->port;
	case FILTER_LT:
		return port < node->port;
	}
	return false;
}

static bool is_equal(const struct filter_node *node, const struct snapshot *c)
{
	const struct bbr_snapshot *s = c->state;

	switch (node->op) {
	case FILTER_HOST:
		return matches_host(node, &s->event);
	case FILTER_MARK:
		return (s->mark & node->mark.mask) == node->mark.value;
	case FILTER_CGROUP:
		return s->cgroup == node->cgroup;
	case FILTER_DEVICE:
		return matches_device(node, s);
	case FILTER_NAME:
		return !strcmp(c->origin->name, node->name);
	case FILTER_PROFILE:
		return matches_profile(node, c);
	case FILTER_MODE:
		return s->event.mode == node->mode;
	default:
		return false;
	}
}

static bool matches(const struct filter *f, int n, const struct snapshot *c)
{
	const struct filter_node *node = &f->nodes[n];

	switch (node->op) {
	case FILTER_AND:
		return matches(f, node->left, c) && matches(f, node->right, c);
	case FILTER_OR:
		return matches(f, node->left, c) || matches(f, node->right, c);
	case FILTER_NOT:
		return !matches(f, node->left, c);
	case FILTER_PORT:
		return compare_port(node, &c->state->event);
	default:
		return is_equal(node, c) == (node->compare == FILTER_EQ);
	}
}

bool filter_matches(const struct filter *f, const struct snapshot *c)
{
	if (!c->is_recorded && !(f->states >> (c->state->state & 31) & 1))
		return false;
	return f->root < 0 || matches(f, f->root, c);
}
