// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "bpf_bbr/rules.h"
#include "cli/json.h"
#include "experiments/experiments.h"
#include "running/running.h"
#include "kernel/clock.h"
#include "tuning/rule_text.h"

static void add_percent(struct json *j, const char *key, __u32 share)
{
	char text[SHARE_TEXT_LEN];

	snprintf(text, sizeof(text), "%g", share * 100.0 / EXPERIMENT_SHARES);
	json_add_raw(j, key, text);
}

static void add_head(struct json *j, const struct experiment_handle *h)
{
	json_add_string(j, "name", h->config.name);
	json_add_string(j, "design", experiment_design_name(h->config.design));
	json_add_string(j, "state", experiment_state_text(experiment_state(h)));
	json_add_string(j, "cgroup", h->path);
}

static void add_arms(struct json *j, const struct experiment_handle *h, bool counts)
{
	const struct experiment *e = &h->config;
	__u32 share[EXPERIMENT_ARMS];

	experiment_shares(h, share);
	json_open_array(j, "arms");
	for (__u32 i = 0; i < e->arms; i++) {
		const struct experiment_arm *arm = &e->arm[i];

		json_open_object(j, NULL);
		json_add_string(j, "label", arm->label);
		json_add_string(j, "cc", arm->cc);
		json_add_string(j, "profile",
				arm->profile == EXPERIMENT_NO_PROFILE ? NULL : arm->profile_name);
		if (e->design != EXPERIMENT_SWITCHBACK)
			add_percent(j, "share_percent", share[i]);
		if (counts) {
			json_add_int(j, "connections", h->control->assigned[i]);
			json_add_int(j, "refused", h->control->refused[i]);
			json_add_string(
				j, "refused_why",
				!h->control->refused[i] ?
					NULL :
					experiment_refusal_text(h->control->refused_error[i]));
		}
		json_close(j);
	}
	json_close(j);
}

void experiment_add_short_json(struct json *j, const struct experiment_handle *h)
{
	add_head(j, h);
	add_arms(j, h, false);
}

static void add_scope(struct json *j, const struct experiment_scope *scope)
{
	struct bbr_rule rule = scope_rule(scope);

	json_open_object(j, "scope");
	rule_add_json(j, &rule);
	if (scope->netns)
		json_add_string(j, "netns", scope->netns_name);
	json_close(j);
}

static void add_switchback(struct json *j, const struct experiment *e)
{
	struct experiment_block b = experiment_block_now(e, now_ns());

	json_add_int(j, "block_ns", e->block);
	json_add_int(j, "washout_ns", e->washout);
	json_open_object(j, "block");
	json_add_int(j, "number", b.number);
	json_add_string(j, "arm", e->arm[b.arm].label);
	json_add_bool(j, "washout", b.washout);
	json_add_int(j, "left_ns", b.left);
	json_close(j);
}

static void add_guards(struct json *j, const struct experiment_handle *h)
{
	char now[GUARD_STATUS_TEXT_LEN];
	struct guard_status status;

	json_open_array(j, "guards");
	if (guard_status_read(h, &status))
		status.guards = 0;
	for (int i = 0; i < status.guards; i++) {
		guard_status_format(&status, i, now);
		json_open_object(j, NULL);
		json_add_string(j, "guard", h->config.guard[i]);
		json_add_string(j, "verdict", guard_verdict_name(status.result[i].verdict));
		json_add_string(j, "now", now);
		json_close(j);
	}
	json_close(j);
}

static void add_canary(struct json *j, const struct experiment_handle *h)
{
	const struct experiment *e = &h->config;

	add_guards(j, h);
	json_open_array(j, "steps_percent");
	for (__u32 i = 0; i < experiment_steps(e); i++)
		add_percent(j, NULL, e->step[i]);
	json_close(j);
	json_add_int(j, "step", experiment_step(h));
	json_add_int(j, "step_connections", e->step_connections);
	json_add_int(j, "step_seconds", e->step_seconds);
}

static void add_log(struct json *j, const struct experiment_handle *h)
{
	struct experiment_decision d;
	__u64 first, end;

	json_open_array(j, "log");
	decisions(h, &first, &end);
	for (; first < end; first++) {
		if (!decision_read(h, first, &d))
			continue;
		json_open_object(j, NULL);
		json_add_int(j, "time_ns", d.time);
		json_add_string(j, "decision", d.text);
		json_close(j);
	}
	json_close(j);
}

void experiment_add_json(struct json *j, const struct experiment_handle *h)
{
	const struct experiment *e = &h->config;
	const struct experiment_control *c = h->control;

	add_head(j, h);
	add_scope(j, &e->scope);
	json_add_int(j, "started_ns", e->started_realtime);
	json_add_string(j, "by", e->unit == EXPERIMENT_BY_PREFIX ? "prefix" : "connection");
	json_add_int(j, "prefix4", e->prefix4 - SCOPE_V4_BITS);
	json_add_int(j, "prefix6", e->prefix6);
	json_add_int(j, "seed", e->seed);
	json_add_int(j, "keep", e->outcomes);
	add_arms(j, h, true);
	if (e->design == EXPERIMENT_SWITCHBACK)
		add_switchback(j, e);
	if (e->design == EXPERIMENT_CANARY)
		add_canary(j, h);
	json_add_int(j, "chosen", c->chosen);
	json_add_int(j, "no_memory", c->no_memory);
	json_add_int(j, "moved", c->moved);
	json_add_int(j, "outcomes", c->outcomes);
	json_add_int(j, "lost", c->lost);
	add_log(j, h);
}
