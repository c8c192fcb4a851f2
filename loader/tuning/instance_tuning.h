/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What decides how an instance treats its connections: its profiles, and the rules that choose
 * them.
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

/*
 * Opens that of a loaded instance. Returns EXIT_DONE, for tuning_close(), or another status after
 * printing why.
 */
int tuning_open(const char *name, struct tuning *t);
void tuning_close(struct tuning *t);

/* The name of a rule's profile; the default profile's if there is none with the rule's index. */
void tuning_rule_profile(const struct tuning *t, const struct bbr_rule *rule,
			 char name[BBR_PROFILE_NAME_LEN]);

#endif
