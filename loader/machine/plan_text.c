// SPDX-License-Identifier: GPL-2.0-only
#include "cli/json.h"
#include "machine/plan.h"

/*
 * How a step is called in JSON, what was done, and what is not as it should be: of what it is about
 * (%s). Some need more words than that; these have none here.
 */
static const struct {
	const char *name, *done, *differs;
} kinds[STEP_KINDS] = {
	[STEP_LOAD] = { "load", "loaded", "is not loaded" },
	[STEP_REPLACE] = { "upgrade", NULL, NULL },
	[STEP_PROFILE_ADD] = { "profile_add", "profile %s added", "profile %s is missing" },
	[STEP_PROFILE_CHANGE] = { "profile_change", NULL, NULL },
	[STEP_RULES] = { "rules", NULL, NULL },
	[STEP_PROFILE_DELETE] = { "profile_delete", "profile %s deleted", "has a profile %s" },
	[STEP_DEFAULT] = { "default", "now the default of network namespace %s",
			   "is not the default of network namespace %s" },
	[STEP_ATTACH] = { "attach", "attached to %s", "is not attached to %s" },
	[STEP_ROUTE] = { "route", "now the congctl of route %s", "is not the congctl of route %s" },
	[STEP_DETACH] = { "detach", "detached from %s", "is attached to %s" },
	[STEP_ROUTE_BACK] = { "route_back", "no longer the congctl of route %s",
			      "is the congctl of route %s" },
	[STEP_DEFAULT_BACK] = { "default_back", "no longer the default of network namespace %s",
				"is the default of network namespace %s" },
	[STEP_UNLOAD] = { "unload", "unloaded", "is loaded" },
};

static const char *algorithm_of(const struct machine_instance *inst)
{
	return inst->algorithm ? inst->algorithm->name : inst->loaded.abi.algorithm;
}

/* Prints the words of a kind about a step, without the end of the line. */
static void print_words(const struct step *s, const char *words)
{
	char *route AUTO_FREE = STEP_OF(s, route) ? machine_route_name(STEP_OF(s, route)) : NULL;

	printf(words, route		  ? route :
		      STEP_OF(s, profile) ? STEP_OF(s, profile)->name :
		      STEP_OF(s, default) ? text_shown(STEP_OF(s, default)->netns) :
		      STEP_OF(s, at)	  ? text_shown(STEP_OF(s, at)->path) :
					    "");
}

static void print_replaced(const struct step *s, bool done)
{
	const struct machine_instance *old = s->found, *new = s->wanted;
	bool same_version = !strcmp(old->version, new->version);

	printf(done ? "upgraded from %.20s to %.20s" : "has the code of %.20s, not of %.20s",
	       same_version ? algorithm_of(old) : old->version,
	       same_version ? algorithm_of(new) : new->version);
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
			printf("\n%s: ", s->name);
		first = false;
		printf(done ? "profile %s: %s=%s (was %s)" : "profile %s: not %s=%s, but %s",
		       s->profile_wanted->name, param->key, is, was);
	}
}

static void print_default(const struct step *s, bool done)
{
	const char *old = s->default_found ? s->default_found->name : NULL;

	if (!done && old && !strcmp(old, s->name)) {
		print_words(s, kinds[STEP_DEFAULT_BACK].differs);
		printf(", but bbrctl did not set it");
		return;
	}
	print_words(s, done ? kinds[STEP_DEFAULT].done : kinds[STEP_DEFAULT].differs);
	if (done || old)
		printf(done ? " (was %s)" : ", but %s is", old ? old : "not known");
}

static void print_route(const struct step *s, bool done)
{
	const struct machine_route *old = s->route_found;
	const char *was = old && old->is.congctl[0] ? old->is.congctl : "none";

	if (s->route_wanted->is.is_locked)
		print_words(s, done ? "now the congctl (locked) of route %s" :
				      "is not the congctl (locked) of route %s");
	else
		print_words(s, done ? kinds[STEP_ROUTE].done : kinds[STEP_ROUTE].differs);
	if (!old)
		printf(done ? ", which was made" : ", which is not there");
	else if (s->route_as)
		printf(done ? ", which was made again" : ", as it leads now");
	else
		printf(done ? " (was %s%s)" : ", but %s%s is", was,
		       old->is.is_locked ? ", locked" : "");
}

void step_print(const struct step *s, bool done)
{
	char terms[RULE_TEXT_LEN];

	printf("%s: ", s->name);
	switch (s->kind) {
	case STEP_REPLACE:
		print_replaced(s, done);
		break;
	case STEP_PROFILE_CHANGE:
		print_changed(s, done);
		break;
	case STEP_RULES:
		if (done)
			printf("%u rule%s (before: %u)", s->wanted->rules.n,
			       plural(s->wanted->rules.n), s->found->rules.n);
		else
			printf("has other rules than the file: %u, not %u", s->found->rules.n,
			       s->wanted->rules.n);
		break;
	case STEP_DEFAULT:
		print_default(s, done);
		break;
	case STEP_ROUTE:
		print_route(s, done);
		break;
	default:
		print_words(s, done ? kinds[s->kind].done : kinds[s->kind].differs);
	}
	if (s->kind == STEP_ATTACH && s->at_wanted->n) {
		terms_format(s->at_wanted->term, s->at_wanted->n, terms, sizeof(terms));
		printf(":%s", terms);
	}
	putchar('\n');
}

void step_print_left(const struct step *s, const char *prefix)
{
	printf("%s%s: left alone: ", prefix, s->name);
	print_words(s, kinds[s->kind].differs);
	puts(", but not by an apply (--prune)");
}

void step_print_waiting(const struct step *s, const char *prefix)
{
	printf("%s%s: waits: ", prefix, s->name);
	print_words(s, "nothing leads to route %s yet\n");
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
	const char *old = algorithm_of(s->found), *new = algorithm_of(s->wanted);

	if (strcmp(s->found->version, s->wanted->version))
		printf("-; version %s\n+; version %s\n", s->found->version, s->wanted->version);
	if (strcmp(old, new))
		printf("-algorithm = %s\n+algorithm = %s\n", old, new);
	if (!s->found->is_open || s->found->algorithm != s->wanted->algorithm)
		return; /* they cannot be compared */
	for_each (def, s->wanted->profiles.def, s->wanted->profiles.n)
		diff_profiles(profile_definitions_find(&s->found->profiles, def->name), def);
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
	if (s->kind == STEP_REPLACE)
		diff_code(s);
	if (STEP_OF(s, profile))
		diff_profiles(s->profile_found, s->profile_wanted);
	if (s->kind == STEP_RULES) {
		printf(" [%s]\n", RULES_SECTION);
		diff_rules(s->found, s->wanted);
	}
	if (STEP_OF(s, default))
		printf("%cdefault_in = %s\n", s->default_wanted ? '+' : '-',
		       text_shown(STEP_OF(s, default)->netns));
	if (s->at_found)
		machine_print_attachment(stdout, s->at_found, "-");
	if (s->at_wanted)
		machine_print_attachment(stdout, s->at_wanted, "+");
	if (s->route_found && (!s->route_wanted || !strcmp(s->route_found->name, s->name)))
		machine_print_route(stdout, s->route_found, "-");
	if (s->route_wanted)
		machine_print_route(stdout, s->route_wanted, "+");
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
	const struct machine_route *route = STEP_OF(s, route);
	const char *old = s->route_found ? s->route_found->is.congctl : "";

	json_add_string(j, "name", s->name);
	json_add_string(j, "change", kinds[s->kind].name);
	if (s->kind == STEP_REPLACE) {
		add_code(j, "old", s->found);
		add_code(j, "new", s->wanted);
	}
	if (STEP_OF(s, profile))
		json_add_string(j, "profile", STEP_OF(s, profile)->name);
	if (s->kind == STEP_PROFILE_CHANGE)
		param_add_changes_json(j, "params", &s->profile_found->params,
				       &s->profile_wanted->params);
	if (s->kind == STEP_RULES) {
		json_add_int(j, "old_rules", s->found->rules.n);
		json_add_int(j, "new_rules", s->wanted->rules.n);
	}
	if (STEP_OF(s, default)) {
		json_add_string(j, "netns", STEP_OF(s, default)->netns);
		json_add_int(j, "inode", STEP_OF(s, default)->inode);
	}
	if (s->default_found)
		json_add_string(j, "old_default", s->default_found->name);
	if (STEP_OF(s, at)) {
		json_add_string(j, "cgroup", STEP_OF(s, at)->path);
		terms_add_json(j, STEP_OF(s, at)->term, STEP_OF(s, at)->n);
	}
	if (route) {
		machine_add_route_keys(j, route);
		json_add_string(j, "old_congctl", old[0] ? old : NULL);
		json_add_bool(j, "made", s->route_as || route->is.protocol == ROUTE_PROTOCOL);
	}
}

void plan_add_json(struct json *j, const struct plan *plan)
{
	json_objects (j, "changes", s, plan->step, plan->n)
		add_step(j, s);
	json_objects (j, "left_alone", s, plan->left, plan->n_left)
		add_step(j, s);
	json_objects (j, "waiting", s, plan->waiting, plan->n_waiting)
		add_step(j, s);
}
