/* SPDX-License-Identifier: GPL-2.0-only */
/* How a canary's guards stand at this moment. */
#ifndef LOADER_RUNNING_GUARD_STATUS_H
#define LOADER_RUNNING_GUARD_STATUS_H

#include "experiment/guard.h"
#include "kernel/experiment.h"

struct guard_status {
	int guards;
	struct guard guard[EXPERIMENT_GUARDS];
	struct guard_result result[EXPERIMENT_GUARDS];
	__u64 ended; /* connections of the new arm that began in this step */
};

#define GUARD_STATUS_TEXT_LEN 128

/*
 * Judges the guards by the connections that began in the current step and have ended. Returns
 * EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int guard_status_read(const struct experiment_handle *h, struct guard_status *status);

/* The first guard that fails, or -1. */
int guard_status_failed(const struct guard_status *status);

/* "retransmitted 2.41% (control 1.02%, allowed 1.22%), 412 and 7,903 connections" */
void guard_status_format(const struct guard_status *status, int guard,
			 char buf[GUARD_STATUS_TEXT_LEN]);

#endif
