/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules of a loaded instance (bpf_bbr/rules.h), in order.
 */
#ifndef LOADER_RULE_LIST_H
#define LOADER_RULE_LIST_H

#include "bpf_bbr/rules.h"
#include "kernel/rule_lookup.h"

struct instance;

struct rule_list {
	struct bbr_rule *rule; /* order is their index */
	__u32 n;
};

/* Reads the rules in force. EXIT_DONE: call rule_list_free() later. */
int rule_list_read(const struct instance *inst, struct rule_list *rules);
/* The same without messages. Returns 0, -EINVAL if bbrctl did not write them, or another -errno. */
int rule_list_try_read(const struct instance *inst, struct rule_list *rules);

/* Puts all of them in force at once. The caller holds the lock. */
int rule_list_write(const struct instance *inst, const struct rule_list *rules);
/* The same for an object that is not registered yet; outer_fd is its map. */
int rule_list_write_map(int outer_fd, const struct rule_list *rules);

/* Makes a trie of the rules, for the array of an instance. Returns its descriptor or -errno. */
int rule_trie_make(const struct rule_list *rules);
/* Prints why that failed. */
int rule_list_error(int error);

void rule_list_free(struct rule_list *rules);

/* Inserts a rule at a place from 0 to n. */
int rule_list_insert(struct rule_list *rules, __u32 place, const struct bbr_rule *rule);
void rule_list_remove(struct rule_list *rules, __u32 place);

/* The index of the rule that asks for the same as this one, whatever its profile; or -1. */
int rule_list_find(const struct rule_list *rules, const struct bbr_rule *like);

/* Finds two rules that ask for the same: their indexes *first < *second; equal: there are none. */
void rule_list_find_twins(const struct rule_list *rules, __u32 *first, __u32 *second);

/* The index of the first rule that matches a connection, or -1. */
int rule_list_match(const struct rule_list *rules, const struct rule_test *test);

/* How many rules choose a profile. */
__u32 rule_list_count(const struct rule_list *rules, __u32 profile);

#endif
