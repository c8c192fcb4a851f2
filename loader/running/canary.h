/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches a canary: gives the new arm a larger share, step by step, while all guards hold, and
 * takes it back when one fails. The experiment itself has all that is needed to go on after the
 * watcher was killed.
 */
#ifndef LOADER_RUNNING_CANARY_H
#define LOADER_RUNNING_CANARY_H

#include <stdbool.h>

#include "kernel/experiment.h"

#define EXIT_TAKEN_BACK 4 /* of bbrctl, besides those of cli/err.h */

#define CANARY_LEASE (30ull * 1000000000) /* ns; without it all new connections get arm 0 */
/* ns from one check of the guards to the next, unless --every says otherwise */
#define CANARY_EVERY (10ull * 1000000000)

/*
 * Watches until all steps are done (EXIT_DONE), a guard fails (EXIT_TAKEN_BACK) or the experiment
 * has ended (EXIT_NOTHING). Returns EXIT_REFUSED after printing what failed.
 */
int canary_watch(const struct experiment_handle *h, __u64 every, bool json);

#endif
