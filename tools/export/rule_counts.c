// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/cgroup.h"
#include "filter/filter.h"
#include "kernel/rule_lookup.h"
#include "metrics.h"
#include "cli/err.h"

#define NUMBER_LEN 16

struct instance_rules {
	struct rule_lookup lookup;
	const char (*profiles)[BBR_PROFILE_NAME_LEN]; /* NULL: not known */
	__u32 profile[RULES_TOLD]; /* of the rule, its index */
	__u64 connections[RULES_TOLD];
	__u64 other, none; /* connections of a later rule, and of no rule */
	/* There are rules by cgroup, but the connection's was not found; or rules by device or path. */
	__u64 unknown;
};

void rule_counts_free(struct rule_counts *r)
{
	for (int i = 0; i < r->n; i++) {
		if (!r->instances[i].supported)
			continue;
		instance_profile_names_unmap(r->rules[i].profiles);
		rule_lookup_close(&r->rules[i].lookup);
	}
	free(r->instances);
	free(r->rules);
	memset(r, 0, sizeof(*r));
}

int rule_counts_begin(struct rule_counts *r, const struct value_list *names)
{
	struct bbr_rule rule;
	int n;

	rule_counts_free(r);
	n = instance_list(&r->instances);
	if (n < 0)
		return n;
	r->rules = mem_new(n, sizeof(*r->rules));
	for (int i = 0; i < n; i++) {
		const struct instance *inst = &r->instances[r->n];
		struct instance_rules *rules = &r->rules[r->n];

		if (!names_have(names, r->instances[i].name))
			continue;
		r->instances[r->n++] = r->instances[i];
		if (!inst->supported)
			continue;
		/* Rules that bbrctl did not write have no numbers and are left out. */
		if (rule_lookup_open(&rules->lookup, inst))
			rule_lookup_close(&rules->lookup);
		rules->profiles = instance_profile_names_map(inst);
		for (__u32 k = 0; rules->lookup.fd >= 0 && k < rules->lookup.n && k < RULES_TOLD;
		     k++)
			if (!rule_lookup_get(&rules->lookup, k, &rule))
				rules->profile[k] = rule.profile;
	}
	return 0;
}

static bool asks_for_cgroups(const struct instance_rules *rules)
{
	return rule_lookup_asks(&rules->lookup, BBR_TERM_CGROUP);
}

/* A snapshot has neither the device of a connection nor the path of its cgroup. */
static bool asks_for_more(const struct instance_rules *rules)
{
	return rule_lookup_asks(&rules->lookup, BBR_TERM_DEV) ||
	       rule_lookup_asks(&rules->lookup, BBR_TERM_PATH);
}

static bool set_cgroups(struct rule_counts *r, struct rule_test *test, __u64 id)
{
	int i = id % RULE_CGROUPS_CACHED;

	if (r->cgroups[i].id != id) {
		r->cgroups[i].id = id;
		r->cgroups[i].n = cgroup_ids_above(id, r->cgroups[i].above);
	}
	test->cgroups = r->cgroups[i].above;
	test->nr_cgroups = r->cgroups[i].n;
	return test->nr_cgroups;
}

void rule_counts_note(struct rule_counts *r, __u32 instance_id, const struct bbr_snapshot *snap)
{
	struct instance_rules *rules;
	struct rule_test test = {
		.dport = snap->event.rport,
		.sport = snap->event.lport,
		.mark = snap->mark,
	};
	struct bbr_rule rule;
	int i = 0;

	while (i < r->n && (r->instances[i].map_id != instance_id || !r->instances[i].supported))
		i++;
	if (i == r->n)
		return;
	rules = &r->rules[i];
	memcpy(test.addr, snap->event.raddr, sizeof(test.addr));
	memcpy(test.src, snap->event.laddr, sizeof(test.src));
	if (asks_for_more(rules) ||
	    (asks_for_cgroups(rules) && !set_cgroups(r, &test, snap->cgroup)))
		rules->unknown++;
	else if (!rule_lookup_match(&rules->lookup, &test, &rule))
		rules->none++;
	else if (rule.order < RULES_TOLD)
		rules->connections[rule.order]++;
	else
		rules->other++;
}

static void print_instances(const struct rule_counts *r, struct openmetrics *om)
{
	static const struct om_family family = { "bbr_instance", OM_INFO, NULL,
						 "Instances that are loaded." };

	om_family(om, &family);
	for (int i = 0; i < r->n; i++) {
		const struct instance *inst = &r->instances[i];
		char version[sizeof(inst->abi.version) + 1], abi[NUMBER_LEN];
		const struct om_label labels[] = { { "bbr_instance", inst->name },
						   { "algorithm", inst->abi.algorithm },
						   { "version", version },
						   { "abi", abi },
						   {} };

		snprintf(version, sizeof(version), "%.*s", (int)sizeof(inst->abi.version),
			 inst->abi.version);
		snprintf(abi, sizeof(abi), "%u.%u", inst->abi.major, inst->abi.minor);
		om_number(om, &family, labels, 1);
	}
}

static const struct om_family rules_family = {
	"bbr_rule_connections", OM_GAUGE, NULL,
	"Connections by the rule that they match now, by its number in bbrctl rule list."
};

static void print_rule(struct openmetrics *om, const struct instance *inst, const char *rule,
		       const char *profile, __u64 connections)
{
	const struct om_label labels[] = {
		{ "bbr_instance", inst->name }, { "rule", rule }, { "profile", profile }, {}
	};

	om_number(om, &rules_family, labels, connections);
}

static void print_rules(struct openmetrics *om, const struct instance *inst,
			const struct instance_rules *rules)
{
	const struct origin origin = { .profiles = rules->profiles };
	char number[NUMBER_LEN];

	for (__u32 i = 0; i < rules->lookup.n && i < RULES_TOLD; i++) {
		const struct bbr_event e = { .profile = rules->profile[i] };
		const char *name =
			rules->profile[i] < BBR_PROFILES ? origin_profile(&origin, &e) : NULL;

		/* As the program does for an index without a profile. */
		snprintf(number, sizeof(number), "%u", i + 1);
		print_rule(om, inst, number, name ? name : BBR_PROFILE_DEFAULT,
			   rules->connections[i]);
	}
	if (rules->lookup.n > RULES_TOLD)
		print_rule(om, inst, "other", "other", rules->other);
	if (asks_for_cgroups(rules) || asks_for_more(rules))
		print_rule(om, inst, "unknown", "unknown", rules->unknown);
	print_rule(om, inst, "none", BBR_PROFILE_DEFAULT, rules->none);
}

void rule_counts_print(const struct rule_counts *r, struct openmetrics *om)
{
	print_instances(r, om);
	om_family(om, &rules_family);
	for (int i = 0; i < r->n; i++)
		if (r->instances[i].supported)
			print_rules(om, &r->instances[i], &r->rules[i]);
}
