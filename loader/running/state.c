// SPDX-License-Identifier: GPL-2.0-only
#include "running/state.h"
#include "kernel/clock.h"

__u32 experiment_steps(const struct experiment *e)
{
	__u32 n = 0;

	while (n < EXPERIMENT_STEPS && e->step[n])
		n++;
	return n;
}

__u32 experiment_step(const struct experiment_handle *h)
{
	__u32 n = experiment_steps(&h->config), step = h->control->step;

	return step < n ? step : n ? n - 1 : 0;
}

enum experiment_state canary_state(const struct experiment_handle *h)
{
	const struct experiment_control *c = h->control;

	if (!c->share[h->config.arms - 1])
		return STATE_TAKEN_BACK;
	if (!c->lease)
		return STATE_COMPLETE;
	return c->lease < now_ns() ? STATE_UNWATCHED : STATE_RUNNING;
}

enum experiment_state experiment_state(const struct experiment_handle *h)
{
	if (h->control->paused)
		return STATE_PAUSED;
	return h->config.design == EXPERIMENT_CANARY ? canary_state(h) : STATE_RUNNING;
}

const char *experiment_state_text(enum experiment_state state)
{
	static const char *const texts[] = {
		[STATE_RUNNING] = "running",	 [STATE_PAUSED] = "paused",
		[STATE_UNWATCHED] = "unwatched", [STATE_TAKEN_BACK] = "taken back",
		[STATE_COMPLETE] = "complete",
	};

	return texts[state];
}

struct experiment_block experiment_block_now(const struct experiment *e, __u64 now)
{
	__u64 since = now > e->started ? now - e->started : 0;
	struct experiment_block b = { .number = since / e->block };

	b.arm = experiment_block_arm(e->seed, e->arms, b.number);
	b.left = e->block - since % e->block;
	b.washout = since % e->block < e->washout;
	return b;
}
