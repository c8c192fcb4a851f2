/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The profile of a new connection: the one that an experiment assigns to it (bpf_bbr/profiles.h),
 * else the one of the first rule that matches (bpf_bbr/rules.h describes the layout of rules).
 */
#ifndef RULES_BPF_H
#define RULES_BPF_H

#include "address.bpf.h"
#include "kernel.bpf.h"
#include "terms.bpf.h"
#include "bpf_bbr/profiles.h"
#include "bpf_bbr/rules.h"

struct rules_trie {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, BBR_RULE_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, sizeof(struct bbr_rule_key));
	__uint(value_size, BBR_RULE_SIZE);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct rules_trie);
} bbr_rules SEC(".maps"); /* BBR_MAP_RULES */

#define RULE_KEY_BITS (8 * (sizeof(struct bbr_rule_key) - sizeof(u32))) /* after prefixlen */

/* The search for a connection's rule, and the best rule so far. */
struct rule_search {
	void *trie;
	u64 combinations; /* a bit for each that has rules */
	struct cgroup *cgroup; /* the level that is tried, and its id */
	u64 cgroup_id;
	u32 cgroup_field; /* of the combinations that are tried: BBR_RULE_CGROUP or 0 */
	u32 order; /* of the best rule */
	u32 profile;
	struct term_socket socket; /* the connection's values */
	u32 failed; /* order of the rule whose term does not hold */
};

/*
 * The loops are bpf_loop()s: the verifier explores a body once, and not once for each combination
 * of each level. A body returns 1 to stop the loop.
 */

/* Takes the best rule of one combination of fields, if it is better than what was found before. */
static long try_combination(u32 fields, struct rule_search *s)
{
	struct bbr_rule_key key = { .prefixlen = RULE_KEY_BITS };
	struct bbr_rule *rule;

	fields |= s->cgroup_field;
	if (!(s->combinations & (1ull << (fields & 63))))
		return false;
	key.fields = fields;
	__builtin_memcpy(key.addr, s->socket.remote, sizeof(key.addr));
	if (fields & BBR_RULE_DPORT)
		key.dport = s->socket.dport;
	if (fields & BBR_RULE_SPORT)
		key.sport = s->socket.sport;
	if (fields & BBR_RULE_MARK)
		key.mark = s->socket.mark;
	if (fields & BBR_RULE_CGROUP)
		key.cgroup = s->cgroup_id;
	rule = bpf_map_lookup_elem(s->trie, &key);
	if (rule && rule->order < s->order) {
		s->order = rule->order;
		s->profile = rule->profile;
	}
	return false;
}

/* A rule holds for a cgroup and all below it. */
static long try_cgroup(u32 level, struct rule_search *s)
{
	struct cgroup *cgroup = s->cgroup;

	if (!cgroup)
		return true;
	s->cgroup_id = BPF_CORE_READ(cgroup, kn, id);
	bpf_loop(BBR_RULE_CGROUP, try_combination, s, 0);
	/* A cgroup begins with its own css. */
	s->cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	return false;
}

/*
 * Takes the rule of a term if all its terms hold. Returns true if no later one is better. The key is
 * one that is no longer needed: stack is short here.
 */
static inline bool try_term(struct rule_search *s, struct bbr_rule_key *key,
			    const struct bbr_term *term)
{
	struct bbr_rule *rule;

	if (term->kind == BBR_TERM_NONE || term->order == s->failed)
		return false;
	if (term->order >= s->order)
		return true;
	if (!term_holds(term, &s->socket)) {
		s->failed = term->order;
		return false;
	}
	if (!term->is_last)
		return false;
	key->fields = BBR_RULE_LISTED;
	key->mark = term->order;
	rule = bpf_map_lookup_elem(s->trie, key);
	if (rule) {
		s->order = term->order;
		s->profile = rule->profile;
	}
	return true;
}

static long try_terms(u32 i, struct rule_search *s)
{
	struct bbr_rule_key key = { .prefixlen = RULE_KEY_BITS,
				    .fields = BBR_RULE_TERMS,
				    .mark = i };
	struct bbr_terms *terms = bpf_map_lookup_elem(s->trie, &key);

	return !terms || try_term(s, &key, &terms->term[0]) || try_term(s, &key, &terms->term[1]);
}

/* The profile of the first rule that matches, or 0. */
static __attribute__((noinline)) u32 choose_profile(struct sock *sk)
{
	struct bbr_rule_key index = { .prefixlen = RULE_KEY_BITS, .fields = BBR_RULE_INDEX };
	struct rule_search search = { .order = ~0u, .failed = ~0u };
	struct bbr_rule *rule;

	search.trie = bpf_map_lookup_elem(&bbr_rules, &(u32){ 0 });
	if (!search.trie) /* no rules */
		return 0;
	rule = bpf_map_lookup_elem(search.trie, &index);
	if (!rule)
		return 0;
	search.combinations = rule->order;
	fill_term_socket(&search.socket, sk);
	bpf_loop(BBR_RULE_CGROUP, try_combination, &search, 0);
	if (search.combinations >> BBR_RULE_CGROUP && sockets_have_cgroups()) {
		search.cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
		search.cgroup_field = BBR_RULE_CGROUP;
		bpf_loop(BBR_RULE_CGROUP_LEVELS, try_cgroup, &search, 0);
	}
	if (rule->mark) {
		fill_term_socket_up(&search.socket, sk);
		bpf_loop(BBR_TERM_ENTRIES, try_terms, &search, 0);
	}
	return search.profile;
}

struct assigned_places assigned SEC(INSTANCE_MAP_ASSIGNED) = {};

#define NONE_ASSIGNED (~0u)

/*
 * Takes the profile from a place that seems to be this connection's, and frees the place. Returns
 * NONE_ASSIGNED if it is not.
 */
static __attribute__((noinline)) u32 take_assigned(struct assigned_profile *a, struct sock *sk)
{
	u64 mine = assigned_owner(cookie_of(sk), bpf_ktime_get_ns()), owner = a->owner;
	u32 profile = a->profile;

	if (assigned_is_free(owner, mine) ||
	    __sync_val_compare_and_swap(&a->owner, owner, 0) != owner)
		return NONE_ASSIGNED;
	return profile;
}

static inline u32 profile_for(struct sock *sk)
{
	struct assigned_profile *a = &assigned.place[assigned_place(ports_of(sk))];
	u32 profile = NONE_ASSIGNED;

	if (unlikely(*(volatile u32 *)&a->owner == (u32)~cookie_of(sk)))
		profile = take_assigned(a, sk);
	return profile == NONE_ASSIGNED ? choose_profile(sk) : profile;
}

#endif
