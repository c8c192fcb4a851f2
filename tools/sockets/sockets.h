/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of every connection that uses BBR, read from the kernel at once: ours, of each instance of our
 * ABI, also one that was unloaded or upgraded and lives on in its connections; and the kernel's own bbr.
 */
#ifndef TOOLS_SOCKETS_H
#define TOOLS_SOCKETS_H

#include <stdbool.h>

#include "bpf_bbr/snapshot.h"
#include "event/origin.h"

struct snapshot_program;
struct sockets_instance;

struct sockets {
	struct snapshot_program *programs; /* of each algorithm; loaded when it has an instance */
	struct origin kernel_bbr;
	bool knows_module; /* was the module of the kernel's bbr there when its program was loaded? */
	char *buffer;
	__u32 warned_id; /* highest map id of an instance that we said is left out */

	/* As of the last reading. */
	struct sockets_instance *instances;
	int n_instances;
};

/*
 * A connection; false: no more, please. Valid until it returns: snap, whose event is whole; until the next reading:
 * origin, whose id is that of the struct_ops map, and 0 of the kernel's own bbr. Those of one algorithm and network
 * namespace come one after another.
 */
typedef bool (*sockets_handler)(void *ctx, const struct origin *origin,
				const struct bbr_snapshot *snap);

/* Exit status; has printed what failed unless it is EXIT_DONE. */
int sockets_open(struct sockets *s);

/*
 * Reads the connections of a network namespace (lib/netns.h), or of each for NULL. Can be called again and
 * again. Exit status; what could be read has been handed on whatever it is.
 */
int sockets_read(struct sockets *s, const char *netns, sockets_handler handle, void *ctx);

void sockets_close(struct sockets *s);

#endif
