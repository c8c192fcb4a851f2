// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "event/event.h"
#include "event/field.h"
#include "filter.h"

/* What a filter is matched against. */
struct filter_subject {
	const struct origin *origin;
	const struct bbr_event *e;
	const struct bbr_snapshot *socket; /* NULL: there is only the event */
};

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

static bool matches_profile(const struct filter_node *node, const struct filter_subject *c)
{
	const char *profile = origin_profile(c->origin, c->e);

	return profile && !strcmp(profile, node->name);
}

static bool compare(enum filter_compare compare, __u64 is, __u64 wanted)
{
	switch (compare) {
	case FILTER_EQ:
		return is == wanted;
	case FILTER_NE:
		return is != wanted;
	case FILTER_GE:
		return is >= wanted;
	case FILTER_LE:
		return is <= wanted;
	case FILTER_GT:
		return is > wanted;
	case FILTER_LT:
		return is < wanted;
	}
	return false;
}

/* An unknown value is neither equal to anything nor more or less: only != is true of it. */
static bool matches_field(struct filter_node *node, const struct filter_subject *c)
{
	const struct field *f = field_of(&node->field.of, c->origin->algorithm);
	__u64 value;

	if (!f || !field_value(f, c->e, &value))
		return node->compare == FILTER_NE;
	if (!node->field.name)
		return compare(node->compare, value, node->field.value);
	return !strcasecmp(field_name_of(f, value), node->field.name) ==
	       (node->compare == FILTER_EQ);
}

static bool matches_mode(const struct filter_node *node, const struct filter_subject *c)
{
	const struct algorithm *a = c->origin->algorithm;
	char text[MODE_TEXT_LEN];

	if (!strchr(node->name, '/'))
		return !strcasecmp(mode_name(a, c->e->mode), node->name);
	mode_text(text, sizeof(text), a, c->e);
	return !strcasecmp(text, node->name);
}

static bool matches_reason(const struct filter_node *node, const struct filter_subject *c)
{
	return event_has_reason(c->e) &&
	       !strcasecmp(reason_name(c->origin->algorithm, c->e->reason), node->name);
}

static bool is_equal(const struct filter_node *node, const struct filter_subject *c)
{
	const struct bbr_snapshot *s = c->socket;

	switch (node->op) {
	case FILTER_HOST:
		return matches_host(node, c->e);
	case FILTER_MARK:
		return s && (s->mark & node->mark.mask) == node->mark.value;
	case FILTER_CGROUP:
		return s && s->cgroup == node->cgroup;
	case FILTER_DEVICE:
		return s && matches_device(node, s);
	case FILTER_NAME:
		return !strcmp(c->origin->name, node->name);
	case FILTER_PROFILE:
		return matches_profile(node, c);
	case FILTER_MODE:
		return matches_mode(node, c);
	case FILTER_REASON:
		return matches_reason(node, c);
	default:
		return false;
	}
}

static bool matches(struct filter *f, int n, const struct filter_subject *c)
{
	struct filter_node *node = &f->nodes[n];

	switch (node->op) {
	case FILTER_AND:
		return matches(f, node->left, c) && matches(f, node->right, c);
	case FILTER_OR:
		return matches(f, node->left, c) || matches(f, node->right, c);
	case FILTER_NOT:
		return !matches(f, node->left, c);
	case FILTER_PORT:
		return compare(node->compare, ntohs(node->is_remote ? c->e->rport : c->e->lport),
			       node->port);
	case FILTER_FIELD:
		return matches_field(node, c);
	default:
		return is_equal(node, c) == (node->compare == FILTER_EQ);
	}
}

bool filter_matches(struct filter *f, const struct origin *origin, const struct bbr_event *e,
		    const struct bbr_snapshot *socket)
{
	const struct filter_subject c = { origin, e, socket };

	if (socket && !(f->states >> (socket->state & 31) & 1))
		return false;
	return f->root < 0 || matches(f, f->root, &c);
}

bool filter_has_state(const struct filter *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->nodes[i].op >= FILTER_PROFILE)
			return true;
	return false;
}

bool filter_knows(const struct filter *f, const struct bbr_event *e)
{
	return (!f->needs || e->flags & f->needs) && (!f->needs_reason || event_has_reason(e));
}
