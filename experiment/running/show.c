// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bpf_bbr/rules.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/units.h"
#include "running.h"
#include "kernel/clock.h"
#include "tuning/rule_text.h"

/* ---- as text */

static void print_arms(const struct experiment_handle *h)
{
	const struct experiment *e = &h->config;
	char share[UNITS_LEN] = "-";
	__u32 shares[EXPERIMENT_ARMS];

	experiment_shares(h, shares);
	printf("  %-31s %8s %12s %8s\n", "ARM", "SHARE", "CONNECTIONS", "REFUSED");
	for (__u32 i = 0; i < e->arms; i++) {
		if (e->design != EXPERIMENT_SWITCHBACK)
			snprintf(share, sizeof(share), "%g %%", experiment_percent(shares[i]));
		printf("  %-31s %8s %12llu %8llu\n", arm_text(&e->arm[i]), share,
		       h->control->assigned[i], h->control->refused[i]);
	}
	for (__u32 i = 0; i < e->arms; i++)
		if (h->control->refused[i])
			printf("  refused to %s: %s\n", e->arm[i].label,
			       experiment_refusal_text(h->control->refused_error[i]));
}

static void print_switchback(const struct experiment *e)
{
	struct experiment_block b = experiment_block_now(e, now_ns());
	char block[UNITS_LEN], washout[UNITS_LEN], left[UNITS_LEN];

	format_duration(block, sizeof(block), e->block);
	format_duration(washout, sizeof(washout), e->washout);
	format_duration(left, sizeof(left), b.left / NS_PER_MS * NS_PER_MS);
	printf("  block %u of %s (washout %s): arm %s for another %s%s\n", b.number, block, washout,
	       e->arm[b.arm].label, left, b.washout ? ", in its washout" : "");
}

static void print_guards(const struct experiment_handle *h)
{
	struct guard_status status;

	if (guard_status_read(h, &status))
		return;
	for (int i = 0; i < status.guards; i++)
		printf("  guard %s %s: %s\n", h->config.guard[i],
		       guard_verdicts[status.result[i].verdict],
		       guard_text(&status.guard[i], &status.result[i]));
}

static void print_canary(const struct experiment_handle *h)
{
	const struct experiment *e = &h->config;
	__u32 n = experiment_steps(e), step = experiment_step(h);
	char since[UNITS_LEN], began[UNITS_LEN + 8] = "";

	if (h->control->step_since && h->control->lease) {
		format_duration(since, sizeof(since),
				(now_ns() - h->control->step_since) / NS_PER_S * NS_PER_S);
		snprintf(began, sizeof(began), ", for %s", since);
	}
	printf("  step %u of %u: %g %%%s; at least %u s and %u connections each\n", step + 1, n,
	       experiment_percent(e->step[step]), began, e->step_seconds, e->step_connections);
	print_guards(h);
}

static void print_counts(const struct experiment_control *c)
{
	printf("  %llu connection%s left alone, because the application had chosen", c->chosen,
	       plural(c->chosen));
	if (c->moved)
		printf(", %llu moved to another arm at the end of a block", c->moved);
	if (c->no_memory)
		printf(", %llu were left alone because --keep others were open", c->no_memory);
	printf("\n  %llu outcome%s so far, also of open connections", c->outcomes,
	       plural(c->outcomes));
	if (c->lost)
		printf(", %llu were overwritten before they ended", c->lost);
	putchar('\n');
}

static void print_log(const struct experiment_handle *h)
{
	struct experiment_decision d;
	char when[UNITS_LEN];
	time_t seconds;

	for (__u64 number = 0; decision_next(h, &number, &d);) {
		seconds = d.time / NS_PER_S;
		strftime(when, sizeof(when), "%F %T", localtime(&seconds));
		printf("  %s  %s\n", when, d.text);
	}
}

void experiment_print(const struct experiment_handle *h)
{
	const struct experiment *e = &h->config;
	struct bbr_rule rule = scope_rule(&e->scope);
	char text[RULE_TEXT_LEN];

	rule_format(&rule, text, sizeof(text));
	printf("%s: %s, %s\n", e->name, experiment_designs[e->design],
	       experiment_states[experiment_state(h)]);
	printf("  scope --cgroup %s%s%s%s%s\n", text_shown(h->path), *text ? " " : "", text,
	       e->scope.netns_name[0] ? " --netns " : "",
	       e->scope.netns_name[0] ? text_shown(e->scope.netns_name) : "");
	if (e->unit == EXPERIMENT_BY_PREFIX)
		printf("  one arm for each remote prefix, /%u of IPv4 and /%u of IPv6\n",
		       e->prefix4 - SCOPE_V4_BITS, e->prefix6);
	print_arms(h);
	if (e->design == EXPERIMENT_SWITCHBACK)
		print_switchback(e);
	if (e->design == EXPERIMENT_CANARY)
		print_canary(h);
	print_counts(h->control);
	print_log(h);
}

void experiments_print(const struct experiment_handle *list, int n)
{
	char arms[EXPERIMENT_ARMS * ARM_TEXT_LEN];

	printf("%-15s  %-10s  %-10s  %-40s  %s\n", "NAME", "DESIGN", "STATE", "ARMS", "CGROUP");
	for (int i = 0; i < n; i++) {
		const struct experiment *e = &list[i].config;

		arms[0] = 0;
		for (__u32 k = 0; k < e->arms; k++)
			strcat(strcat(arms, k ? " " : ""), arm_text(&e->arm[k]));
		printf("%-15s  %-10s  %-10s  %-40s  %s\n", e->name, experiment_designs[e->design],
		       experiment_states[experiment_state(&list[i])], arms,
		       text_shown(list[i].path));
	}
}

/* ---- as JSON */

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
	struct guard_status status;

	json_open_array(j, "guards");
	if (guard_status_read(h, &status))
		status.guards = 0;
	for (int i = 0; i < status.guards; i++) {
		json_open_object(j, NULL);
		json_add_string(j, "guard", h->config.guard[i]);
		json_add_string(j, "verdict", guard_verdicts[status.result[i].verdict]);
		json_add_string(j, "now", guard_text(&status.guard[i], &status.result[i]));
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
		json_add_number(j, NULL, experiment_percent(e->step[i]));
	json_close(j);
	json_add_int(j, "step", experiment_step(h));
	json_add_int(j, "step_connections", e->step_connections);
	json_add_int(j, "step_seconds", e->step_seconds);
}

static void add_log(struct json *j, const struct experiment_handle *h)
{
	struct experiment_decision d;

	json_open_array(j, "log");
	for (__u64 number = 0; decision_next(h, &number, &d);) {
		json_open_object(j, NULL);
		json_add_int(j, "time_ns", d.time);
		json_add_string(j, "decision", d.text);
		json_close(j);
	}
	json_close(j);
}

void experiment_add_json(struct json *j, const struct experiment_handle *h, bool is_short)
{
	const struct experiment_control *c = h->control;
	const struct experiment *e = &h->config;
	struct bbr_rule rule = scope_rule(&e->scope);
	__u32 share[EXPERIMENT_ARMS];

	experiment_shares(h, share);
	json_add_string(j, "name", e->name);
	json_add_string(j, "design", experiment_designs[e->design]);
	json_add_string(j, "state", experiment_states[experiment_state(h)]);
	json_add_string(j, "cgroup", h->path);
	if (is_short) {
		experiment_add_arms(j, e, share, NULL, NULL);
		return;
	}
	json_open_object(j, "scope");
	rule_add_json(j, &rule);
	if (e->scope.netns)
		json_add_string(j, "netns", e->scope.netns_name);
	json_close(j);
	json_add_int(j, "started_ns", e->started_realtime);
	json_add_string(j, "by", e->unit == EXPERIMENT_BY_PREFIX ? "prefix" : "connection");
	json_add_int(j, "prefix4", e->prefix4 - SCOPE_V4_BITS);
	json_add_int(j, "prefix6", e->prefix6);
	json_add_int(j, "seed", e->seed);
	json_add_int(j, "keep", e->outcomes);
	experiment_add_arms(j, e, share, c, NULL);
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
