/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One bbrctl at a time changes instances; a second one waits for it.
 */
#ifndef LOADER_LOCK_H
#define LOADER_LOCK_H

#include <stdbool.h>

/* Takes the lock until unlock_instances() or the end of the process. */
int lock_instances(void);
void unlock_instances(void);

/*
 * A process that holds an instance (NULL: all of them) keeps it loaded until the process ends. Any
 * number of processes may hold it. Call both functions with the lock, so that exactly one of
 * several holders that end is the last.
 */
int holder_begin(const char *name);
/* True if this process was the last holder. */
bool holder_end(const char *name);

/*
 * Takes an experiment's watch lock until the process ends, so that only one process watches it.
 * EXIT_NOTHING: another process does.
 */
int lock_watch(const char *experiment, unsigned int prog_id);

#endif
