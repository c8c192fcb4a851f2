// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "instance.h"
#include "rule_lookup.h"

#define WHOLE_KEY (8 * (sizeof(struct bbr_rule_key) - sizeof(__u32))) /* bits after prefixlen */

struct bbr_rule_key rule_special_key(__u32 fields, __u32 order)
{
	return (struct bbr_rule_key){ .prefixlen = WHOLE_KEY, .fields = fields, .mark = order };
}

struct bbr_rule_key rule_key(const struct bbr_rule *rule)
{
	struct bbr_rule_key key = {
		.prefixlen = BBR_RULE_EXACT_BITS + rule->dst_len,
		.fields = rule->fields,
		.mark = rule->fields & BBR_RULE_MARK ? rule->mark : 0,
		.cgroup = rule->fields & BBR_RULE_CGROUP ? rule->cgroup : 0,
		.dport = rule->fields & BBR_RULE_DPORT ? rule->dport : 0,
		.sport = rule->fields & BBR_RULE_SPORT ? rule->sport : 0,
	};

	memcpy(key.addr, rule->dst, sizeof(key.addr));
	return key;
}

static int read_terms(struct rule_lookup *l, __u32 entries)
{
	if (entries > BBR_TERM_ENTRIES)
		return -EINVAL;
	for (__u32 i = 0; i < entries; i++, l->n_terms += 2) {
		struct bbr_rule_key key = rule_special_key(BBR_RULE_TERMS, i);

		if (bpf_map_lookup_elem(l->fd, &key, &l->term[2 * i]))
			return errno == ENOENT ? -EINVAL : -errno;
	}
	return 0;
}

int rule_trie_open(int outer_fd, int *trie)
{
	static const __u32 place;
	__u32 id;

	*trie = -1;
	if (bpf_map_lookup_elem(outer_fd, &place, &id))
		return errno == ENOENT ? 0 : -errno;
	*trie = instance_map(id);
	return *trie < 0 ? *trie : 0;
}

static int open_trie(struct rule_lookup *l, int outer)
{
	struct bbr_rule_key key = rule_special_key(BBR_RULE_INDEX, 0);
	struct bbr_rule index;
	int error = rule_trie_open(outer, &l->fd);

	if (error || l->fd < 0)
		return error;
	if (bpf_map_lookup_elem(l->fd, &key, &index))
		return errno == ENOENT ? -EINVAL : -errno;
	if (index.profile > BBR_MAX_RULES)
		return -EINVAL;
	l->n = index.profile;
	l->combinations = index.order;
	return read_terms(l, index.mark);
}

int rule_lookup_open(struct rule_lookup *l, const struct instance *inst)
{
	int error, tries = 0, outer AUTO_CLOSE = instance_map(inst->rules_id);

	*l = (struct rule_lookup){ .fd = -1 };
	if (outer < 0)
		return outer;
	/* A reader has no lock: the trie can be replaced before it is opened. */
	do
		error = open_trie(l, outer);
	while (error == -ENOENT && ++tries < 100);
	return error;
}

void rule_lookup_close(struct rule_lookup *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

const char *rule_path(const char *path)
{
	static struct known {
		struct known *next;
		char path[];
	} *all;
	struct known *k = all;

	while (k && strcmp(k->path, path))
		k = k->next;
	if (!k) {
		k = mem_new(1, sizeof(*k) + strlen(path) + 1);
		strcpy(k->path, path);
		k->next = all;
		all = k;
	}
	return k->path;
}

static int read_path(const struct rule_lookup *l, __u32 order, const char **path)
{
	struct bbr_rule_key key = rule_special_key(BBR_RULE_TEXT, order);
	char text[BBR_RULE_TEXT_PIECES * BBR_RULE_SIZE + 1] = "";

	for (__u16 i = 0; i < BBR_RULE_TEXT_PIECES; i++) {
		key.dport = i;
		if (bpf_map_lookup_elem(l->fd, &key, text + i * BBR_RULE_SIZE))
			return errno == ENOENT ? -EINVAL : -errno;
		if (strlen(text) < (i + 1u) * BBR_RULE_SIZE)
			break;
	}
	*path = rule_path(text);
	return 0;
}

int rule_lookup_get(const struct rule_lookup *l, __u32 order, struct bbr_rule *rule)
{
	struct bbr_rule_key key = rule_special_key(BBR_RULE_LISTED, order);
	int error = 0;

	memset(rule, 0, sizeof(*rule));
	if (bpf_map_lookup_elem(l->fd, &key, rule))
		return -errno;
	for (const struct bbr_term *t = l->term; t < l->term + l->n_terms; t++) {
		struct bbr_term *more = &rule->more[rule->n_more];

		/*
		 * The others are among the rule's fields. A "not" of an unknown kind always holds.
		 */
		if (t->order != order || rule->n_more == BBR_RULE_MORE ||
		    t->kind >= BBR_TERM_KINDS ||
		    (!t->is_not && t->kind != BBR_TERM_SRC && t->kind != BBR_TERM_DEV &&
		     t->kind != BBR_TERM_PATH))
			continue;
		*more = *t;
		more->order = more->is_last = 0;
		rule->n_more++;
		if (t->kind == BBR_TERM_PATH && !t->is_not)
			error = read_path(l, order, &rule->path);
	}
	return error;
}

bool rule_lookup_asks(const struct rule_lookup *l, enum bbr_term_kind kind)
{
	for (__u32 i = 0; i < l->n_terms; i++)
		if (l->term[i].kind == kind)
			return true;
	return kind == BBR_TERM_CGROUP && l->combinations >> BBR_RULE_CGROUP;
}

static bool is_among(__u64 id, const __u64 *ids, int n)
{
	for (int i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static bool holds_as_is(const struct bbr_rule *rule, const struct bbr_term *t,
			const struct rule_test *test)
{
	switch (t->kind) {
	case BBR_TERM_DST:
		return bbr_same_prefix(t->value, test->addr, t->len);
	case BBR_TERM_SRC:
		return bbr_same_prefix(t->value, test->src, t->len);
	case BBR_TERM_DPORT:
		return t->value[0] == test->dport;
	case BBR_TERM_SPORT:
		return t->value[0] == test->sport;
	case BBR_TERM_MARK:
		return t->value[0] == test->mark;
	case BBR_TERM_CGROUP:
		return is_among(bbr_term_u64(t, 0), test->cgroups, test->nr_cgroups);
	case BBR_TERM_PATH:
		return rule->path &&
		       is_among(cgroup_id_now(rule->path), test->cgroups, test->nr_cgroups);
	case BBR_TERM_DEV:
		return !strncmp((const char *)t->value, test->dev, sizeof(test->dev));
	default:
		return false;
	}
}

bool rule_term_holds(const struct bbr_rule *rule, const struct bbr_term *term,
		     const struct rule_test *test)
{
	return holds_as_is(rule, term, test) != !!term->is_not;
}

/* Takes the best rule of one combination of fields, if it is better than what was found before. */
static bool try_combination(const struct rule_lookup *l, const struct rule_test *test, __u32 fields,
			    __u64 cgroup, struct bbr_rule *best)
{
	struct bbr_rule_key key;
	struct bbr_rule rule = { /* the trie has no terms and no path */
				 .dst_len = 128,     .fields = fields,	   .cgroup = cgroup,
				 .mark = test->mark, .dport = test->dport, .sport = test->sport
	};

	memcpy(rule.dst, test->addr, sizeof(rule.dst));
	key = rule_key(&rule);
	if (bpf_map_lookup_elem(l->fd, &key, &rule) || rule.order >= best->order)
		return false;
	*best = rule;
	return true;
}

/* The same for the rules that are not in the trie, up to the first that matches. */
static bool try_terms(const struct rule_lookup *l, const struct rule_test *test,
		      struct bbr_rule *best)
{
	__u32 failed = ~0u;

	for (const struct bbr_term *t = l->term; t < l->term + l->n_terms; t++) {
		if (t->kind == BBR_TERM_NONE || t->order == failed)
			continue;
		if (t->order >= best->order)
			return false;
		if (!rule_term_holds(best, t, test))
			failed = t->order;
		else if (t->is_last)
			return !rule_lookup_get(l, t->order, best);
	}
	return false;
}

bool rule_lookup_match(const struct rule_lookup *l, const struct rule_test *test,
		       struct bbr_rule *rule)
{
	bool found = false;

	*rule = (struct bbr_rule){ .order = ~0u };
	for (__u32 fields = 0; l->fd >= 0 && fields < BBR_RULE_COMBINATIONS; fields++) {
		int levels = fields & BBR_RULE_CGROUP ? test->nr_cgroups : 1;

		for (int i = 0; l->combinations & (1u << fields) && i < levels; i++)
			found |= try_combination(l, test, fields,
						 test->nr_cgroups ? test->cgroups[i] : 0, rule);
	}
	return try_terms(l, test, rule) || found;
}
