/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules choose the profile of a new connection: the first in order that matches.
 *
 * The program does not go through the rules one by one. Whoever writes them makes a trie of longest
 * prefixes. Its key is the values of a rule's fields, followed by the rule's prefix. For each
 * combination of fields that occurs among the rules, a connection looks up its own values. The
 * longest prefix found is the end of the chain of all that match, and holds the first rule of that
 * chain. So a connection start costs one lookup for each combination (16 at most, and once for each
 * level of its cgroup where rules have one), whatever the number of rules.
 *
 * The map bbr_rules is an array of one such trie, which is replaced as a whole. It also holds the
 * rules as they were given, under keys of their own, so that all of it changes at once.
 */
#ifndef BPF_BBR_RULES_H
#define BPF_BBR_RULES_H

#include <linux/types.h>

#define BBR_MAX_RULES 65536

/* Fields that a rule may ask for besides the prefix. */
enum bbr_rule_field {
	BBR_RULE_DPORT = 1 << 0,
	BBR_RULE_SPORT = 1 << 1,
	BBR_RULE_MARK = 1 << 2,
	BBR_RULE_CGROUP = 1 << 3,
	BBR_RULE_COMBINATIONS = 1 << 4,
};

/*
 * The trie's key: exact fields first, 0 where a rule does not compare them, then the prefix of the
 * remote address. `fields` is in front, so that a lookup passes neither other combinations nor the
 * list.
 */
struct bbr_rule_key {
	__u32 prefixlen; /* BBR_RULE_EXACT_BITS and the bits of the prefix */
	__u32 fields; /* enum bbr_rule_field, or BBR_RULE_INDEX */
	__u64 cgroup; /* id of a cgroup that the socket is in or below */
	__u32 mark; /* SO_MARK */
	__u16 dport; /* remote, network byte order */
	__u16 sport; /* local, network byte order */
	__u32 addr[4]; /* network byte order, IPv4 as ::ffff:a.b.c.d */
};

_Static_assert(sizeof(struct bbr_rule_key) == 40, "bbr_rule_key has no gaps");

/* Levels of the hierarchy that are looked at, from the socket's cgroup upwards. */
#define BBR_RULE_CGROUP_LEVELS 32

#define BBR_RULE_EXACT_BITS 160 /* of the key before addr, prefixlen left out */

/*
 * bbr_rule_key.fields of entries that no connection looks up by its values. All other members are
 * 0, except as noted.
 */
#define BBR_RULE_INDEX \
	0xffffffffu /* `order`: a bit for each combination of fields; `profile`: count of rules */
#define BBR_RULE_LISTED 0xfffffffeu /* `mark` is the rule's order */

/* The trie's value: a rule as it was given. */
struct bbr_rule {
	__u32 dst[4]; /* remote prefix, as in the key */
	__u32 dst_len; /* bits; 0: any address; IPv4 has 96 more than its own */
	__u32 fields; /* enum bbr_rule_field: which of the members below a connection must have */
	__u64 cgroup;
	__u32 mark;
	__u16 dport, sport; /* network byte order */
	__u32 profile; /* index */
	__u32 order; /* 0 is the first of all */
};

_Static_assert(sizeof(struct bbr_rule) == 48, "bbr_rule is ABI");

#endif
