// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <stdlib.h>

#include <sys/auxv.h>

#include "conn_map.h"

#define SIZE_MIN 16 /* slots */

/* Keys are compared and hashed as bytes. */
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

/*
 * Clients choose addresses, and a recording may contain anything: without a secret number, an
 * attacker could choose keys that all map to the same slot.
 */
static __u32 hash_of(const struct conn_key *key)
{
	static __u64 secret[2];
	__u64 words[sizeof(*key) / sizeof(__u64)], hash;

	if (!secret[0]) {
		memcpy(secret, (const void *)getauxval(AT_RANDOM), sizeof(secret));
		secret[0] |= 1;
	}
	memcpy(words, key, sizeof(words));
	hash = secret[1];
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		unsigned __int128 product = (unsigned __int128)(hash ^ words[i]) * secret[0];

		hash = (__u64)product ^ (__u64)(product >> 64);
	}
	return hash ^ hash >> 32;
}

/* The slot of an equal key, or the empty one where it belongs. The map must have slots. */
static __u32 slot_of(const struct conn_map *m, const struct conn_key *key, __u32 hash)
{
	__u32 i = hash & (m->size - 1);

	while (m->slots[i].key &&
	       (m->slots[i].hash != hash || memcmp(m->slots[i].key, key, sizeof(*key))))
		i = (i + 1) & (m->size - 1);
	return i;
}

struct conn_key *conn_map_find(const struct conn_map *m, const struct conn_key *key)
{
	return m->n ? m->slots[slot_of(m, key, hash_of(key))].key : NULL;
}

/* Makes room for one more: a quarter of the slots are empty. */
static bool grow(struct conn_map *m)
{
	struct conn_map more = { .size = m->size ? 2 * m->size : SIZE_MIN, .n = m->n };

	if (m->n + 1 <= m->size / 4 * 3)
		return true;
	more.slots = calloc(more.size, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (__u32 i = 0; i < m->size; i++)
		if (m->slots[i].key)
			more.slots[slot_of(&more, m->slots[i].key, m->slots[i].hash)] = m->slots[i];
	free(m->slots);
	*m = more;
	return true;
}

bool conn_map_add(struct conn_map *m, struct conn_key *key)
{
	__u32 hash = hash_of(key);

	if (!grow(m))
		return false;
	m->slots[slot_of(m, key, hash)] = (struct conn_slot){ key, hash };
	m->n++;
	return true;
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
	const __u32 last = m->size - 1;
	__u32 hole, i;

	if (conn_map_find(m, key) != key)
		return;
	hole = slot_of(m, key, hash_of(key));
	/* A later one moves into the hole if the hole is between its slot and where it belongs. */
	for (i = (hole + 1) & last; m->slots[i].key; i = (i + 1) & last) {
		if (((i - m->slots[i].hash) & last) < ((i - hole) & last))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].key = NULL;
	if (!--m->n) /* an empty map has no memory */
		conn_map_free(m);
}

void conn_map_drop(struct conn_map *m, const struct conn_key *key)
{
	struct conn_key *kept = conn_map_find(m, key);

	if (kept)
		conn_map_remove(m, kept);
	free(kept);
}

static int compare(const void *a, const void *b)
{
	return memcmp(*(void *const *)a, *(void *const *)b, sizeof(struct conn_key));
}

struct conn_key **conn_map_sorted(const struct conn_map *m)
{
	struct conn_key **sorted = calloc(m->n + 1, sizeof(*sorted));
	__u32 n = 0;

	for (__u32 i = 0; sorted && i < m->size; i++)
		if (m->slots[i].key)
			sorted[n++] = m->slots[i].key;
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), compare);
	return sorted;
}

void conn_map_free(struct conn_map *m)
{
	for (__u32 i = 0; i < m->size; i++)
		free(m->slots[i].key);
	free(m->slots);
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
