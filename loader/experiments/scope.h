/* SPDX-License-Identifier: GPL-2.0-only */
/* Which connections an experiment is about. */
#ifndef LOADER_EXPERIMENTS_SCOPE_H
#define LOADER_EXPERIMENTS_SCOPE_H

#include <stdbool.h>

#include "bpf_bbr/experiment.h"
#include "bpf_bbr/rules.h"

#define SCOPE_V4_BITS 96 /* of ::ffff:0:0/96 */

/*
 * Is one of two cgroups below the other, or the same? Paths have no slash at the end; the root's
 * may be "/".
 */
bool cgroups_are_nested(const char *a, const char *b);

/* Is the first cgroup the second, or below it? */
bool cgroup_is_within(const char *path, const char *above);

/* Can a connection match both scopes, of experiments in these cgroups? */
bool scopes_overlap(const struct experiment_scope *a, const char *a_cgroup,
		    const struct experiment_scope *b, const char *b_cgroup);

/* The scope as a rule, without the cgroup and the network namespace. */
struct bbr_rule scope_rule(const struct experiment_scope *scope);

#endif
