// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/text.h"
#include "cli/units.h"
#include "machine/machine.h"
#include "machine/plan.h"
#include "tuning/param.h"
#include "tuning/rule_text.h"

static const char *const kinds[STEP_KINDS] = {
	[STEP_LOAD] = "load",
	[STEP_REPLACE] = "upgrade",
	[STEP_PROFILE_ADD] = "profile_add",
	[STEP_PROFILE_CHANGE] = "profile_change",
	[STEP_RULES] = "rules",
	[STEP_DEFAULT] = "default",
	[STEP_ATTACH] = "attach",
	[STEP_DETACH] = "detach",
	[STEP_ROUTE] = "route",
	[STEP_ROUTE_BACK] = "route_back",
	[STEP_DEFAULT_BACK] = "default_back",
	[STEP_PROFILE_DELETE] = "profile_delete",
	[STEP_UNLOAD] = "unload",
};

static const char *algorithm_of(const struct machine_instance *inst)
{
	return inst->algorithm ? inst->algorithm->name : inst->loaded.abi.algorithm;
}

static void print_replaced(const struct step *s, bool done)
{
	const struct machine_instance *old = s->found, *new = s->wanted;
	bool same_version = !strcmp(old->version, new->version);
	const char *was = same_version ? algorithm_of(old) : old->version,
		   *is = same_version ? algorithm_of(new) : new->version;

	if (done)
		printf("upgraded from %.20s to %.20s\n", was, is);
	else
		printf("has the code of %.20s, not of %.20s\n", was, is);
}

static void print_changed(const struct step *s, bool done)
{
	const struct param_set *old = &s->profile_found->params, *new = &s->profile_wanted->params;
	char was[PARAM_TEXT_LEN], is[PARAM_TEXT_LEN];
	bool first = true;

	param_for_each (param, new->algorithm) {
		if (param_equal(param, old, new))
			continue;
		param_format(param, old, was, sizeof(was));
		param_format(param, new, is, sizeof(is));
		if (!first)
			printf("%s: ", s->name);
		first = false;
		printf(done ? "profile %s: %s=%s (was %s)\n" : "profile %s: not %s=%s, but %s\n",
		       s->profile_wanted->name, param->key, is, was);
	}
}

static void print_default(const struct step *s, bool done)
{
	const char *netns = text_shown(s->default_wanted->netns);
	const char *old = s->default_found ? s->default_found->name : NULL;

	if (done)
		printf("now the default of network namespace %s (was %s)\n", netns,
		       old ? old : "not known");
	else if (!old)
		printf("is not the default of network namespace %s\n", netns);
	else if (!strcmp(old, s->name))
		printf("is the default of network namespace %s, but bbrctl did not set it\n",
		       netns);
	else
		printf("is not the default of network namespace %s, but %s is\n", netns, old);
}

static void print_route_name(const struct machine_route *r)
{
	char *name = machine_route_name(r);

	printf("%s", name);
	free(name);
}

static void print_route(const struct step *s, bool done)
{
	const struct machine_route *old = s->route_found;
	const char *was = old && old->is.congctl[0] ? old->is.congctl : "none";

	printf("%s the congctl%s of route ", done ? "now" : "is not",
	       s->route_wanted->is.is_locked ? " (locked)" : "");
	print_route_name(s->route_wanted);
	if (!old)
		puts(done ? ", which was made" : ", which is not there");
	else if (s->route_as)
		puts(done ? ", which was made again" : ", as it leads now");
	else
		printf(done ? " (was %s%s)\n" : ", but %s%s is\n", was,
		       old->is.is_locked ? ", locked" : "");
}

/* A step that takes something away, without the end of its line. */
static void print_removal(const struct step *s, bool done)
{
	switch (s->kind) {
	case STEP_DEFAULT_BACK:
		printf("%s the default of network namespace %s", done ? "no longer" : "is",
		       text_shown(s->default_found->netns));
		break;
	case STEP_DETACH:
		printf("%s %s", done ? "detached from" : "is attached to",
		       text_shown(s->found_at->path));
		break;
	case STEP_ROUTE_BACK:
		printf("%s the congctl of route ", done ? "no longer" : "is");
		print_route_name(s->route_found);
		break;
	default:
		printf(done ? "unloaded" : "is loaded");
	}
}

void step_print(const struct step *s, bool done)
{
	char terms[RULE_TEXT_LEN];
	__u32 new;

	printf("%s: ", s->name);
	switch (s->kind) {
	case STEP_LOAD:
		puts(done ? "loaded" : "is not loaded");
		break;
	case STEP_REPLACE:
		print_replaced(s, done);
		break;
	case STEP_PROFILE_ADD:
		printf("profile %s %s\n", s->profile_wanted->name, done ? "added" : "is missing");
		break;
	case STEP_PROFILE_CHANGE:
		print_changed(s, done);
		break;
	case STEP_RULES:
		new = s->wanted->rules.n;
		if (done)
			printf("%u rule%s (before: %u)\n", new, plural(new), s->found->rules.n);
		else
			printf("has other rules than the file: %u, not %u\n", s->found->rules.n,
			       new);
		break;
	case STEP_DEFAULT:
		print_default(s, done);
		break;
	case STEP_ATTACH:
		terms_format(s->wanted_at->term, s->wanted_at->n, terms, sizeof(terms));
		printf("%s %s%s%s\n", done ? "attached to" : "is not attached to",
		       text_shown(s->wanted_at->path), s->wanted_at->n ? ":" : "", terms);
		break;
	case STEP_ROUTE:
		print_route(s, done);
		break;
	case STEP_PROFILE_DELETE:
		printf(done ? "profile %s deleted\n" : "has a profile %s\n",
		       s->profile_found->name);
		break;
	default:
		print_removal(s, done);
		putchar('\n');
	}
}

void step_print_left(const struct step *s, const char *prefix)
{
	printf("%s%s: left alone: ", prefix, s->name);
	print_removal(s, false);
	puts(", but not by an apply (--prune)");
}

void step_print_waiting(const struct step *s, const char *prefix)
{
	printf("%s%s: waits: nothing leads to route ", prefix, s->name);
	print_route_name(s->route_wanted);
	puts(" yet");
}

/* Prints the rules between those that both have at the beginning and at the end. */
static void diff_rules(const struct machine_instance *old, const struct machine_instance *new)
{
	__u32 begin = 0, end = 0, least = old->rules.n < new->rules.n ? old->rules.n : new->rules.n;

	while (begin < least && machine_same_rule(old, begin, new, begin))
		begin++;
	while (begin + end < least &&
	       machine_same_rule(old, old->rules.n - end - 1, new, new->rules.n - end - 1))
		end++;
	for (__u32 i = begin; i < old->rules.n - end; i++)
		machine_print_rule(stdout, old, i, NULL, "-");
	for (__u32 i = begin; i < new->rules.n - end; i++)
		machine_print_rule(stdout, new, i, NULL, "+");
}

/* old, new: NULL if there is none. */
static void diff_profiles(const struct profile_definition *old,
			  const struct profile_definition *new)
{
	const struct algorithm *algorithm = (new ? new : old)->params.algorithm;
	char text[PARAM_TEXT_LEN];

	if (old && new && param_set_equal(&old->params, &new->params))
		return;
	printf("%s[%s]\n", !old ? "+" : !new ? "-" : " ", (new ? new : old)->name);
	param_for_each (param, algorithm) {
		if (old && new && param_equal(param, &old->params, &new->params))
			continue;
		if (old && (new || !param_is_default(param, &old->params))) {
			param_format(param, &old->params, text, sizeof(text));
			printf("-%s = %s\n", param->key, text);
		}
		if (new && (old || !param_is_default(param, &new->params))) {
			param_format(param, &new->params, text, sizeof(text));
			printf("+%s = %s\n", param->key, text);
		}
	}
}

static void diff_code(const struct step *s)
{
	bool comparable = s->found->is_open && s->found->algorithm == s->wanted->algorithm;

	if (strcmp(s->found->version, s->wanted->version))
		printf("-; version %s\n+; version %s\n", s->found->version, s->wanted->version);
	if (strcmp(algorithm_of(s->found), algorithm_of(s->wanted)))
		printf("-algorithm = %s\n+algorithm = %s\n", algorithm_of(s->found),
		       algorithm_of(s->wanted));
	if (!comparable)
		return;
	for (size_t i = 0; i < s->wanted->profiles.n; i++) {
		const struct profile_definition *new = &s->wanted->profiles.def[i];

		diff_profiles(profile_definitions_find(&s->found->profiles, new->name), new);
	}
	diff_rules(s->found, s->wanted);
}

void step_print_diff(const struct step *s, const struct machine *wanted,
		     const struct machine *found)
{
	if (s->kind == STEP_LOAD || s->kind == STEP_UNLOAD) {
		if (s->wanted)
			machine_print(stdout, wanted, s->wanted, "+", false);
		else if (s->found->is_open)
			machine_print(stdout, found, s->found, "-", false);
		else
			printf("-[instance %s]\n", s->name);
		return;
	}
	if (!s->wanted != !s->found) /* printed with the instance, which comes or goes */
		return;
	printf(" [instance %s]\n", s->name);
	switch (s->kind) {
	case STEP_REPLACE:
		diff_code(s);
		break;
	case STEP_PROFILE_ADD:
	case STEP_PROFILE_CHANGE:
	case STEP_PROFILE_DELETE:
		diff_profiles(s->profile_found, s->profile_wanted);
		break;
	case STEP_RULES:
		printf(" [%s]\n", RULES_SECTION);
		diff_rules(s->found, s->wanted);
		break;
	case STEP_DEFAULT:
		printf("+default_in = %s\n", text_shown(s->default_wanted->netns));
		break;
	case STEP_DEFAULT_BACK:
		printf("-default_in = %s\n", text_shown(s->default_found->netns));
		break;
	case STEP_ATTACH:
		if (s->found_at)
			machine_print_attachment(stdout, s->found_at, "-");
		machine_print_attachment(stdout, s->wanted_at, "+");
		break;
	case STEP_ROUTE:
		if (s->route_found && !strcmp(s->route_found->name, s->name))
			machine_print_route(stdout, s->route_found, "-");
		machine_print_route(stdout, s->route_wanted, "+");
		break;
	case STEP_ROUTE_BACK:
		machine_print_route(stdout, s->route_found, "-");
		break;
	default:
		machine_print_attachment(stdout, s->found_at, "-");
	}
}

static void add_code(struct json *j, const char *key, const struct machine_instance *inst)
{
	json_open_object(j, key);
	json_add_string(j, "version", inst->version);
	json_add_string(j, "algorithm", algorithm_of(inst));
	json_close(j);
}

static void add_step(struct json *j, const struct step *s)
{
	const struct machine_default *def =
		s->default_wanted ? s->default_wanted : s->default_found;
	const struct attachment *at = s->wanted_at ? s->wanted_at : s->found_at;
	const struct profile_definition *profile =
		s->profile_wanted ? s->profile_wanted : s->profile_found;
	const struct machine_route *route = s->route_wanted ? s->route_wanted : s->route_found;
	const char *old = s->route_found ? s->route_found->is.congctl : "";

	json_open_object(j, NULL);
	json_add_string(j, "name", s->name);
	json_add_string(j, "change", kinds[s->kind]);
	if (s->kind == STEP_REPLACE) {
		add_code(j, "old", s->found);
		add_code(j, "new", s->wanted);
	}
	if (profile)
		json_add_string(j, "profile", profile->name);
	if (s->kind == STEP_PROFILE_CHANGE)
		param_add_changes_json(j, "params", &s->profile_found->params,
				       &s->profile_wanted->params);
	if (s->kind == STEP_RULES) {
		json_add_int(j, "old_rules", s->found->rules.n);
		json_add_int(j, "new_rules", s->wanted->rules.n);
	}
	if (def) {
		json_add_string(j, "netns", def->netns);
		json_add_int(j, "inode", def->inode);
	}
	if (s->default_found)
		json_add_string(j, "old_default", s->default_found->name);
	if (at) {
		json_add_string(j, "cgroup", at->path);
		terms_add_json(j, at->term, at->n);
	}
	if (route) {
		machine_add_route_keys(j, route);
		json_add_string(j, "old_congctl", old[0] ? old : NULL);
		json_add_bool(j, "made", s->route_as || route->is.protocol == ROUTE_PROTOCOL);
	}
	json_close(j);
}

void plan_add_json(struct json *j, const struct plan *plan)
{
	json_open_array(j, "changes");
	for (size_t i = 0; i < plan->n; i++)
		add_step(j, &plan->step[i]);
	json_close(j);
	json_open_array(j, "left_alone");
	for (size_t i = 0; i < plan->n_left; i++)
		add_step(j, &plan->left[i]);
	json_close(j);
	json_open_array(j, "waiting");
	for (size_t i = 0; i < plan->n_waiting; i++)
		add_step(j, &plan->waiting[i]);
	json_close(j);
}
