// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/completers.h"
#include "tuning/profile_definitions.h"
#include "verbs/verbs.h"

static const struct algorithm *algorithm_of(const struct completion *c)
{
	const char *name = completion_option(c, "algorithm");
	const struct algorithm *algorithm = name ? algorithm_find(name) : NULL;

	return algorithm ? algorithm : algorithms[0];
}

static void add_algorithms(const struct completion *c)
{
	for (size_t i = 0; i < n_algorithms; i++)
		completion_add(c, algorithms[i]->name, algorithms[i]->title);
}

static void add_designs(const struct completion *c)
{
	for (__u32 i = 0; i < EXPERIMENT_DESIGNS; i++)
		completion_add(c, experiment_designs[i], "");
}

static void add_units(const struct completion *c)
{
	completion_add(c, "connection", "each draws its arm");
	completion_add(c, "prefix", "all with one remote prefix have the same arm");
}

/* Labels of the arms of running experiments. */
static void add_arms(const struct completion *c)
{
	struct experiment_list list AUTO(experiments_free) = {};

	if (privileges_take() || experiments_list(&list))
		return;
	for (int i = 0; i < list.n; i++)
		for (__u32 k = 0; k < list.at[i].config.arms; k++)
			completion_add(c, list.at[i].config.arm[k].label, list.at[i].config.name);
}

/* `start` names a new experiment: there is nothing to complete. */
static void add_experiments(const struct completion *c)
{
	if (strcmp(completion_verb(c), "experiment start"))
		complete_experiments(c);
}

static void add_params(const struct completion *c, const char *end)
{
	char word[64];

	param_for_each (param, algorithm_of(c)) {
		snprintf(word, sizeof(word), "%s%s", param->key, end);
		completion_add(c, word, param->help);
	}
}

static void add_keys(const struct completion *c)
{
	add_params(c, "");
}

static void add_assignments(const struct completion *c)
{
	add_params(c, "=");
}

/* Profiles that an instance can get. */
static void add_known_profiles(const struct completion *c)
{
	struct profile_definitions defs AUTO(profile_definitions_free) = {};

	profile_definitions_known(algorithm_of(c), &defs);
	for (size_t i = 0; i < defs.n; i++)
		completion_add(c, defs.def[i].name, defs.def[i].about);
}

/* Profiles that the instance on the command line has. */
static void add_profiles(const struct completion *c)
{
	const char *instance = completion_option(c, "name");
	struct profile_map profiles AUTO(profile_map_close) = {};
	char name[BBR_PROFILE_NAME_LEN];
	struct instance inst;

	if (!strcmp(completion_verb(c), "profile add")) {
		add_known_profiles(c);
		return;
	}
	if (privileges_take() ||
	    instance_get(instance ? instance : algorithms[0]->instance, &inst) ||
	    profile_map_open(&inst, &profiles))
		return;
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&profiles, i, name);
		if (name[0])
			completion_add(c, name, "");
	}
}

static void add_known_profiles_and_files(const struct completion *c)
{
	add_known_profiles(c);
	completion_add_files(c);
}

const struct completer bbrctl_completers[] = {
	{ "ALGORITHM", add_algorithms },
	{ "ARM", add_arms },
	{ "CC", complete_congestion_controls },
	{ "DESIGN", add_designs },
	{ "DEVICE", complete_devices },
	{ "EXPERIMENT", add_experiments },
	{ "FILE", completion_add_files },
	{ "KEY", add_keys },
	{ "KEY=VALUE", add_assignments },
	{ "NAME", complete_instances },
	{ "PATH", complete_cgroups },
	{ "PROFILE", add_profiles },
	{ "PROFILE|FILE", add_known_profiles_and_files },
	{ "UNIT", add_units },
	{ "--netns", complete_netns },
	{},
};
