// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy(), twalk_r() */
#include <search.h>
#include <string.h>
#include <stdlib.h>

#include "conn_map.h"
#include "verbs.h"
#include "event/conn_map.h"

/* Keys are compared as bytes. */
_Static_assert(sizeof(struct conn_key) == 8 + 4 + 4 + 32 + 4 + BBR_NAME_LEN + 4,
	       "conn_key has no gaps");

struct conn_key conn_key_of_id(__u32 origin, __u64 conn)
{
	return (struct conn_key){ .conn = conn, .origin = origin };
}

struct conn_key conn_key_of_tuple(const struct bbr_event *e)
{
	struct conn_key key = { .netns = e->netns, .lport = e->lport, .rport = e->rport };

	memcpy(key.laddr, e->laddr, sizeof(key.laddr));
	memcpy(key.raddr, e->raddr, sizeof(key.raddr));
	return key;
}

struct conn_key conn_key_of(const struct origin *origin, const struct bbr_event *e)
{
	struct conn_key key;

	if (e->conn)
		return conn_key_of_id(origin->id, e->conn);
	key = conn_key_of_tuple(e);
	key.origin = origin->id;
	return key;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct conn_key));
}

struct conn_key *conn_map_find(const struct conn_map *m, const struct conn_key *key)
{
	struct conn_key **found = tfind(key, &m->root, compare);

	return found ? *found : NULL;
}

bool conn_map_add(struct conn_map *m, struct conn_key *key)
{
	return tsearch(key, &m->root, compare);
}

void conn_map_need(struct conn_map *m, struct conn_key *key)
{
	need(tsearch(key, &m->root, compare));
}

void conn_map_remove(struct conn_map *m, const struct conn_key *key)
{
	if (conn_map_find(m, key) == key)
		tdelete(key, &m->root, compare);
}

static void leave_key(void *key)
{
	(void)key;
}

void conn_map_free(struct conn_map *m, void (*free_key)(void *key))
{
	tdestroy(m->root, free_key ? free_key : leave_key);
	m->root = NULL;
}

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
