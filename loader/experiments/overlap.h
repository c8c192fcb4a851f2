/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_EXPERIMENT_OVERLAP_H
#define LOADER_EXPERIMENT_OVERLAP_H

#include <stdbool.h>

#include "bpf_bbr/experiment.h"

/* Is one of two cgroups below the other, or the same? Paths without a slash at their end, the root's may be "/". */
bool cgroups_are_nested(const char *a, const char *b);

/* Is the first cgroup the second, or below it? */
bool cgroup_is_within(const char *path, const char *above);

/* Is there a connection that both scopes match, of experiments in these cgroups? */
bool scopes_overlap(const struct experiment_scope *a, const char *a_cgroup,
		    const struct experiment_scope *b, const char *b_cgroup);

#endif
