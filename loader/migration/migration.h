/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moves live sockets from one congestion control to another.
 */
#ifndef LOADER_MIGRATION_H
#define LOADER_MIGRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/migrate.h"

struct json;

struct migration {
	struct migrate_config config; /* what is wanted */
	const char *netns; /* as --netns; NULL: our own */
	bool all_netns; /* all of them instead */

	/* What happened, each socket once, in the order in which they were found. */
	struct migrate_record *records;
	size_t n;
	void *known; /* tree of them by their cookies: tsearch(3) */
	unsigned int namespaces; /* that were searched */
	int unseen; /* of all_netns: that cannot be found from here; -errno: not known */

	/* Connections that match in other namespaces, and the namespaces that have some. */
	size_t others, others_namespaces;
	bool others_known; /* they were counted */
	bool others_partly; /* not all namespaces could be looked at */

	bool unfinished; /* new ones kept coming, or it was stopped */
	bool stopped; /* by a signal */
};

/* How many sockets; those in `moved` are connections, some of them subflows of MPTCP. */
struct migration_counts {
	size_t moved, subflows, listeners_moved, listeners_left, failed;
};

struct migration_counts migration_count(const struct migration *m);

/*
 * Walks the sockets of the namespaces until it finds no new ones. EXIT_DONE, whatever happened to
 * the sockets. Another call adds what it finds.
 */
int migration_run(struct migration *m);

/*
 * Counts the connections that a migration in our own namespace leaves alone in the others. Errors
 * are silent, because the user did not request these counts.
 */
void migration_count_others(struct migration *m);
void migration_free(struct migration *m);

/* EXIT_DONE: the kernel has a congestion control with this name; EXIT_USAGE: it has none. */
int migration_check_to(const char *option, const char *name);

/* Print what happened as text, or add it to an object. With -v also each socket. */
void migration_print(const struct migration *m);
void migration_add_json(struct json *j, const struct migration *m);

/* EXIT_REFUSED: some were not moved or found, or it did not finish; EXIT_NOTHING: none matched. */
int migration_judge(const struct migration *m);

#endif
