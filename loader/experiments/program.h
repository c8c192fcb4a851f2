/* SPDX-License-Identifier: GPL-2.0-only */
/* An experiment's program in the kernel (bpf/experiment.bpf.c). */
#ifndef LOADER_EXPERIMENTS_PROGRAM_H
#define LOADER_EXPERIMENTS_PROGRAM_H

#include "experiments/request.h"
#include "kernel/experiment.h"

/*
 * Loads it with the request's values and `first` as the log's first line, then attaches it to the
 * cgroup. That begins the experiment: nothing from before would outlive this process. Returns
 * EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int experiment_program_start(struct experiment_request *r, const int assigned[EXPERIMENT_ARMS],
			     const struct experiment_decision *first, int cgroup_fd,
			     const char *cgroup);

/* Detaches it, which ends the experiment. Returns as experiment_program_start(). */
int experiment_program_stop(const struct experiment_handle *h);

#endif
