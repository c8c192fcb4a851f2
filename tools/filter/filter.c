// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "cli/err.h"
#include "event/event.h"
#include "event/field.h"
#include "filter.h"

void filter_init(struct filter *f)
{
	memset(f, 0, sizeof(*f));
	f->states = FILTER_ALL_STATES;
	f->root = -1;
}

void filter_free(struct filter *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->nodes[i].op == FILTER_DEVICE)
			free(f->nodes[i].device.list);
}

static bool has_room(const struct filter *f, int nodes)
{
	if (f->n + nodes <= FILTER_NODES)
		return true;
	err("filter: too long together with the options\n"
	    "at most %d conditions and operators",
	    FILTER_NODES);
	return false;
}

/* Makes the filter require this condition, one of its nodes, as well. */
static bool require(struct filter *f, int condition)
{
	if (f->root < 0) {
		f->root = condition;
		return true;
	}
	if (!has_room(f, 1))
		return false;
	f->nodes[f->n] =
		(struct filter_node){ .op = FILTER_AND, .left = f->root, .right = condition };
	f->root = f->n++;
	return true;
}

bool filter_add(struct filter *f, const struct filter_node *condition)
{
	if (!has_room(f, 1))
		return false;
	f->nodes[f->n] = *condition;
	return require(f, f->n++);
}

bool filter_add_names(struct filter *f, const char *const *names, int n)
{
	int any = -1;

	for (int i = 0; i < n; i++) {
		struct filter_node *node = &f->nodes[f->n];

		if (!has_room(f, 2))
			return false;
		node[0] = (struct filter_node){ .op = FILTER_NAME };
		/* No instance has a name so long that it is cut off here. */
		snprintf(node->name, sizeof(node->name), "%s", names[i]);
		node[1] = (struct filter_node){ .op = FILTER_OR, .left = any, .right = f->n };
		any = any < 0 ? f->n : f->n + 1;
		f->n = any + 1;
	}
	return !n || require(f, any);
}

/* False: the BPF program cannot test all of it. Its filter has room for one prefix. */
static bool push_address(const struct filter_node *node, __u32 addr[4], __u32 mask[4])
{
	if (node->host.any)
		return true;
	if (mask[0] | mask[1] | mask[2] | mask[3])
		return !memcmp(addr, node->host.addr, 4 * sizeof(*addr)) &&
		       !memcmp(mask, node->host.mask, 4 * sizeof(*mask));
	memcpy(addr, node->host.addr, 4 * sizeof(*addr));
	memcpy(mask, node->host.mask, 4 * sizeof(*mask));
	return !node->host.is_inet6; /* the program does not tell IPv4 sockets from IPv6 ones */
}

/* In the program's filter port 0 means any. No connection has it. */
static bool push_port(int port, __u16 *to)
{
	__u16 wanted = htons(port);

	if (!port || (*to && *to != wanted))
		return false;
	*to = wanted;
	return true;
}

static bool push(const struct filter *f, int n, struct bbr_filter *to)
{
	const struct filter_node *node = &f->nodes[n];
	__u16 *port = node->is_remote ? &to->rport : &to->lport;
	bool left, right;

	if (node->op == FILTER_AND) {
		left = push(f, node->left, to);
		right = push(f, node->right, to);
		return left && right;
	}
	if (node->compare != FILTER_EQ)
		return false;
	if (node->op == FILTER_PORT)
		return push_port(node->port, port);
	if (node->op != FILTER_HOST)
		return false;
	left = node->is_remote ? push_address(node, to->raddr, to->rmask) :
				 push_address(node, to->laddr, to->lmask);
	right = node->host.port < 0 || push_port(node->host.port, port);
	return left && right;
}

bool filter_push_down(const struct filter *f, struct bbr_filter *to)
{
	return f->root < 0 || push(f, f->root, to);
}

/* What a filter is matched against. */
struct filter_subject {
	const struct origin *origin;
	const struct bbr_event *e;
	const struct bbr_snapshot *socket; /* NULL: there is only the event */
};

static bool matches_host(const struct filter_node *node, const struct bbr_event *e)
{
	const __u32 *addr = node->is_remote ? e->raddr : e->laddr;

	if (node->host.port >= 0 && ntohs(node->is_remote ? e->rport : e->lport) != node->host.port)
		return false;
	if (node->host.any)
		return true;
	if (node->host.is_inet6 && e->family != AF_INET6)
		return false;
	for (int i = 0; i < 4; i++)
		if ((addr[i] & node->host.mask[i]) != node->host.addr[i])
			return false;
	return true;
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

static bool is_equal(const struct filter_node *node, const struct filter_subject *c)
{
	const struct bbr_snapshot *s = c->socket;
	const char *profile;

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
		profile = origin_profile(c->origin, c->e);
		return profile && !strcmp(profile, node->name);
	case FILTER_MODE:
		return matches_mode(node, c);
	case FILTER_REASON:
		return event_has_reason(c->e) &&
		       !strcasecmp(reason_name(c->origin->algorithm, c->e->reason), node->name);
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

bool names_have(const struct value_list *names, const char *name)
{
	for (int i = 0; i < names->n; i++)
		if (!strcmp(names->arg[i], name))
			return true;
	return !names->n;
}

bool is_wanted(const struct watch_config *config, const struct origin *origin,
	       const struct bbr_event *e)
{
	return !config->filter || filter_matches(config->filter, origin, e, NULL);
}

void counters_add(struct counters *sum, const struct counters *c)
{
	sum->seq += c->seq;
	sum->acks += c->acks;
	for (int i = 0; i < BBR_EV_MAX; i++) {
		sum->received[i] += c->received[i];
		sum->drops[i] += c->drops[i];
	}
	sum->drops_unknown += c->drops_unknown;
	sum->not_matched += c->not_matched;
}

__u64 counters_received(const struct counters *c)
{
	__u64 n = 0;

	for (int i = 0; i < BBR_EV_MAX; i++)
		n += c->received[i];
	return n;
}

__u64 counters_drops(const struct counters *c)
{
	__u64 n = c->drops_unknown;

	for (int i = 0; i < BBR_EV_MAX; i++)
		n += c->drops[i];
	return n;
}
