// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "cli/err.h"
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
	err("filter: too long together with the options");
	remedy("at most %d conditions and operators", FILTER_NODES);
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

static bool is_zero(const __u32 words[4])
{
	return !(words[0] | words[1] | words[2] | words[3]);
}

/* False: the BPF program cannot test all of it. Its filter has room for one prefix. */
static bool push_address(const struct filter_node *node, __u32 addr[4], __u32 mask[4])
{
	if (node->host.any)
		return true;
	if (!is_zero(mask))
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
