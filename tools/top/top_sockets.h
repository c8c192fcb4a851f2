/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections that are quiet: all sockets are read now and then.
 */
#ifndef TOOLS_TOP_SOCKETS_H
#define TOOLS_TOP_SOCKETS_H

#include "conns/conn_table.h"
#include "filter/request.h"
#include "sockets/sockets.h"

struct top_sockets {
	const struct watch_config *config; /* whom to show */
	struct conn_table *table;
	struct sockets sockets;
	bool is_open;
	__u64 next_ns; /* not to be read before */
};

/* Without them top goes on with what has events; that it is so has been said then. */
void top_sockets_open(struct top_sockets *s, const struct watch_config *config,
		      struct conn_table *table);
/* Reads them, unless it was a moment ago. */
void top_sockets_read(struct top_sockets *s);
void top_sockets_close(struct top_sockets *s);

#endif
