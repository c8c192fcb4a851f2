/* SPDX-License-Identifier: GPL-2.0-only */
/* How a canary's guards stand at this moment. */
#ifndef LOADER_RUNNING_LOOK_H
#define LOADER_RUNNING_LOOK_H

#include "experiment/guard.h"
#include "kernel/experiment.h"

struct look {
	int guards;
	struct guard guard[EXPERIMENT_GUARDS];
	struct guard_result result[EXPERIMENT_GUARDS];
	__u64 ended; /* connections of the new arm that began in this step */
};

#define LOOK_TEXT_LEN 128

/*
 * Judges the guards by the connections that began in the current step and have ended. Returns
 * EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int look_take(const struct experiment_handle *h, struct look *look);

/* The first guard that fails, or -1. */
int look_failed(const struct look *look);

/* "retransmitted 2.41% (control 1.02%, allowed 1.22%), 412 and 7,903 connections" */
void look_format(const struct look *look, int guard, char buf[LOOK_TEXT_LEN]);

#endif
