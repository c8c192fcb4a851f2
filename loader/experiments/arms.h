/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arms of an experiment and what they are made of: instances, their profiles, congestion controls of the kernel.
 */
#ifndef LOADER_EXPERIMENT_ARMS_H
#define LOADER_EXPERIMENT_ARMS_H

#include "kernel/experiment.h"

/*
 * Is there what each arm is to be? Fills in the indexes of profiles, and *assigned: file descriptors of the map in which an
 * instance is told the profile, -1 for arms without one; for arms_close(). EXIT_DONE, or another after printing what is missing.
 */
int arms_open(struct experiment *e, int assigned[EXPERIMENT_ARMS]);
void arms_close(int assigned[EXPERIMENT_ARMS]);

/* "new=bpf_bbr:gentle" */
#define ARM_TEXT_LEN (EXPERIMENT_NAME_LEN + BBR_NAME_LEN + BBR_PROFILE_NAME_LEN)
void arm_format(const struct experiment_arm *arm, char *buf, size_t size);

/* The first of these experiments with an arm of this congestion control and, unless it is NULL, of this profile; or NULL. */
const struct experiment_handle *experiment_with(const struct experiment_handle *list, int n,
						const char *cc, const char *profile);

/* EXIT_REFUSED, after printing it, if a running experiment has such an arm. */
int arms_refuse_use(const char *cc, const char *profile);

#endif
