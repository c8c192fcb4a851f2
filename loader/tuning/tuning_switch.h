/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes profiles and rules of several instances in one system call, so that a killed bbrctl
 * leaves all of the old or all of the new state. It first writes the new state where nobody reads
 * it: parameters into banks that are not selected, rules into a new trie.
 */
#ifndef LOADER_TUNING_SWITCH_H
#define LOADER_TUNING_SWITCH_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/profiles.h"
#include "kernel/instance.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"

/* The change of one instance. */
struct tuning_change {
	const struct profile_map *map;
	struct bbr_profiles_head from, to; /* generations and names */
	int params_fd, rules_fd;
	bool changes_rules;
	int from_trie, to_trie; /* -1: no rules */
};

/* Begins with no change. Call tuning_change_close() anyway. */
int tuning_change_open(const struct instance *inst, const struct profile_map *map,
		       struct tuning_change *change);
void tuning_change_close(struct tuning_change *change);

/*
 * Each adds to the change. Before the first of them that has parameters, the caller waits with
 * profile_wait(). A new profile's place is one that is free now. Returns 0 or -errno (-ENOSPC: no
 * place is free).
 */
int tuning_change_profile(struct tuning_change *change, const char *name,
			  const struct param_set *p);
void tuning_delete_profile(struct tuning_change *change, const char *name);

/* The index of a profile after the change, or -1. */
int tuning_changed_profile(const struct tuning_change *change, const char *name);

/* The new rules. Their profiles are indexes after the change. Returns 0 or -errno. */
int tuning_change_rules(struct tuning_change *change, const struct rule_list *rules);

/* Makes all changes, or none. Returns 0 or -errno. The caller holds the lock. */
int tuning_switch(const struct tuning_change *change, size_t n);

/* Turns a change that was made into the one that undoes it. */
void tuning_change_reverse(struct tuning_change *change);

/*
 * What decides how an instance treats its connections: its profiles, and the rules that choose
 * them.
 */
struct tuning {
	struct instance inst;
	struct profile_map profiles;
	struct rule_list rules;
};

/* Opens that of a loaded instance, perhaps without rules. In any case call tuning_close() later. */
int tuning_open(const char *name, bool with_rules, struct tuning *t);
void tuning_close(struct tuning *t);

/* The name of a rule's profile; the default profile's if there is none with the rule's index. */
void tuning_rule_profile(const struct tuning *t, const struct bbr_rule *rule,
			 char name[BBR_PROFILE_NAME_LEN]);

#endif
