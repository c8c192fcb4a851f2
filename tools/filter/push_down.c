// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include <arpa/inet.h>

#include "filter.h"

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
