/* SPDX-License-Identifier: GPL-2.0-only */
/* The current state of an experiment. */
#ifndef LOADER_RUNNING_STATE_H
#define LOADER_RUNNING_STATE_H

#include "kernel/experiment.h"

enum experiment_state {
	STATE_RUNNING,
	STATE_PAUSED,
	/* Of a canary: */
	STATE_UNWATCHED, /* all new connections get arm 0 */
	STATE_TAKEN_BACK, /* the same, for good: a guard failed */
	STATE_COMPLETE, /* all steps are done: all new connections get the last arm */
};

enum experiment_state experiment_state(const struct experiment_handle *h);

/* The state of a canary, whether it is paused or not. */
enum experiment_state canary_state(const struct experiment_handle *h);

/* "running", "paused", "unwatched", "taken back", "complete" */
const char *experiment_state_text(enum experiment_state state);

/*
 * The canary's step, an index that is valid whatever the map holds; and how many steps there are.
 */
__u32 experiment_step(const struct experiment_handle *h);
__u32 experiment_steps(const struct experiment *e);

/*
 * For a switchback: the current block, its arm, the ns until it ends, and whether it is in its
 * washout.
 */
struct experiment_block {
	__u32 number;
	__u32 arm;
	__u64 left;
	bool washout;
};
struct experiment_block experiment_block_now(const struct experiment *e, __u64 now);

#endif
