/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Moving live sockets from one congestion control to another.
 */
#ifndef LOADER_MIGRATION_H
#define LOADER_MIGRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/migrate.h"

struct json;

struct migration {
	struct migrate_config config; /* what is wanted */
	const char *netns; /* as --netns, or NULL: all namespaces */

	/* What happened, each socket once, in the order in which they were found. */
	struct migrate_record *records;
	size_t n;
	__u32 *index; /* of records by cookie, open addressing; the number is a power of two */
	size_t index_size;
	unsigned int namespaces; /* that were visited */
	bool unfinished; /* new ones kept coming, or stopped */
	bool stopped; /* by a signal */
};

/* How many records of a kind; listeners or connections. */
size_t migration_count(const struct migration *m, enum migrate_what what, bool listeners);

/*
 * Goes over the sockets of the namespaces until it finds no new ones. EXIT_DONE, whatever happened to
 * the sockets, or EXIT_REFUSED after printing what the system refused. Can be called again: what it finds
 * is added.
 */
int migration_run(struct migration *m);
void migration_free(struct migration *m);

/* EXIT_USAGE after printing it if the kernel does not know a congestion control of this name. */
int migration_check_to(const char *option, const char *name);

/* Prints what happened, as text; or as members of an object. With -v each socket. */
void migration_print(const struct migration *m);
void migration_add_json(struct json *j, const struct migration *m);

/* What it all means: EXIT_DONE, or after printing why EXIT_REFUSED (some could not be moved) or EXIT_NOTHING. */
int migration_judge(const struct migration *m);

#endif
