/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks up the rules in force of a loaded instance, as its program does (bpf/rules.bpf.h).
 */
#ifndef LIB_RULE_LOOKUP_H
#define LIB_RULE_LOOKUP_H

#include <stdbool.h>

#include "bpf_bbr/rules.h"

struct instance;

struct rule_lookup {
	int fd; /* of the trie; < 0: there are no rules */
	__u32 n; /* rules */
	__u32 combinations; /* a bit for each combination of fields that has rules */
	__u32 n_terms;
	struct bbr_term term[2 * BBR_TERM_ENTRIES]; /* of the rules that are not in the trie */
};

/* The values of a connection that rules look at. */
struct rule_test {
	__u32 addr[4]; /* as in struct bbr_rule_key */
	__u32 src[4]; /* its local address */
	char dev[16]; /* the device that its route leads to; "": not known */
	__u16 dport, sport;
	__u32 mark;
	const __u64 *cgroups; /* the ids of its cgroup and all above */
	int nr_cgroups;
};

/* Opens the trie in an instance's array; -1: it has no rules. Returns 0 or -errno. */
int rule_trie_open(int outer_fd, int *trie);

/*
 * Opens the rules as they are now; later changes do not affect them. Returns 0, -EINVAL if bbrctl
 * did not write the rules, or another -errno. Call rule_lookup_close() in any case.
 */
int rule_lookup_open(struct rule_lookup *l, const struct instance *inst);
void rule_lookup_close(struct rule_lookup *l);

/* Reads the rule with this order, from 0. Returns 0 or -errno. */
int rule_lookup_get(const struct rule_lookup *l, __u32 order, struct bbr_rule *rule);

/* True if a rule asks for this, with or without a "not". */
bool rule_lookup_asks(const struct rule_lookup *l, enum bbr_term_kind kind);

/* True if the connection has what a term of the rule asks for. */
bool rule_term_holds(const struct bbr_rule *rule, const struct bbr_term *term,
		     const struct rule_test *test);

/* The one copy of a path (struct bbr_rule), from the mount. */
const char *rule_path(const char *path);

/* Finds the first rule, by order, that matches; false: none. Not for rules that ask for a path. */
bool rule_lookup_match(const struct rule_lookup *l, const struct rule_test *test,
		       struct bbr_rule *rule);

/* The trie's key for a rule. */
struct bbr_rule_key rule_key(const struct bbr_rule *rule);

/* The trie's key for an entry without an address: BBR_RULE_INDEX, or others with a number. */
struct bbr_rule_key rule_special_key(__u32 fields, __u32 order);

#endif
