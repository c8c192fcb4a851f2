/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connection an event belongs to, and what is kept for each connection.
 */
#ifndef TOOLS_CONN_MAP_H
#define TOOLS_CONN_MAP_H

#include <stdbool.h>

#include "origin.h"

/* What is not part of a key is 0 in it. */
struct conn_key {
	__u64 conn; /* event.conn */
	__u32 origin; /* origin.id */
	__u32 netns;
	__u32 laddr[4], raddr[4];
	__u16 lport, rport;
	char name[BBR_NAME_LEN]; /* origin.name */
	__u32 pad;
};

/* By event.conn, which is unique within an origin. The program had no memory to give one if it is 0. */
struct conn_key conn_key_of_id(__u32 origin, __u64 conn);
/* By addresses, ports and network namespace: only one of the connections that are open has these. */
struct conn_key conn_key_of_tuple(const struct bbr_event *e);
/* By its id within the origin, or by its tuple there if it has none. */
struct conn_key conn_key_of(const struct origin *origin, const struct bbr_event *e);

/*
 * A search tree of keys. Each key is a member of what is kept for a connection, must not change while it is in a map, and
 * is the caller's to free.
 */
struct conn_map {
	void *root;
};

/* The key in the map that equals this one; NULL: there is none. */
struct conn_key *conn_map_find(const struct conn_map *m, const struct conn_key *key);
/* The map must not have an equal one. False: no memory. */
bool conn_map_add(struct conn_map *m, struct conn_key *key);
/* Takes out this very key; does nothing if it is not in the map, even if an equal one is. */
void conn_map_remove(struct conn_map *m, const struct conn_key *key);
/* Empties the map, and hands each key to `free_key`, if it is not NULL. */
void conn_map_free(struct conn_map *m, void (*free_key)(void *key));

#endif
