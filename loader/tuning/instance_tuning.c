// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/err.h"
#include "tuning/instance_tuning.h"

int tuning_open(const char *name, struct tuning *t)
{
	int ret = instance_get(name, &t->inst);

	if (!ret)
		ret = profile_map_open(&t->inst, &t->profiles);
	if (ret)
		return ret;
	ret = rule_list_read(&t->inst, &t->rules);
	if (ret)
		profile_map_close(&t->profiles);
	return ret;
}

void tuning_close(struct tuning *t)
{
	rule_list_free(&t->rules);
	profile_map_close(&t->profiles);
}

void tuning_rule_profile(const struct tuning *t, const struct bbr_rule *rule,
			 char name[BBR_PROFILE_NAME_LEN])
{
	name[0] = 0;
	if (rule->profile < BBR_PROFILES)
		profile_name(&t->profiles, rule->profile, name);
	if (!name[0])
		strcpy(name, BBR_PROFILE_DEFAULT); /* as the program does */
}
