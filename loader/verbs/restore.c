// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl restore: makes an instance's profiles and rules those of a saved file, and no others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "cli/json.h"
#include "instance/lock.h"
#include "tuning/ini_file.h"
#include "tuning/instance_tuning.h"
#include "tuning/param.h"
#include "tuning/profile_definitions.h"
#include "tuning/rule_text.h"
#include "cli/units.h"
#include "verbs/verbs.h"

/* What a file says. A rule's profile is an index into defs until the instance's is known. */
struct saved {
	const char *path;
	struct profile_definitions defs;
	struct rule_list rules;
};

/* The instance as it is, and what was done to it. */
struct target {
	struct tuning now;
	struct param_set old[BBR_PROFILES];
	int index[BBR_PROFILES]; /* of each of saved.defs, or -1: to be added */
	bool is_kept[BBR_PROFILES]; /* by index: is among saved.defs */
	int changed, added, deleted;
	bool rules_changed;
};

static int begin_section(void *user, const char *name)
{
	struct saved *saved = user;

	if (!strcmp(name, RULES_SECTION))
		return EXIT_DONE;
	if (saved->defs.n == BBR_PROFILES && !profile_definitions_find(&saved->defs, name)) {
		err("[%s]: an instance can have %d profiles at most", name, BBR_PROFILES);
		return EXIT_USAGE;
	}
	return profile_definitions_begin(&saved->defs, saved->path, name);
}

static int take_rule(struct saved *saved, const char *value)
{
	const struct profile_definition *def;
	struct bbr_rule rule;
	const char *profile;
	char *line = strdup(value);
	int ret;

	if (!line) {
		err("out of memory");
		return EXIT_REFUSED;
	}
	ret = rule_parse_line(line, &rule, &profile);
	def = ret ? NULL : profile_definitions_find(&saved->defs, profile);
	if (!ret && !def) {
		err("rule: %s: no profile [%s] stands before it in the file", profile, profile);
		ret = EXIT_USAGE;
	}
	if (!ret) {
		rule.profile = def - saved->defs.def;
		ret = rule_list_insert(&saved->rules, saved->rules.n, &rule);
	}
	free(line);
	return ret;
}

/* Before its first section. A file of before there were several algorithms does not name one. */
static int take_algorithm(struct saved *saved, const char *name)
{
	saved->defs.algorithm = algorithm_find(name);
	if (saved->defs.algorithm)
		return EXIT_DONE;
	err("algorithm %s: this bbrctl does not know it", name);
	return EXIT_USAGE;
}

static int take_line(void *user, const char *section, const char *key, const char *value)
{
	struct saved *saved = user;

	if (!section[0] && !strcmp(key, "algorithm"))
		return take_algorithm(saved, value);
	if (strcmp(section, RULES_SECTION))
		return profile_definitions_line(&saved->defs, section, key, value);
	if (!strcmp(key, "rule"))
		return take_rule(saved, value);
	err("%s: [%s] may only contain lines rule = OPTIONS", key, section);
	return EXIT_USAGE;
}

static int check_twins(const struct saved *saved)
{
	__u32 first, second;

	if (rule_list_find_twins(&saved->rules, &first, &second))
		return EXIT_REFUSED;
	if (first == second)
		return EXIT_DONE;
	err("%s: rules %u and %u have the same options", saved->path, first + 1, second + 1);
	return EXIT_USAGE;
}

static int read_saved(const char *path, struct saved *saved)
{
	static const struct ini_reader_ops ops = { begin_section, take_line };
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int ret;

	saved->path = path;
	saved->defs.algorithm = algorithms[0];
	if (!f) {
		err("%s: cannot be opened: %s", path, strerror(errno));
		return EXIT_USAGE;
	}
	ret = ini_file_read(f, path, &ops, saved);
	if (f != stdin)
		fclose(f);
	if (!ret)
		ret = check_twins(saved);
	if (!ret && !profile_definitions_find(&saved->defs, BBR_PROFILE_DEFAULT)) {
		err("%s: lacks the profile [%s]", path, BBR_PROFILE_DEFAULT);
		remedy("bbrctl save writes complete files");
		ret = EXIT_USAGE;
	}
	return ret;
}

/* Is there a place for each profile that is to be added? Before anything is changed. */
static int find_places(const struct saved *saved, struct target *t)
{
	char name[BBR_PROFILE_NAME_LEN];
	int missing = 0;

	for (size_t i = 0; i < saved->defs.n; i++) {
		int ret = profile_check_known(&t->now.profiles, &saved->defs.def[i].params);

		if (ret)
			return ret;
		t->index[i] = profile_find(&t->now.profiles, saved->defs.def[i].name);
		if (t->index[i] >= 0)
			t->is_kept[t->index[i]] = true;
		else
			missing++;
	}
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&t->now.profiles, i, name);
		missing -= !name[0] && profile_connections(&t->now.profiles, i) <= 0;
		profile_read(&t->now.profiles, i, &t->old[i]);
	}
	if (missing <= 0)
		return EXIT_DONE;
	err("%s: %d profiles more than there are free places", saved->path, missing);
	remedy("delete some of the instance's profiles first: bbrctl profile list");
	return EXIT_REFUSED;
}

/* Takes back what was done so far. */
static void undo(const struct saved *saved, struct target *t)
{
	for (size_t i = 0; i < saved->defs.n; i++) {
		int index = t->index[i];

		if (index < 0)
			continue;
		if (t->is_kept[index])
			profile_write(&t->now.profiles, index, &t->old[index]);
		else
			profile_delete(&t->now.profiles, index);
	}
}

static int put_profiles(const struct saved *saved, struct target *t)
{
	int error = 0;

	for (size_t i = 0; !error && i < saved->defs.n; i++) {
		const struct profile_definition *def = &saved->defs.def[i];

		if (t->index[i] < 0) {
			t->index[i] = profile_add(&t->now.profiles, def->name, &def->params);
			error = t->index[i] < 0 ? t->index[i] : 0;
			t->added += !error;
		} else if (!param_set_equal(&t->old[t->index[i]], &def->params)) {
			error = profile_write(&t->now.profiles, t->index[i], &def->params);
			t->changed++;
		}
	}
	return error ? err_bpf(error, "cannot write a profile") : EXIT_DONE;
}

static bool same_rules(const struct rule_list *a, const struct rule_list *b)
{
	if (a->n != b->n)
		return false;
	for (__u32 i = 0; i < a->n; i++) {
		const struct rule_list one = { &b->rule[i], 1 };

		if (rule_list_find(&one, &a->rule[i]) || a->rule[i].profile != b->rule[i].profile)
			return false;
	}
	return true;
}

static int put_rules(struct saved *saved, struct target *t)
{
	for (__u32 i = 0; i < saved->rules.n; i++)
		saved->rules.rule[i].profile = t->index[saved->rules.rule[i].profile];
	if (same_rules(&saved->rules, &t->now.rules))
		return EXIT_DONE;
	t->rules_changed = true;
	return rule_list_write(&t->now.inst, &saved->rules);
}

/* The instance's profiles that the file does not have; no rule names them any more. */
static void delete_others(struct target *t)
{
	char name[BBR_PROFILE_NAME_LEN];

	for (int i = 1; i < BBR_PROFILES; i++) {
		profile_name(&t->now.profiles, i, name);
		if (!name[0] || t->is_kept[i])
			continue;
		profile_delete(&t->now.profiles, i);
		t->deleted++;
	}
}

static int check_algorithm(const struct saved *saved, const struct instance *inst)
{
	if (saved->defs.algorithm == inst->algorithm)
		return EXIT_DONE;
	err("%s: it was saved of algorithm %s, and %s has %s", saved->path,
	    saved->defs.algorithm->name, inst->name, inst->algorithm->name);
	remedy("restore it to an instance of %s: bbrctl load --algorithm %s",
	       saved->defs.algorithm->name, saved->defs.algorithm->name);
	return EXIT_REFUSED;
}

static int apply(struct saved *saved, struct target *t)
{
	int ret = check_algorithm(saved, &t->now.inst);

	if (!ret)
		ret = find_places(saved, t);
	if (ret)
		return ret;
	ret = put_profiles(saved, t);
	if (!ret)
		ret = put_rules(saved, t);
	if (ret) {
		undo(saved, t);
		return ret;
	}
	for (size_t i = 0; i < saved->defs.n; i++)
		t->is_kept[t->index[i]] = true;
	delete_others(t);
	return EXIT_DONE;
}

static int print_done(const struct options *opt, const struct saved *saved, const struct target *t)
{
	struct json j;

	if (!t->changed && !t->added && !t->deleted && !t->rules_changed) {
		err("%s: already matches %s", opt->name, saved->path);
		return EXIT_NOTHING;
	}
	if (!opt->json) {
		printf("%s: profiles: %d changed, %d added, %d deleted; %u rule%s%s\n", opt->name,
		       t->changed, t->added, t->deleted, saved->rules.n, plural(saved->rules.n),
		       t->rules_changed ? "" : ", unchanged");
		return EXIT_DONE;
	}
	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->name);
	json_add_int(&j, "profiles_changed", t->changed);
	json_add_int(&j, "profiles_added", t->added);
	json_add_int(&j, "profiles_deleted", t->deleted);
	json_add_int(&j, "rules", saved->rules.n);
	json_add_bool(&j, "rules_changed", t->rules_changed);
	json_end(&j);
	return EXIT_DONE;
}

static int restore(const struct options *opt, struct saved *saved, struct target *t)
{
	int ret;

	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = tuning_open(opt->name, &t->now);
	if (ret)
		return ret;
	ret = apply(saved, t);
	if (!ret)
		ret = print_done(opt, saved, t);
	tuning_close(&t->now);
	return ret;
}

int verb_restore(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	static struct target t;
	struct saved saved = {};
	int ret;

	(void)argc;
	ret = read_saved(argv[1], &saved);
	if (!ret)
		ret = restore(opt, &saved, &t);
	rule_list_free(&saved.rules);
	profile_definitions_free(&saved.defs);
	return ret;
}
