// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "cli/err.h"
#include "experiments/canary.h"
#include "experiments/decision.h"
#include "experiment/guard.h"
#include "experiment/outcome.h"
#include "experiment/row.h"
#include "experiments/shares.h"
#include "experiments/state.h"
#include "kernel/clock.h"

#define WATCHING -1 /* no exit status yet */

struct canary {
	const struct experiment_handle *h;
	struct guard guard[EXPERIMENT_GUARDS];
	int guards;
	int arm; /* the new one */
	bool json;
	bool failed; /* a guard did; which one, and by how much: */
	char why[128];
	__u64 ended; /* connections of the new arm that began in this step */
};

static int read_guards(struct canary *c)
{
	const struct experiment *e = &c->h->config;

	for (; c->guards < EXPERIMENT_GUARDS && e->guard[c->guards][0]; c->guards++)
		if (!guard_parse("--guard", e->guard[c->guards], &c->guard[c->guards]))
			return EXIT_REFUSED;
	return EXIT_DONE;
}

/* Connections that began in this step and have ended. false: no memory. */
static bool collect(struct canary *c, struct rows *rows)
{
	const struct experiment *e = &c->h->config;
	__u64 n = c->h->control->outcomes, number = n > e->outcomes ? n - e->outcomes : 0;
	struct experiment_outcome o;
	struct row row;

	c->ended = 0;
	while (++number <= n) {
		if (outcome_read(c->h->outcomes, e->outcomes, number, &o) != OUTCOME_READ ||
		    o.end == EXPERIMENT_OPEN || o.arm >= e->arms ||
		    o.begin < c->h->control->step_since)
			continue;
		c->ended += o.arm == c->arm;
		row_from_outcome(&row, e, &o);
		if (!rows_add(rows, &row))
			return false;
	}
	return true;
}

/* false: no memory */
static bool judge(struct canary *c, struct rows *rows)
{
	const struct experiment *e = &c->h->config;
	struct guard_result result;
	struct rows_units units;

	if (!rows_find_units(rows, e, &units))
		return false;
	for (int i = 0; i < c->guards && !c->failed; i++) {
		if (!guard_judge(&result, &c->guard[i], rows, &units, e, c->arm, guard_level(e)))
			return false;
		c->failed = result.verdict == GUARD_FAILED;
		if (c->failed)
			guard_text(c->why, sizeof(c->why), &c->guard[i], &result);
	}
	return true;
}

static int look(struct canary *c)
{
	struct rows rows = {};
	bool done = collect(c, &rows) && judge(c, &rows);

	rows_free(&rows);
	if (done)
		return EXIT_DONE;
	err("%s: out of memory", c->h->config.name);
	return EXIT_REFUSED;
}

static void say_step(const struct canary *c, const char *more)
{
	const struct experiment *e = &c->h->config;
	struct experiment_decision d;
	char share[SHARE_TEXT_LEN];
	__u32 step = experiment_step(c->h);

	share_format(e->step[step], share, sizeof(share));
	d = decision_make("step %u of %u: %s of new connections get %s%s", step + 1,
			  experiment_steps(e), share, e->arm[c->arm].label, more);
	decision_take(c->h, &d, c->json);
}

static int take_back(const struct canary *c)
{
	struct experiment_control *control = c->h->control;
	struct experiment_decision d = decision_make("taken back at step %u, a guard failed: %s",
						     experiment_step(c->h) + 1, c->why);

	control->share[c->arm] = 0;
	control->lease = 0; /* there is nothing left to watch */
	decision_take(c->h, &d, c->json);
	return EXIT_TAKEN_BACK;
}

static bool step_is_over(const struct canary *c)
{
	const struct experiment *e = &c->h->config;

	return now_ns() - c->h->control->step_since >= e->step_seconds * NS_PER_S &&
	       c->ended >= e->step_connections;
}

static int end_step(const struct canary *c)
{
	const struct experiment *e = &c->h->config;
	struct experiment_control *control = c->h->control;
	__u64 seconds = (now_ns() - control->step_since) / NS_PER_S;
	__u32 next = experiment_step(c->h) + 1;
	struct experiment_decision d;
	char after[64];

	if (next == experiment_steps(e)) {
		control->lease = 0;
		d = decision_make("complete: all new connections get %s, and the guards held",
				  e->arm[c->arm].label);
		decision_take(c->h, &d, c->json);
		return EXIT_DONE;
	}
	snprintf(after, sizeof(after), ", after %llu s and %llu connections",
		 (unsigned long long)seconds, (unsigned long long)c->ended);
	control->step = next;
	control->step_since = now_ns();
	control->share[c->arm] = e->step[next];
	say_step(c, after);
	return WATCHING;
}

/* Begins, or goes on: the time without a watcher, or paused, is no part of the step. */
static void renew_lease(const struct canary *c, bool begins)
{
	struct experiment_control *control = c->h->control;
	__u64 now = now_ns();

	if (!control->step_since)
		control->step_since = now;
	else if (begins && control->lease < now)
		control->step_since += now - control->lease;
	control->lease = now + CANARY_LEASE;
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

/* One look. An exit status, or WATCHING. */
static int watch_once(struct canary *c, __u64 every)
{
	if (!experiment_is_running(c->h)) {
		err("%s: was stopped", c->h->config.name);
		return EXIT_NOTHING;
	}
	renew_lease(c, false);
	if (c->h->control->paused) {
		c->h->control->step_since += every;
		return WATCHING;
	}
	if (look(c))
		return EXIT_REFUSED;
	if (c->failed)
		return take_back(c);
	return step_is_over(c) ? end_step(c) : WATCHING;
}

/* Is there something to watch? */
static int check_state(const struct experiment_handle *h)
{
	enum experiment_state state = experiment_state(h);

	if (h->config.design != EXPERIMENT_CANARY) {
		err("%s: is no canary, but %s", h->config.name,
		    experiment_design_name(h->config.design));
		remedy("bbrmon experiment %s shows what it finds", h->config.name);
		return EXIT_REFUSED;
	}
	if (state != STATE_TAKEN_BACK && state != STATE_COMPLETE)
		return EXIT_DONE;
	err("%s: is %s already", h->config.name, experiment_state_text(state));
	remedy("bbrctl experiment status %s shows when and why", h->config.name);
	return EXIT_NOTHING;
}

int canary_watch(const struct experiment_handle *h, __u64 every, bool json)
{
	struct canary c = { .h = h, .arm = h->config.arms - 1, .json = json };
	bool again = h->control->step_since;
	__u64 then = now_ns();
	int ret = check_state(h);

	if (!ret)
		ret = read_guards(&c);
	if (ret)
		return ret;
	renew_lease(&c, true);
	say_step(&c, again ? "; watched again" : "");
	do {
		sleep_until(&then, every);
		ret = watch_once(&c, every);
	} while (ret == WATCHING);
	return ret;
}
