// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "connection.h"

/* Makes room for one more in the list. */
static bool reserve(struct why_connections *c)
{
	size_t room = c->room ? 2 * c->room : 64;
	struct why_connection **grown;

	if (c->n < c->room)
		return true;
	grown = realloc(c->list, room * sizeof(*grown));
	if (!grown)
		return false;
	c->list = grown;
	c->room = room;
	return true;
}

struct why_connection *why_connection_get(struct why_connections *c, const struct conn_key *key)
{
	struct why_connection *found = (struct why_connection *)conn_map_find(&c->map, key);

	if (found)
		return found;
	found = reserve(c) ? calloc(1, sizeof(*found)) : NULL;
	if (!found)
		return NULL;
	found->key = *key;
	why_window_begin(&found->window);
	if (!conn_map_add(&c->map, &found->key)) {
		free(found);
		return NULL;
	}
	c->list[c->n++] = found;
	return found;
}

void why_connections_cut(struct why_connections *c)
{
	conn_map_free(&c->map, NULL);
}

void why_connections_free(struct why_connections *c)
{
	why_connections_cut(c);
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i]);
	free(c->list);
	memset(c, 0, sizeof(*c));
}
