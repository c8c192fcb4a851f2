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

struct snapshot_bpf;
struct sockets_owner;

struct sockets {
	struct snapshot_bpf *skel;
	bool knows_module; /* was the module of the kernel's bbr there when the program was loaded? */
	char *buffer;

	/* As of the last reading. */
	struct sockets_owner *owners; /* instances */
	int n_owners;
};

/*
 * A connection; false: no more, please. Valid until it returns: snap; until the next reading: origin, whose id
 * is that of the struct_ops map, and 0 of the kernel's own bbr.
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
