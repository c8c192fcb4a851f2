// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy(), twalk_r() */
#include <search.h>
#include <string.h>
#include <stdlib.h>

#include "conn_map.h"
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
	bool is_added = tsearch(key, &m->root, compare);

	m->n += is_added;
	return is_added;
}

void *conn_map_new(struct conn_map *m, const struct conn_key *key, size_t size)
{
	struct conn_key *kept = calloc(1, size);

	if (kept)
		*kept = *key;
	if (kept && conn_map_add(m, kept))
		return kept;
	free(kept);
	return NULL;
}

void conn_map_remove(struct conn_map *m, const struct conn_key *key)
{
	if (conn_map_find(m, key) != key)
		return;
	tdelete(key, &m->root, compare);
	m->n--;
}

void conn_map_drop(struct conn_map *m, const struct conn_key *key)
{
	struct conn_key *kept = conn_map_find(m, key);

	if (kept)
		conn_map_remove(m, kept);
	free(kept);
}

void conn_map_free(struct conn_map *m)
{
	tdestroy(m->root, free);
	*m = (struct conn_map){};
}

void connections_note(struct connections *c, const struct bbr_event *e)
{
	const struct conn_key key = conn_key_of_id(e->tag, e->conn);

	if (!e->conn) /* the program had no memory for an id */
		return;
	if (!conn_map_find(&c->live, &key)) {
		if (c->live.n == CONNECTIONS_MAX || !conn_map_new(&c->live, &key, sizeof(key))) {
			c->uncounted++;
			return;
		}
		c->seen++;
	}
	if (e->kind == BBR_EV_END)
		conn_map_drop(&c->live, &key);
}

void connections_free(struct connections *c)
{
	conn_map_free(&c->live);
}
