/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connections of a recording, of each of its runs.
 */
#ifndef TOOLS_WHY_RECORDED_H
#define TOOLS_WHY_RECORDED_H

#include "connection.h"
#include "filter/filter.h"

#define WHY_CONNECTIONS_MAX (1u << 17) /* a kilobyte each */

struct recorded_why {
	const char *file;
	struct filter *filter;
	__u64 from_ns, until_ns; /* since the first event; 0: to the end */
	struct why_connections *connections;

	__u64 run; /* of the connections in the map */
	__u64 start_ns; /* the first event of this run */
	bool has_run;
	__u64 left_out; /* events of more connections than that */
};

/* Returns an exit status; has printed what failed unless it is EXIT_DONE. */
int recorded_why_read(struct recorded_why *r);

#endif
