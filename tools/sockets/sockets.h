/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of every connection that uses BBR, read from the kernel at once: those of each instance
 * of our ABI, even one that was unloaded or upgraded and lives on in its connections, and those of
 * the kernel's own bbr.
 */
#ifndef TOOLS_SOCKETS_H
#define TOOLS_SOCKETS_H

#include <stdbool.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/snapshot.h"
#include "cli/options.h"
#include "descriptor.h"
#include "event/event.h"

/*
 * The BPF program that reads the sockets of one algorithm (bpf/snapshot.bpf.c). Each algorithm that
 * was compiled in has one, with the same maps and another layout of what it reads.
 */
struct snapshot_program {
	void *skel; /* NULL: not loaded */
	int find_ops_fd, snapshot_fd; /* links of its iterators: over maps, over sockets */
	int snapshot_prog_fd; /* the program of the latter */
	int instances_fd, instance_ops_fd, next_fd; /* maps */
	const struct bbr_ops_layout *layout; /* known when find_ops has run */
};

struct snapshot_program_type {
	/* Returns 0 or -errno. The kernel's reasons to refuse it go to log, unless that is NULL. */
	int (*load)(struct snapshot_program *p, char *log, size_t size);
	void (*unload)(struct snapshot_program *p);
};

extern const struct snapshot_program_type snapshot_programs[]; /* n_algorithms, in their order */

struct sockets_instance {
	struct origin origin;
	__u32 users; /* as the kernel counts them */
	/*
	 * Of these, after a reading of all network namespaces: those that it did not see. They are in
	 * namespaces that cannot be found from here, or have no connection.
	 */
	__u32 unseen;
	int map_fd; /* held while connections are read, so that its addresses are not reused */
	bool alive;
};

struct sockets {
	struct snapshot_program *programs; /* of each algorithm; loaded when it has an instance */
	struct origin kernel_bbr;
	bool knows_module; /* was the kernel's bbr module there when the program was loaded? */
	char *buffer;
	__u32 warned_id; /* highest map id of an instance that we reported as left out */

	/* As of the last reading. */
	struct sockets_instance *instances;
	int n_instances;
	bool has_unseen_netns; /* there are network namespaces that cannot be found from here */
};

/*
 * Takes a connection; returns false to get no more. snap, whose event is whole, is valid until it
 * returns, origin until the next reading. The origin's id is that of the struct_ops map, or 0 for
 * the kernel's own bbr. Connections of one network namespace come one after the other.
 */
typedef bool (*sockets_handler)(void *ctx, const struct origin *origin,
				const struct bbr_snapshot *snap);

/* Returns an exit status; has printed what failed unless it is EXIT_DONE. */
int sockets_open(struct sockets *s);

/*
 * Reads the connections of a network namespace (lib/kernel/netns.h), or of each one if netns is
 * NULL. May be called again and again. Returns an exit status; it hands on what could be read in
 * any case.
 */
int sockets_read(struct sockets *s, const char *netns, sockets_handler handle, void *ctx);

/* The unseen users of all instances. */
__u32 sockets_unseen(const struct sockets *s);

/*
 * For those who are asked for names. is_seen: for each of them, does a connection have it? The first
 * notes that of one connection; the second returns EXIT_DONE if the names without any are those of
 * something that is loaded, otherwise another status after printing why not.
 */
void sockets_note_name(const struct origin *origin, const struct value_list *names, bool *is_seen);
int sockets_check_names(const struct value_list *names, const bool *is_seen);

void sockets_close(struct sockets *s);

#endif
