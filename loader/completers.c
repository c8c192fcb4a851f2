// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cli/completion.h"
#include "cli/privileges.h"
#include "completers.h"
#include "descriptor.h"
#include "kernel/completers.h"
#include "kernel/instance.h"
#include "tuning/param.h"
#include "tuning/profile_definitions.h"
#include "tuning/profile_map.h"

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

static void add_keys(const struct completion *c)
{
	param_for_each (param, algorithm_of(c))
		completion_add(c, param->key, param->help);
}

static void add_assignments(const struct completion *c)
{
	char word[64];

	param_for_each (param, algorithm_of(c)) {
		snprintf(word, sizeof(word), "%s=", param->key);
		completion_add(c, word, param->help);
	}
}

/* Those that an instance can get. */
static void add_known_profiles(const struct completion *c)
{
	struct profile_definitions defs = {};

	profile_definitions_known(algorithm_of(c), &defs);
	for (size_t i = 0; i < defs.n; i++)
		completion_add(c, defs.def[i].name, defs.def[i].about);
	profile_definitions_free(&defs);
}

/* Those that the instance of the command line has. */
static void add_profiles(const struct completion *c)
{
	const char *instance = completion_option(c, "name");
	char name[BBR_PROFILE_NAME_LEN];
	struct profile_map profiles;
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
	profile_map_close(&profiles);
}

static void add_known_profiles_and_files(const struct completion *c)
{
	add_known_profiles(c);
	completion_add_files(c);
}

const struct completer bbrctl_completers[] = {
	{ "ALGORITHM", add_algorithms },
	{ "CC", complete_congestion_controls },
	{ "FILE", completion_add_files },
	{ "KEY", add_keys },
	{ "KEY=VALUE", add_assignments },
	{ "NAME", complete_instances },
	{ "PATH", complete_cgroups },
	{ "PROFILE", add_profiles },
	{ "PROFILE|FILE", add_known_profiles_and_files },
	{ "--netns", complete_netns },
	{},
};
