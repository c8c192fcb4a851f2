/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that decides how the connections of an instance are treated: its profiles, and the rules that lead to them.
 */
#ifndef LOADER_TUNING_H
#define LOADER_TUNING_H

#include "instance.h"
#include "profile.h"
#include "rules.h"

struct tuning {
	struct instance inst;
	struct profiles profiles;
	struct rules rules;
};

/* Of a loaded instance. EXIT_DONE, to be closed, or another after printing why. */
int tuning_open(const char *name, struct tuning *t);
void tuning_close(struct tuning *t);

/* The name of a rule's profile; the default's if what was written into the map is none. */
void tuning_rule_profile(const struct tuning *t, const struct bbr_rule *rule,
			 char name[BBR_PROFILE_NAME_LEN]);

#endif
