// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "cli/err.h"

struct why_connection *why_connection_get(struct why_connections *c, const struct conn_key *key)
{
	struct why_connection *found = (struct why_connection *)conn_map_find(&c->map, key);

	if (found)
		return found;
	found = mem_need(conn_map_new(&c->map, key, sizeof(*found)));
	why_window_begin(&found->window);
	c->list = mem_grow(c->list, c->n, sizeof(*c->list));
	c->list[c->n++] = found;
	return found;
}

void why_connections_cut(struct why_connections *c)
{
	for (size_t i = 0; i < c->n; i++)
		conn_map_remove(&c->map, &c->list[i]->key);
}

void why_connections_free(struct why_connections *c)
{
	why_connections_cut(c);
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i]);
	free(c->list);
	memset(c, 0, sizeof(*c));
}
