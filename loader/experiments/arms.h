/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arms of an experiment and what they use: instances, their profiles, the kernel's congestion
 * controls.
 */
#ifndef LOADER_EXPERIMENTS_ARMS_H
#define LOADER_EXPERIMENTS_ARMS_H

#include "kernel/experiment.h"

/*
 * Do each arm's congestion control and profile exist? Fills in the indexes of profiles, and in
 * `assigned` the file descriptors of the instances' maps in which an experiment writes a
 * connection's profile (-1 for arms without one). Returns EXIT_DONE, for arms_close(), or another
 * status after printing what is missing.
 */
int arms_open(struct experiment *e, int assigned[EXPERIMENT_ARMS]);
void arms_close(int assigned[EXPERIMENT_ARMS]);

/* "new=bpf_bbr:gentle" */
#define ARM_TEXT_LEN (EXPERIMENT_NAME_LEN + BBR_NAME_LEN + BBR_PROFILE_NAME_LEN)
void arm_format(const struct experiment_arm *arm, char *buf, size_t size);

/*
 * The first of these experiments with an arm that has this congestion control and, unless it is
 * NULL, this profile; or NULL.
 */
const struct experiment_handle *experiment_with(const struct experiment_handle *list, int n,
						const char *cc, const char *profile);

/* Returns EXIT_REFUSED, after printing which, if a running experiment has such an arm. */
int arms_refuse_use(const char *cc, const char *profile);

#endif
