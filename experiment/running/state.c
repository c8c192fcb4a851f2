// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/text.h"
#include "experiment/analysis/row.h"
#include "kernel/clock.h"
#include "kernel/kernel_types.h"
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

const char *const experiment_states[] = {
	[STATE_RUNNING] = "running",	 [STATE_PAUSED] = "paused",
	[STATE_UNWATCHED] = "unwatched", [STATE_TAKEN_BACK] = "taken back",
	[STATE_COMPLETE] = "complete",
};

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
		if (!outcome_read(&h->outcomes[(number - 1) % e->outcomes], &o) ||
		    o.number != number || o.end == EXPERIMENT_OPEN || o.arm >= e->arms ||
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

/* ---- watching a canary */

#define WATCHING -1 /* no exit status yet */

struct canary {
	const struct experiment_handle *h;
	int arm; /* the new one */
	bool json;
};

static void say_step(const struct canary *c, const char *more)
{
	const struct experiment *e = &c->h->config;
	__u32 step = experiment_step(c->h);

	decision_take(c->h, c->json,
		      decision_make("step %u of %u: %g %% of new connections get %s%s", step + 1,
				    experiment_steps(e), experiment_percent(e->step[step]),
				    e->arm[c->arm].label, more));
}

static int take_back(const struct canary *c, const struct guard_status *status)
{
	int failed = guard_status_failed(status);

	c->h->control->share[c->arm] = 0;
	c->h->control->lease = 0; /* there is nothing left to watch */
	decision_take(c->h, c->json,
		      decision_make("taken back at step %u, a guard failed: %s",
				    experiment_step(c->h) + 1,
				    guard_text(&status->guard[failed], &status->result[failed])));
	return EXIT_TAKEN_BACK;
}

static int end_step(const struct canary *c, const struct guard_status *status)
{
	const struct experiment *e = &c->h->config;
	struct experiment_control *control = c->h->control;
	__u64 seconds = (now_ns() - control->step_since) / NS_PER_S;
	__u32 next = experiment_step(c->h) + 1;
	char after[64];

	if (next == experiment_steps(e)) {
		control->lease = 0;
		decision_take(c->h, c->json,
			      decision_make("complete: all new connections get %s, and the guards "
					    "held",
					    e->arm[c->arm].label));
		return EXIT_DONE;
	}
	snprintf(after, sizeof(after), ", after %llu s and %llu connections", seconds,
		 status->ended);
	control->step = next;
	control->step_since = now_ns();
	control->share[c->arm] = e->step[next];
	say_step(c, after);
	return WATCHING;
}

/*
 * Begins or continues the watch. Returns the time without a watcher since the lease ended. That, as
 * a pause, is no part of the step.
 */
static __u64 renew_lease(const struct canary *c)
{
	struct experiment_control *control = c->h->control;
	__u64 now = now_ns(), unwatched = 0;

	if (!control->step_since)
		control->step_since = now;
	else if (control->lease < now)
		unwatched = now - control->lease;
	control->step_since += unwatched;
	control->lease = now + CANARY_LEASE;
	return unwatched;
}

static void sleep_until(__u64 *then, __u64 every)
{
	__u64 now = now_ns();
	struct timespec t;

	*then = *then + every > now ? *then + every : now;
	t.tv_sec = (*then - now) / NS_PER_S;
	t.tv_nsec = (*then - now) % NS_PER_S;
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* Checks the guards once. Returns an exit status, or WATCHING. */
static int watch_once(const struct canary *c, __u64 every)
{
	const struct experiment *e = &c->h->config;
	struct guard_status status;
	__u64 unwatched;

	if (!experiment_is_running(c->h))
		return err_nothing("%s: was stopped", e->name);
	unwatched = renew_lease(c);
	if (unwatched) /* a machine that was suspended, or a watcher that was stopped */
		decision_take(
			c->h, c->json,
			decision_make("not watched for %llu s after the lease: the machine or "
				      "bbrctl stood still; meanwhile new connections got %s",
				      (unwatched / NS_PER_S), e->arm[0].label));
	if (c->h->control->paused) {
		c->h->control->step_since += every;
		return WATCHING;
	}
	if (guard_status_read(c->h, &status))
		return EXIT_REFUSED;
	if (guard_status_failed(&status) >= 0)
		return take_back(c, &status);
	if (now_ns() - c->h->control->step_since < e->step_seconds * NS_PER_S ||
	    status.ended < e->step_connections)
		return WATCHING;
	return end_step(c, &status);
}

/* Returns EXIT_DONE if there is something to watch, otherwise another status after printing why. */
static int check_state(const struct experiment_handle *h)
{
	enum experiment_state state = canary_state(h); /* pausing does not undo the end */

	if (h->config.design != EXPERIMENT_CANARY)
		return err_nothing("%s: is not a canary: its design is %s\n"
				   "bbrmon experiment %s shows its results",
				   h->config.name, experiment_designs[h->config.design],
				   h->config.name);
	if (state != STATE_TAKEN_BACK && state != STATE_COMPLETE)
		return EXIT_DONE;
	return err_nothing("%s: is %s already\n"
			   "bbrctl experiment status %s shows when and why",
			   h->config.name, experiment_states[state], h->config.name);
}

int canary_watch(const struct experiment_handle *h, __u64 every, bool json)
{
	const struct canary c = { .h = h, .arm = h->config.arms - 1, .json = json };
	bool again = h->control->step_since;
	__u64 then = now_ns();
	int ret = check_state(h);

	if (ret)
		return ret;
	renew_lease(&c);
	/* A watcher that was killed may have set the step, but not yet the share. */
	h->control->share[c.arm] = h->config.step[experiment_step(h)];
	say_step(&c, again ? "; watched again" : "");
	kernel_types_forget(); /* this takes days */
	do {
		sleep_until(&then, every);
		ret = watch_once(&c, every);
	} while (ret == WATCHING);
	return ret;
}
