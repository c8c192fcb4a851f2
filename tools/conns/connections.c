// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "connections.h"

static struct conn_key *add(struct connections *c, const struct conn_key *key)
{
	struct conn_key *copy = c->n_live < CONNECTIONS_MAX ? malloc(sizeof(*copy)) : NULL;

	if (copy)
		*copy = *key;
	if (!copy || !conn_map_add(&c->live, copy)) {
		free(copy);
		c->uncounted++;
		return NULL;
	}
	c->n_live++;
	c->seen++;
	return copy;
}

void connections_note(struct connections *c, const struct bbr_event *e)
{
	struct conn_key key = conn_key_of_id(e->tag, e->conn), *live;

	if (!e->conn) /* the program had no memory for an id */
		return;
	live = conn_map_find(&c->live, &key);
	if (!live)
		live = add(c, &key);
	if (!live || e->kind != BBR_EV_END)
		return;
	conn_map_remove(&c->live, live);
	free(live);
	c->n_live--;
}

void connections_free(struct connections *c)
{
	conn_map_free(&c->live, free);
}
