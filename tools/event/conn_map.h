/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connection an event belongs to, and what is kept for each connection.
 */
#ifndef TOOLS_CONN_MAP_H
#define TOOLS_CONN_MAP_H

#include <stdbool.h>

#include "event.h"

/* Members that are not part of a key are 0. */
struct conn_key {
	__u64 conn; /* event.conn */
	__u32 origin; /* origin.id */
	__u32 netns;
	__u32 laddr[4], raddr[4];
	__u16 lport, rport;
	char name[BBR_NAME_LEN]; /* origin.name */
	__u32 pad;
};

/* By event.conn, which is unique within an origin; 0: the program had no memory for an id. */
struct conn_key conn_key_of_id(__u32 origin, __u64 conn);
/* By addresses, ports and network namespace: only one open connection has these. */
struct conn_key conn_key_of_tuple(const struct bbr_event *e);
/* By the event's conn within the origin, or by its tuple there if it has no conn. */
struct conn_key conn_key_of(const struct origin *origin, const struct bbr_event *e);

/*
 * A hash table of keys. Each key is a member of what is kept for a connection. It must not change
 * while it is in a map, and the caller frees it. An empty map has no memory.
 */
struct conn_map {
	struct conn_slot {
		struct conn_key *key; /* NULL: empty */
		__u32 hash;
	} *slots;
	__u32 size; /* slots: a power of two, or 0 */
	__u32 n; /* keys */
};

/* The key in the map that equals this one; NULL: there is none. */
struct conn_key *conn_map_find(const struct conn_map *m, const struct conn_key *key);
/* The map must not have an equal one. False: no memory. */
bool conn_map_add(struct conn_map *m, struct conn_key *key);
/* The same for `size` bytes that begin with the key, and then are zeros. NULL: no memory. */
void *conn_map_new(struct conn_map *m, const struct conn_key *key, size_t size);
/* Takes out this very key; does nothing if it is not in the map, even if an equal one is. */
void conn_map_remove(struct conn_map *m, const struct conn_key *key);
/* Takes out the key that equals this one, if there is one, and frees what begins with it. */
void conn_map_drop(struct conn_map *m, const struct conn_key *key);
/* All keys in the order of their bytes, and then NULL; the caller frees the list. NULL: no memory. */
struct conn_key **conn_map_sorted(const struct conn_map *m);
/* Empties the map, and frees what begins with each key. */
void conn_map_free(struct conn_map *m);

/*
 * Counts the connections that events belong to. Remembers only those that are still open. After a
 * time without a monitor the program gives a connection a new id, and it is counted again.
 */
/* Open ones that are remembered, of a hundred bytes each. */
#define CONNECTIONS_MAX (1u << 17)

struct connections {
	struct conn_map live;
	__u64 seen;
	__u64 uncounted; /* events of connections that there was no place to remember */
};

/* A connection's id is unique within its subscription, whose tag is in the event. */
void connections_note(struct connections *c, const struct bbr_event *e);

#endif
