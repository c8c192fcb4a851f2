/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One bbrctl at a time changes instances; a second one waits for it.
 */
#ifndef LOADER_LOCK_H
#define LOADER_LOCK_H

/* Takes the lock until the process ends. EXIT_DONE, or EXIT_REFUSED after printing why. */
int lock_instances(void);

#endif
