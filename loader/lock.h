/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One bbrctl at a time changes instances; a second one waits for it.
 */
#ifndef LOADER_LOCK_H
#define LOADER_LOCK_H

#include <stdbool.h>

/* Takes the lock until the process ends, or unlocks. EXIT_DONE, or EXIT_REFUSED after printing why. */
int lock_instances(void);
void unlock_instances(void);

/*
 * Who holds an instance (NULL: all of them) keeps it loaded; any number may, until they end. Both are called with the lock, so
 * that of those who end one after the other exactly one is the last. EXIT_DONE, or EXIT_REFUSED after printing why.
 */
int holder_begin(const char *name);
/* Was it the last? */
bool holder_end(const char *name);

/*
 * Only one process watches an experiment: it holds this until it ends. EXIT_DONE, EXIT_NOTHING after printing that another
 * one does, or EXIT_REFUSED.
 */
int lock_watch(const char *experiment, unsigned int prog_id);

#endif
