/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connections of this machine, read again and again over a window of time.
 */
#ifndef TOOLS_WHY_LIVE_H
#define TOOLS_WHY_LIVE_H

#include "cli/options.h"
#include "connection.h"
#include "filter/filter.h"
#include "sockets/sockets.h"

struct live {
	const char *netns; /* NULL: all */
	struct filter *filter;
	const struct value_list *names; /* that were asked for; none: all */
	__u64 for_ns;
	struct why_connections *connections;

	struct kernel_counts counts;
	struct sockets sockets;
	struct cpus cpus;
	struct profile_bounds bounds;
	__u32 hz;
	unsigned int round; /* of the present reading, from 1 */
	bool has_unseen; /* some of these are in namespaces that cannot be found from here */
};

/*
 * Reads until the window is over or the user interrupts. Returns an exit status; has printed what
 * failed unless it is EXIT_DONE.
 */
int live_read(struct live *l);
void live_free(struct live *l);

#endif
