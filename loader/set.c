// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "err.h"
#include "instance.h"
#include "json_print.h"
#include "lock.h"
#include "param.h"
#include "profile.h"
#include "verbs.h"

/* The profile that is to be changed. */
struct target {
	struct profiles profiles;
	int index;
	struct bbr_params old;
};

/* Takes the lock and finds the profile that opt names. EXIT_DONE: to be closed with profiles_close(). */
static int open_target(const struct options *opt, struct target *t)
{
	struct instance inst;
	int ret;

	if (!have_caps("cannot change parameters") || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (ret)
		return ret;
	ret = profiles_open(&inst, &t->profiles);
	if (ret)
		return ret;
	ret = profile_get(&t->profiles, opt->profile ? opt->profile : BBR_PROFILE_DEFAULT,
			  &t->index);
	if (ret)
		profiles_close(&t->profiles);
	else
		profile_read(&t->profiles, t->index, &t->old);
	return ret;
}

/* Which profile of which instance: "bpf_bbr", "bpf_bbr tsunami". */
static void print_target(const struct options *opt)
{
	printf("%s%s%s: ", opt->name, opt->profile ? " " : "", opt->profile ? opt->profile : "");
}

static void print_changes_json(const struct options *opt, const struct bbr_params *old,
			       const struct bbr_params *new)
{
	struct json_object *o = json_object_new_object(), *changed = json_object_new_object();

	for (size_t i = 0; i < nr_params; i++) {
		struct json_object *change;

		if (param_equal(&params[i], old, new))
			continue;
		change = json_object_new_object();
		json_object_object_add(change, "old", param_json(&params[i], old));
		json_object_object_add(change, "new", param_json(&params[i], new));
		json_object_object_add(change, "unit",
				       json_object_new_string(param_unit_name(&params[i])));
		json_object_object_add(changed, params[i].key, change);
	}
	json_object_object_add(o, "name", json_object_new_string(opt->name));
	json_object_object_add(
		o, "profile",
		json_object_new_string(opt->profile ? opt->profile : BBR_PROFILE_DEFAULT));
	json_object_object_add(o, "changed", changed);
	json_print(o);
}

static void print_changes(const struct options *opt, const struct bbr_params *old,
			  const struct bbr_params *new)
{
	char was[PARAM_TEXT_LEN], is[PARAM_TEXT_LEN];

	for (size_t i = 0; i < nr_params; i++) {
		if (param_equal(&params[i], old, new))
			continue;
		param_format(&params[i], old, was, sizeof(was));
		param_format(&params[i], new, is, sizeof(is));
		print_target(opt);
		printf("%s=%s (was %s)\n", params[i].key, is, was);
	}
}

static int change(const struct options *opt, struct target *t, const struct bbr_params *new)
{
	int error;

	if (!memcmp(&t->old, new, sizeof(*new))) {
		err("%s: has these values already", opt->profile ? opt->profile : opt->name);
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
	return EXIT_DONE;
}

int verb_set(const struct options *opt, int argc, char **argv)
{
	struct bbr_params new = params_default;
	struct target t;
	int ret;

	if (argc < 2) {
		err("set: nothing to set");
		remedy("usage: bbrctl set [--name NAME] [--profile PROFILE] KEY=VALUE...");
		return EXIT_USAGE;
	}
	/* All of the command line first: a mistake at its end must not leave half of it done. */
	for (int i = 1; i < argc; i++)
		if ((ret = param_assign(argv[i], &new)))
			return ret;
	ret = open_target(opt, &t);
	if (ret)
		return ret;
	new = t.old;
	for (int i = 1; i < argc; i++)
		param_assign(argv[i], &new);
	ret = change(opt, &t, &new);
	profiles_close(&t.profiles);
	return ret;
}

int verb_reset(const struct options *opt, int argc, char **argv)
{
	struct bbr_params new;
	struct target t;
	int ret;

	ret = params_check_keys(argc, argv);
	if (ret)
		return ret;
	ret = open_target(opt, &t);
	if (ret)
		return ret;
	new = argc > 1 ? t.old : params_default;
	for (int i = 1; i < argc; i++) {
		const struct param *param = param_find(argv[i], strlen(argv[i]));

		memcpy(param_values(param, &new), param_values_const(param, &params_default),
		       param->n * sizeof(__u32));
	}
	ret = change(opt, &t, &new);
	profiles_close(&t.profiles);
	return ret;
}
