// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "instance.h"
#include "rule_lookup.h"

#define WHOLE_KEY (8 * (sizeof(struct bbr_rule_key) - sizeof(__u32))) /* bits after prefixlen */

struct bbr_rule_key rule_special_key(__u32 fields, __u32 order)
{
	return (struct bbr_rule_key){ .prefixlen = WHOLE_KEY, .fields = fields, .mark = order };
}

static int open_trie(struct rule_lookup *l, int outer)
{
	static const __u32 place; /* of the trie in bbr_rules */
	struct bbr_rule_key key = rule_special_key(BBR_RULE_INDEX, 0);
	struct bbr_rule index;
	__u32 id;

	if (bpf_map_lookup_elem(outer, &place, &id))
		return errno == ENOENT ? 0 : -errno; /* none */
	l->fd = instance_map(id);
	if (l->fd < 0)
		return l->fd;
	if (bpf_map_lookup_elem(l->fd, &key, &index))
		return errno == ENOENT ? -EINVAL : -errno;
	if (index.profile > BBR_MAX_RULES)
		return -EINVAL;
	l->n = index.profile;
	l->combinations = index.order;
	return 0;
}

int rule_lookup_open(struct rule_lookup *l, const struct instance *inst)
{
	int error, tries = 0, outer = instance_map(inst->rules_id);

	*l = (struct rule_lookup){ .fd = -1 };
	if (outer < 0)
		return outer;
	/* A reader has no lock: the trie can be replaced before it is opened. */
	do
		error = open_trie(l, outer);
	while (error == -ENOENT && ++tries < 100);
	close(outer);
	return error;
}

void rule_lookup_close(struct rule_lookup *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int rule_lookup_get(const struct rule_lookup *l, __u32 order, struct bbr_rule *rule)
{
	struct bbr_rule_key key = rule_special_key(BBR_RULE_LISTED, order);

	return bpf_map_lookup_elem(l->fd, &key, rule) ? -errno : 0;
}

/* Takes the best rule of one combination of fields, if it is better than what was found before. */
static bool try_combination(const struct rule_lookup *l, const struct rule_test *test, __u32 fields,
			    __u64 cgroup, struct bbr_rule *best)
{
	struct bbr_rule_key key = rule_special_key(fields, 0);
	struct bbr_rule rule;

	if (fields & BBR_RULE_DPORT)
		key.dport = test->dport;
	if (fields & BBR_RULE_SPORT)
		key.sport = test->sport;
	if (fields & BBR_RULE_MARK)
		key.mark = test->mark;
	if (fields & BBR_RULE_CGROUP)
		key.cgroup = cgroup;
	memcpy(key.addr, test->addr, sizeof(key.addr));
	if (bpf_map_lookup_elem(l->fd, &key, &rule) || rule.order >= best->order)
		return false;
	*best = rule;
	return true;
}

bool rule_lookup_match(const struct rule_lookup *l, const struct rule_test *test,
		       struct bbr_rule *rule)
{
	bool found = false;

	rule->order = ~0u;
	for (__u32 fields = 0; l->fd >= 0 && fields < BBR_RULE_COMBINATIONS; fields++) {
		int levels = fields & BBR_RULE_CGROUP ? test->nr_cgroups : 1;

		for (int i = 0; l->combinations & (1u << fields) && i < levels; i++)
			found |= try_combination(l, test, fields,
						 test->nr_cgroups ? test->cgroups[i] : 0, rule);
	}
	return found;
}
