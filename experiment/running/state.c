// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/text.h"
#include "experiment/analysis/row.h"
#include "kernel/clock.h"
#include "running.h"

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

struct experiment_decision decision_make(const char *fmt, ...)
{
	struct experiment_decision d = { .time = realtime_ns() };
	va_list args;

	va_start(args, fmt);
	vsnprintf(d.text, sizeof(d.text), fmt, args);
	va_end(args);
	return d;
}

void decision_print(const char *experiment, struct experiment_decision d, bool json)
{
	struct json j;

	if (json) {
		json_begin(&j, stdout);
		json_add_string(&j, "name", experiment);
		json_add_int(&j, "time_ns", d.time);
		json_add_string(&j, "decision", d.text);
		json_end(&j);
	} else {
		printf("%s: %s\n", experiment, d.text);
	}
	fflush(stdout); /* a unit may run for hours */
}

void decision_take(const struct experiment_handle *h, bool json, struct experiment_decision d)
{
	/*
	 * Several tools may write at once: each has its own place. Once the time is set, the text
	 * is complete.
	 */
	__u64 number = __atomic_fetch_add(&h->control->decisions, 1, __ATOMIC_SEQ_CST);
	struct experiment_decision *place = &h->log[number % EXPERIMENT_LOG];

	__atomic_store_n(&place->time, 0, __ATOMIC_SEQ_CST);
	memcpy(place->text, d.text, sizeof(place->text));
	__atomic_store_n(&place->time, d.time, __ATOMIC_SEQ_CST);
	decision_print(h->config.name, d, json);
}

bool decision_next(const struct experiment_handle *h, __u64 *number, struct experiment_decision *d)
{
	__u64 end = h->control->decisions;

	if (end > EXPERIMENT_LOG && *number < end - EXPERIMENT_LOG)
		*number = end - EXPERIMENT_LOG;
	while (*number < end) {
		*d = h->log[(*number)++ % EXPERIMENT_LOG];
		text_tame(d->text, sizeof(d->text), "");
		if (d->time)
			return true;
	}
	return false;
}

static void collect(const struct experiment_handle *h, struct rows *rows)
{
	const struct experiment *e = &h->config;
	__u64 n = h->control->outcomes, number = n > e->outcomes ? n - e->outcomes : 0;
	struct experiment_outcome o;
	struct row row;

	while (++number <= n) {
		if (outcome_read(h->outcomes, e->outcomes, number, &o) != OUTCOME_READ ||
		    o.end == EXPERIMENT_OPEN || o.arm >= e->arms ||
		    o.begin < h->control->step_since)
			continue;
		row_from_outcome(&row, e, &o);
		rows_add(rows, &row);
	}
}

int guard_status_read(const struct experiment_handle *h, struct guard_status *status)
{
	struct rows rows AUTO(rows_free) = {};

	collect(h, &rows);
	return guard_status_judge(status, &h->config, &rows) ? EXIT_DONE : EXIT_REFUSED;
}

int guard_status_failed(const struct guard_status *status)
{
	for (int i = 0; i < status->guards; i++)
		if (status->result[i].verdict == GUARD_FAILED)
			return i;
	return -1;
}
