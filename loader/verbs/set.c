// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/verbs.h"

static void print_changes(const struct options *opt, const struct param_set *old,
			  const struct param_set *new)
{
	char was[PARAM_TEXT_LEN], is[PARAM_TEXT_LEN];
	struct json j;

	if (opt->json) {
		json_begin_pretty(&j, stdout);
		json_add_string(&j, "name", opt->name);
		json_add_string(&j, "profile", opt->profile ? opt->profile : BBR_PROFILE_DEFAULT);
		param_add_changes_json(&j, "changed", old, new);
		json_end(&j);
		return;
	}
	param_for_each (param, old->algorithm) {
		if (param_equal(param, old, new))
			continue;
		param_format(param, old, was, sizeof(was));
		param_format(param, new, is, sizeof(is));
		/* Which profile of which instance: "bpf_bbr", "bpf_bbr tsunami". */
		printf("%s%s%s: %s=%s (was %s)\n", opt->name, opt->profile ? " " : "",
		       opt->profile ? opt->profile : "", param->key, is, was);
	}
}

static int change(const struct options *opt, struct tuning *t, int index,
		  const struct param_set *old, const struct param_set *new)
{
	int error;

	if (param_set_equal(old, new))
		return err_nothing("%s: already has these values",
				   opt->profile ? opt->profile : opt->name);
	if (profile_check_known(&t->profiles, new))
		return EXIT_REFUSED;
	error = profile_write(&t->profiles, index, new);
	if (error)
		return err_bpf(error, "cannot write the instance's parameters");
	print_changes(opt, old, new);
	param_warn(opt->name, old, new);
	return EXIT_DONE;
}

static int verb_set(struct options *opt, int argc, char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	struct param_set old, new;
	int index, ret = param_check_assignments_early(argc - 1, argv + 1);

	if (!ret)
		ret = choose_profile(opt, true, &t, &index, &old);
	if (ret)
		return ret;
	/* Parse the whole command line first: a mistake at its end must not leave half of it done. */
	new = old;
	for (int i = 1; !ret && i < argc; i++)
		ret = param_assign(argv[i], &new);
	return ret ? ret : change(opt, &t, index, &old, &new);
}

static int verb_reset(struct options *opt, int argc, char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	struct param_set old, new;
	int index, ret = param_check_keys(NULL, argc, argv);

	if (!ret)
		ret = choose_profile(opt, true, &t, &index, &old);
	if (!ret)
		ret = param_check_keys(old.algorithm, argc, argv);
	if (ret)
		return ret;
	new = argc > 1 ? old : param_set_default(old.algorithm);
	for (int i = 1; i < argc; i++)
		param_reset(param_find(old.algorithm, argv[i], strlen(argv[i])), &new);
	return change(opt, &t, index, &old, &new);
}

static const struct option_def set_options[] = {
	NAME,
	PROFILE("PROFILE", "change this profile instead of the default one"),
	END,
};

BBRCTL_VERB(set, "set", NEEDS(CHANGE, .may = FILES), .args = "KEY=VALUE...", .min_args = 1,
	    .max_args = MANY, .brief = "change parameters, all at once; open connections follow",
	    OPTIONS({ set_options, 0 }));

BBRCTL_VERB(reset, "reset", NEEDS(CHANGE, .may = FILES), .args = "[KEY]...", .max_args = MANY,
	    .brief = "set parameters back to the defaults", OPTIONS({ set_options, 0 }));
