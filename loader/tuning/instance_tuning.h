/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that decides how the connections of an instance are treated: its profiles, and the rules that lead to them.
 */
#ifndef LOADER_INSTANCE_TUNING_H
#define LOADER_INSTANCE_TUNING_H

#include "kernel/instance.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"

struct tuning {
	struct instance inst;
	struct profile_map profiles;
	struct rule_list rules;
};

/* Of a loaded instance. EXIT_DONE, to be closed, or another after printing why. */
int tuning_open(const char *name, struct tuning *t);
void tuning_close(struct tuning *t);

/* The name of a rule's profile; the default's if what was written into the map is none. */
void tuning_rule_profile(const struct tuning *t, const struct bbr_rule *rule,
			 char name[BBR_PROFILE_NAME_LEN]);

#endif
