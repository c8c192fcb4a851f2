/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules of a loaded instance (bpf_bbr/rules.h), in order.
 */
#ifndef LOADER_RULE_LIST_H
#define LOADER_RULE_LIST_H

#include <stddef.h>

#include "bpf_bbr/rules.h"
#include "kernel/rule_lookup.h"

struct instance;

struct rule_list {
	struct bbr_rule *rule; /* order is their index */
	__u32 n;
};

/* Those in force. EXIT_DONE, to be freed, or EXIT_REFUSED after printing why. */
int rule_list_read(const struct instance *inst, struct rule_list *rules);

/* The same without a word: 0, -EINVAL if bbrctl did not write them, or another -errno. */
int rule_list_try_read(const struct instance *inst, struct rule_list *rules);

/* Puts all of them in force at once. EXIT_DONE or EXIT_REFUSED. The caller holds the lock. */
int rule_list_write(const struct instance *inst, const struct rule_list *rules);

/* The same of an object that is not registered yet: its map of this file descriptor. */
int rule_list_write_map(int outer_fd, const struct rule_list *rules);

void rule_list_free(struct rule_list *rules);

/* Puts a rule at a place from 0 to n. EXIT_DONE or EXIT_REFUSED after printing why. */
int rule_list_insert(struct rule_list *rules, __u32 place, const struct bbr_rule *rule);
void rule_list_remove(struct rule_list *rules, __u32 place);

/* The rule that asks for the same as this one, whatever its profile: its index, or -1. */
int rule_list_find(const struct rule_list *rules, const struct bbr_rule *like);

/*
 * Are there two that ask for the same? Their indexes, in order. EXIT_DONE, with *first < *second if there are,
 * or EXIT_REFUSED after printing why not.
 */
int rule_list_find_twins(const struct rule_list *rules, __u32 *first, __u32 *second);

/* The first rule that matches a connection: its index, or -1. */
int rule_list_match(const struct rule_list *rules, const struct rule_test *test);

/* Rules of a profile. */
__u32 rule_list_count(const struct rule_list *rules, __u32 profile);

#endif
