/* SPDX-License-Identifier: GPL-2.0-only */
/* Where an experiment stands at this moment. */
#ifndef LOADER_EXPERIMENT_STATE_H
#define LOADER_EXPERIMENT_STATE_H

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

/* "running", "paused", "unwatched", "taken back", "complete" */
const char *experiment_state_text(enum experiment_state state);

/* The canary's step as an index that is valid whatever the map holds, and how many steps there are. */
__u32 experiment_step(const struct experiment_handle *h);
__u32 experiment_steps(const struct experiment *e);

/* Of a switchback: the block of this moment, its arm, ns until it ends, and whether its washout is over. */
struct experiment_block {
	__u32 number;
	__u32 arm;
	__u64 left;
	bool washout;
};
struct experiment_block experiment_block_now(const struct experiment *e, __u64 now);

#endif
