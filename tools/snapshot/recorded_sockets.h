/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connections of a recording as they were at its end, or at a time of it.
 */
#ifndef TOOLS_RECORDED_SOCKETS_H
#define TOOLS_RECORDED_SOCKETS_H

#include "event/conn_map.h"
#include "recording/clocks.h"
#include "snapshot.h"
#include "stream/event_source.h"

/* Each takes half a kilobyte, and a few bytes of a recording are enough for one. */
#define RECORDED_CONNS_MAX (1u << 17)
#define RECORDED_ORIGINS_MAX 256 /* of a run */

struct known_origin;

struct recorded {
	struct event_source source;
	struct conn_map live; /* of struct connection */
	struct known_origin *origins;
	unsigned int n_live, n_origins;
	__u64 left_out; /* events of connections for which there was no place */
	__u64 run; /* of the connections in it */
	struct run_clocks clocks;
	__u64 after_ns; /* the end, since the first event */
	__u64 until_ns; /* the same, since 1970 */
	bool is_past, no_memory;
};

/*
 * Reads a recording until at_ns after its start; ~0 is its end. A connection is as in its last
 * event. It is left out if that is its end, or if a later run of the recorder, which did not see it
 * end, has begun. Returns an exit status; has printed what failed unless it is EXIT_DONE.
 */
int recorded_open(struct recorded *r, const char *file, __u64 at_ns);

/*
 * Returns false to get no more. The state is valid until it returns, the origin until
 * recorded_close().
 */
typedef bool (*recorded_handler)(void *ctx, const struct snapshot *c);

void recorded_for_each(const struct recorded *r, recorded_handler handle, void *ctx);
void recorded_close(struct recorded *r);

#endif
