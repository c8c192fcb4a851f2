/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For each loaded instance, how many connections match which rule now. A connection keeps the
 * profile that its rule gave it, but not the rule, so the current rules are applied.
 */
#ifndef TOOLS_RULE_COUNTS_H
#define TOOLS_RULE_COUNTS_H

#include "bpf_bbr/rules.h"
#include "bpf_bbr/snapshot.h"
#include "kernel/instance.h"
#include "metric_series.h"
#include "cli/options.h"
#include "event/event.h"

#define RULES_TOLD 100 /* the first so many of an instance; the rest are "other" */
#define RULE_CGROUPS_CACHED 256

struct instance_rules;

struct rule_counts {
	struct instance *instances; /* that are loaded */
	struct instance_rules *rules; /* of each of them */
	int n;
	/* Cgroups by id, with those above them. */
	struct {
		__u64 id;
		__u64 above[BBR_RULE_CGROUP_LEVELS];
		int n;
	} cgroups[RULE_CGROUPS_CACHED];
};

/* Restarts the counts, by the current rules of these instances (none: all). 0 or -errno. */
int rule_counts_begin(struct rule_counts *r, const struct value_list *names);
/* instance_id: of the struct_ops map */
void rule_counts_note(struct rule_counts *r, __u32 instance_id, const struct bbr_snapshot *snap);

/* Prints the loaded instances, and the connections of their rules. */
void rule_counts_print(const struct rule_counts *r, struct openmetrics *om);
void rule_counts_free(struct rule_counts *r);

#endif
