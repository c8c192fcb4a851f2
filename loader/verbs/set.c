// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "kernel/instance.h"
#include "cli/json.h"
#include "self/lock.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"
#include "verbs/verbs.h"

/* The profile to change. */
struct target {
	struct profile_map profiles;
	int index;
	struct param_set old;
};

/* Takes the lock and finds the profile that opt names. EXIT_DONE: the caller closes t->profiles. */
static int open_target(const struct options *opt, struct target *t)
{
	struct instance inst;
	int ret;

	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (ret)
		return ret;
	ret = profile_map_open(&inst, &t->profiles);
	if (ret)
		return ret;
	ret = profile_get(&t->profiles, opt->profile ? opt->profile : BBR_PROFILE_DEFAULT,
			  &t->index);
	if (ret)
		profile_map_close(&t->profiles);
	else
		profile_read(&t->profiles, t->index, &t->old);
	return ret;
}

/* Prints which profile of which instance: "bpf_bbr", "bpf_bbr tsunami". */
static void print_target(const struct options *opt)
{
	printf("%s%s%s: ", opt->name, opt->profile ? " " : "", opt->profile ? opt->profile : "");
}

static void print_changes_json(const struct options *opt, const struct param_set *old,
			       const struct param_set *new)
{
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->name);
	json_add_string(&j, "profile", opt->profile ? opt->profile : BBR_PROFILE_DEFAULT);
	json_open_object(&j, "changed");
	param_for_each (param, old->algorithm) {
		if (param_equal(param, old, new))
			continue;
		json_open_object(&j, param->key);
		param_add_json(&j, "old", param, old);
		param_add_json(&j, "new", param, new);
		json_add_string(&j, "unit", param_unit_name(param));
		json_close(&j);
	}
	json_close(&j);
	json_end(&j);
}

static void print_changes(const struct options *opt, const struct param_set *old,
			  const struct param_set *new)
{
	char was[PARAM_TEXT_LEN], is[PARAM_TEXT_LEN];

	param_for_each (param, old->algorithm) {
		if (param_equal(param, old, new))
			continue;
		param_format(param, old, was, sizeof(was));
		param_format(param, new, is, sizeof(is));
		print_target(opt);
		printf("%s=%s (was %s)\n", param->key, is, was);
	}
}

static int change(const struct options *opt, struct target *t, const struct param_set *new)
{
	int error;

	if (param_set_equal(&t->old, new)) {
		err("%s: already has these values", opt->profile ? opt->profile : opt->name);
		return EXIT_NOTHING;
	}
	if (profile_check_known(&t->profiles, new))
		return EXIT_REFUSED;
	error = profile_write(&t->profiles, t->index, new);
	if (error)
		return err_bpf(error, "cannot write the instance's parameters");
	if (opt->json)
		print_changes_json(opt, &t->old, new);
	else
		print_changes(opt, &t->old, new);
	param_warn_if_slow(opt->name, &t->old, new);
	return EXIT_DONE;
}

static int verb_set(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct param_set new;
	struct target t;
	int ret;

	ret = param_check_assignments_early(argc - 1, argv + 1);
	if (!ret)
		ret = open_target(opt, &t);
	if (ret)
		return ret;
	/*
	 * Parse the whole command line first: a mistake at its end must not leave half of it done.
	 */
	new = t.old;
	for (int i = 1; !ret && i < argc; i++)
		ret = param_assign(argv[i], &new);
	if (!ret)
		ret = change(opt, &t, &new);
	profile_map_close(&t.profiles);
	return ret;
}

static int verb_reset(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	const struct algorithm *algorithm;
	struct param_set new;
	struct target t;
	int ret;

	ret = param_check_keys_early(argc, argv);
	if (!ret)
		ret = open_target(opt, &t);
	if (ret)
		return ret;
	algorithm = t.old.algorithm;
	ret = param_check_keys(algorithm, argc, argv);
	new = argc > 1 ? t.old : param_set_default(algorithm);
	for (int i = 1; !ret && i < argc; i++)
		param_reset(param_find(algorithm, argv[i], strlen(argv[i])), &new);
	if (!ret)
		ret = change(opt, &t, &new);
	profile_map_close(&t.profiles);
	return ret;
}

static const struct option_def set_options[] = {
	NAME,
	PROFILE("PROFILE", "change this profile instead of the default one"),
	END,
};

BBRCTL_VERB(set, "set", NEEDS(CHANGE, .may = FILES), .args = "KEY=VALUE...", .min_args = 1,
	    .max_args = MANY, .brief = "change parameters, all at once; open connections follow",
	    OPTIONS({ set_options, 0 }), .run = verb_set);

BBRCTL_VERB(reset, "reset", NEEDS(CHANGE, .may = FILES), .args = "[KEY]...", .max_args = MANY,
	    .brief = "set parameters back to the defaults", OPTIONS({ set_options, 0 }),
	    .run = verb_reset);
