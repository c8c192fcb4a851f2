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
 * Rules that ask for more (a local address or device, or a "not") are few: struct bbr_term.
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
#define BBR_RULE_TERMS 0xfffffffdu /* `mark` counts from 0; the value is a struct bbr_terms */

/*
 * A condition that the trie cannot look up. A rule that has one is not in the trie: all of its
 * conditions are terms, one behind the other. The terms of all such rules, in the rules' order, are
 * BBR_RULE_TERMS entries, and the index has their number in `mark`. A connection tries them one
 * after the other, up to the first rule that matches. Programs of cgroups have terms, too (attach.h).
 */
enum bbr_term_kind {
	BBR_TERM_NONE, /* fills an entry: no condition */
	BBR_TERM_DST, /* a prefix of the remote address: value, len */
	BBR_TERM_SRC, /* a prefix of the local address */
	BBR_TERM_DPORT, /* value[0]: network byte order */
	BBR_TERM_SPORT,
	BBR_TERM_MARK, /* value[0] */
	BBR_TERM_CGROUP, /* the socket is in the cgroup with the id in value[0], value[1] or below */
	BBR_TERM_DEV, /* value: name of the device that the connection's route leads to */
	BBR_TERM_PATH, /* like CGROUP, whatever its id: see bbr_path_hash() */
	BBR_TERM_KINDS
};

struct bbr_term {
	__u8 kind; /* enum bbr_term_kind */
	__u8 is_not; /* it must not hold */
	__u8 len; /* DST, SRC: bits, as dst_len; PATH: components */
	__u8 is_last; /* of its rule */
	__u32 order; /* of its rule */
	__u32 value[4];
};

struct bbr_terms {
	struct bbr_term term[2];
};

/* The path of a rule's PATH, from the mount: `mark` is the rule's order, `dport` counts the pieces. */
#define BBR_RULE_TEXT 0xfffffffcu
#define BBR_RULE_TEXT_PIECES 86 /* of BBR_RULE_SIZE bytes, for 4096 */

#define BBR_TERM_ENTRIES 256 /* struct bbr_terms that an instance can have */
/* Each rule may have two entries, and there is the index. */
#define BBR_RULE_ENTRIES (2 * BBR_MAX_RULES + 1 + BBR_TERM_ENTRIES * (1 + 2 * BBR_RULE_TEXT_PIECES))
#define BBR_RULE_MORE 8 /* terms of a rule besides those that `fields` and dst_len can say */
#define BBR_RULE_TERMS_MAX (BBR_RULE_MORE + 5)

/*
 * BBR_TERM_PATH: value[0] and [1] are the hash of a path below the cgroup with the id in value[2]
 * and [3]. The hash goes through the names from the last to the first, 7 bytes at a time, each time
 * with a 0 behind them; a name ends with the piece that is shorter.
 */
#define BBR_PATH_PIECE 8
#define BBR_NAME_PIECES 37 /* of the longest name, 255 bytes */

static inline __u64 bbr_path_hash(__u64 hash, __u64 piece)
{
	hash = (hash ^ piece) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The id or hash in two words of a term's value, from word i on. */
static inline __u64 bbr_term_u64(const struct bbr_term *t, int i)
{
	return t->value[i] | (__u64)t->value[i + 1] << 32;
}

/* True if both addresses begin with the same len bits, 0 to 128. */
static inline int bbr_same_prefix(const __u32 *a, const __u32 *b, __u32 len)
{
	__u32 differ = 0;

	for (__u32 i = 0; i < 4; i++) {
		__u32 bits = len > 32 * i ? len - 32 * i : 0;
		__u32 mask = bits >= 32 ? ~0u : ~(~0u >> bits);

		differ |= (a[i] ^ b[i]) & __builtin_bswap32(mask);
	}
	return !differ;
}

/*
 * A rule as it was given. The trie's values are its first BBR_RULE_SIZE bytes; what follows is kept
 * as terms.
 */
struct bbr_rule {
	__u32 dst[4]; /* remote prefix, as in the key */
	__u32 dst_len; /* bits; 0: any address; IPv4 has 96 more than its own */
	__u32 fields; /* enum bbr_rule_field: which of the members below a connection must have */
	__u64 cgroup;
	__u32 mark;
	__u16 dport, sport; /* network byte order */
	__u32 profile; /* index */
	__u32 order; /* 0 is the first of all */

	__u32 n_more;
	struct bbr_term more[BBR_RULE_MORE]; /* their order and is_last are 0 */
#ifndef __bpf__
	const char
		*path; /* of its term of kind PATH; NULL: none. Never freed: equal ones are one. */
#endif
};

#define BBR_RULE_SIZE 48

_Static_assert(__builtin_offsetof(struct bbr_rule, n_more) == BBR_RULE_SIZE &&
		       sizeof(struct bbr_terms) == BBR_RULE_SIZE,
	       "bbr_rule is ABI");

#endif
