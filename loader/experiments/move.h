/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_EXPERIMENT_MOVE_H
#define LOADER_EXPERIMENT_MOVE_H

#include "kernel/experiment.h"

/*
 * Gives the experiment's open connections, of all network namespaces, an arm; new ones are not touched. *moved: how many.
 * EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int experiment_move(const struct experiment_handle *h, int arm, __u64 *moved);

#endif
