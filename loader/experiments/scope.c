// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "address.h"
#include "experiments/experiments.h"

bool cgroup_is_within(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (len && above[len - 1] == '/')
		len--;
	return !strncmp(path, above, len) && (!path[len] || path[len] == '/');
}

bool cgroups_are_nested(const char *a, const char *b)
{
	return cgroup_is_within(a, b) || cgroup_is_within(b, a);
}

/* Two prefixes have an address in common if the longer one begins like the shorter one. */
static bool prefixes_overlap(const struct experiment_scope *a, const struct experiment_scope *b)
{
	__u32 mask[4];

	prefix_mask(mask, a->dst_len < b->dst_len ? a->dst_len : b->dst_len);
	for (int i = 0; i < 4; i++)
		if ((a->dst[i] ^ b->dst[i]) & mask[i])
			return false;
	return true;
}

/* 0 matches any value. */
static bool meet(__u64 a, __u64 b)
{
	return !a || !b || a == b;
}

bool scopes_overlap(const struct experiment_scope *a, const char *a_cgroup,
		    const struct experiment_scope *b, const char *b_cgroup)
{
	return cgroups_are_nested(a_cgroup, b_cgroup) && meet(a->dport, b->dport) &&
	       meet(a->sport, b->sport) && meet(a->netns, b->netns) &&
	       (!a->has_mark || !b->has_mark || a->mark == b->mark) && prefixes_overlap(a, b);
}

struct bbr_rule scope_rule(const struct experiment_scope *scope)
{
	struct bbr_rule rule = {
		.dst_len = scope->dst_len,
		.mark = scope->mark,
		.dport = scope->dport,
		.sport = scope->sport,
		.fields = (scope->dport ? BBR_RULE_DPORT : 0) |
			  (scope->sport ? BBR_RULE_SPORT : 0) |
			  (scope->has_mark ? BBR_RULE_MARK : 0),
	};

	memcpy(rule.dst, scope->dst, sizeof(rule.dst));
	return rule;
}
