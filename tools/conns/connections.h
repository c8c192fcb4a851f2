/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the connections that events belong to. Remembers only those that are still open. After a
 * time without a monitor the program gives a connection a new id, and it is counted again.
 */
#ifndef TOOLS_CONNECTIONS_H
#define TOOLS_CONNECTIONS_H

#include "event/conn_map.h"

/* Open ones that are remembered, of a hundred bytes each. */
#define CONNECTIONS_MAX (1u << 17)

struct connections {
	struct conn_map live;
	__u32 n_live;
	__u64 seen;
	__u64 uncounted; /* events of connections that there was no place to remember */
};

/* A connection's id is unique within its subscription, whose tag is in the event. */
void connections_note(struct connections *c, const struct bbr_event *e);
void connections_free(struct connections *c);

#endif
