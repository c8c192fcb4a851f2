// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "err.h"
#include "tuning.h"

int tuning_open(const char *name, struct tuning *t)
{
	int ret = instance_get(name, &t->inst);

	if (!ret)
		ret = profiles_open(&t->inst, &t->profiles);
	if (ret)
		return ret;
	ret = rules_read(&t->inst, &t->rules);
	if (ret)
		profiles_close(&t->profiles);
	return ret;
}

void tuning_close(struct tuning *t)
{
	rules_free(&t->rules);
	profiles_close(&t->profiles);
}

void tuning_rule_profile(const struct tuning *t, const struct bbr_rule *rule,
			 char name[BBR_PROFILE_NAME_LEN])
{
	name[0] = 0;
	if (rule->profile < BBR_PROFILES)
		profile_name(&t->profiles, rule->profile, name);
	if (!name[0])
		strcpy(name, BBR_PROFILE_DEFAULT); /* as the program has it */
}
