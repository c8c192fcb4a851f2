/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_EXPERIMENTS_MOVE_H
#define LOADER_EXPERIMENTS_MOVE_H

#include "kernel/experiment.h"

/*
 * Moves the experiment's open connections, in all network namespaces, to an arm. Does not touch new
 * ones. *moved: how many. Returns EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int experiment_move(const struct experiment_handle *h, int arm, __u64 *moved);

#endif
