/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections without events: all sockets are read now and then.
 */
#ifndef TOOLS_QUIET_SOCKETS_H
#define TOOLS_QUIET_SOCKETS_H

#include "conns/conn_table.h"
#include "filter/request.h"
#include "sockets.h"

struct quiet_sockets {
	const struct watch_config *config; /* which connections to show */
	struct conn_table *table;
	struct sockets sockets;
	bool is_open;
	__u64 next_ns; /* no reading before this */
};

/* If this fails it has printed why, and the caller goes on with connections that have events. */
void quiet_sockets_open(struct quiet_sockets *s, const struct watch_config *config,
			struct conn_table *table);
/* Reads them, unless the last reading was a moment ago. */
void quiet_sockets_read(struct quiet_sockets *s);
void quiet_sockets_close(struct quiet_sockets *s);

#endif
