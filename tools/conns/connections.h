/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the connections that events tell of. Remembers only those that still live. After a time in
 * which no monitor watched, the program gives a connection a new id, and it counts again.
 */
#ifndef TOOLS_CONNECTIONS_H
#define TOOLS_CONNECTIONS_H

#include "event/conn_map.h"

struct connections {
	struct conn_map live;
	__u64 seen;
};

/* The id of a connection is unique within its subscription, whose tag the event has. */
void connections_note(struct connections *c, const struct bbr_event *e);
void connections_free(struct connections *c);

#endif
