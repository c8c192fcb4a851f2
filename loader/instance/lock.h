/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One bbrctl at a time changes instances; a second one waits for it.
 */
#ifndef LOADER_LOCK_H
#define LOADER_LOCK_H

/* Takes the lock until the process ends. EXIT_DONE, or EXIT_REFUSED after printing why. */
int lock_instances(void);

/*
 * Only one process watches an experiment: it holds this until it ends. EXIT_DONE, EXIT_NOTHING after printing that another
 * one does, or EXIT_REFUSED.
 */
int lock_watch(const char *experiment, unsigned int prog_id);

#endif
