// SPDX-License-Identifier: GPL-2.0-only
/* The lines of a file that name pods. */
#include "machine/machine.h"

__u32 machine_pods_place(const struct machine *m, const struct machine_pods *of)
{
	__u32 place = of->before;

	for_each (p, m->pods, of - m->pods)
		if (p->is_rule && !strcmp(p->name, of->name))
			place += p->n;
	return place;
}

/* The last lines first, so that the places of those before them hold. */
static void forget(struct machine *m)
{
	for (size_t i = m->n_pods; i-- > 0;) {
		struct machine_pods *p = &m->pods[i];

		if (p->is_rule)
			for (; p->n; p->n--)
				rule_list_remove(&machine_instance(m, p->name)->rules,
						 machine_pods_place(m, p));
		for (; p->n; p->n--)
			attachment_free(&m->attached[--m->n_attached]);
	}
}

static int add_rule(struct machine *m, struct machine_pods *p, const struct pod *pod)
{
	struct rule_list *rules = &machine_instance(m, p->name)->rules;
	struct bbr_rule rule = p->rule;

	rule.fields |= BBR_RULE_CGROUP;
	if (cgroup_id("--pod", pod->path, &rule.cgroup))
		return EXIT_REFUSED;
	if (rule_list_find(rules, &rule) >= 0)
		return EXIT_DONE;
	return rule_list_insert(rules, machine_pods_place(m, p) + p->n++, &rule);
}

/* The program is the pod's own: it ends with the pod, whose cgroup never comes again. */
static int add_attachment(struct machine *m, struct machine_pods *p, const struct pod *pod)
{
	struct attachment *at;

	if (machine_attachment(m, pod->path))
		return EXIT_DONE;
	at = machine_add_attachment(m, pod->path, p->name);
	at->n = rule_terms(&p->rule, at->term);
	p->n++;
	return EXIT_DONE;
}

/* Asks for labels only if a line has some. A pod that just begins may not have its labels yet. */
static int read_labels(struct machine *m, struct pod *list, int n)
{
	bool wants = false;
	int ret;

	m->lacks_labels = false;
	for_each (p, m->pods, m->n_pods)
		wants |= pod_selector_has_labels(p->which);
	if (!wants || !n)
		return EXIT_DONE;
	ret = cri_read_labels(cri_sockets, list, n);
	for_each (pod, list, n)
		m->lacks_labels |= !pod->has_labels;
	return ret;
}

int machine_pods_find(struct machine *m, const char *folder)
{
	struct pod *list;
	int n = pods_list(folder, &list), ret;

	if (n < 0)
		return err_bpf(n, "cannot look at the cgroups of pods");
	ret = read_labels(m, list, n);
	if (!ret)
		forget(m);
	for_each (p, m->pods, m->n_pods)
		for_each (pod, list, n)
			if (!ret && pod_selected(p->which, pod))
				ret = p->is_rule ? add_rule(m, p, pod) : add_attachment(m, p, pod);
	pods_free(list, n);
	return ret;
}

/*
 * Drops the rules of cgroups that are gone: their numbers never come again. Returns true if a rule's
 * pod is on its way: it has a cgroup, but no folder.
 */
static bool drop_gone(struct rule_list *rules)
{
	char path[4096], uid[POD_UID_LEN], name[POD_NAME_LEN];
	bool is_going = false;

	for (__u32 i = rules->n; i-- > 0;) {
		if (!(rules->rule[i].fields & BBR_RULE_CGROUP))
			continue;
		cgroup_path(rules->rule[i].cgroup, path, sizeof(path));
		if (!path[0])
			rule_list_remove(rules, i);
		else if (cgroup_pod_uid(path, uid))
			is_going |= !cgroup_pod_name(CGROUP_PODS, uid, name);
	}
	return is_going;
}

/* Where rule i of the file belongs: next to the nearest of the file's rules that is there. */
static __u32 place_among(const struct rule_list *rules, const struct rule_list *file, __u32 i)
{
	int place;

	for (__u32 before = i; before-- > 0;) {
		place = rule_list_find(rules, &file->rule[before]);
		if (place >= 0)
			return place + 1;
	}
	for (__u32 after = i + 1; after < file->n; after++) {
		place = rule_list_find(rules, &file->rule[after]);
		if (place >= 0)
			return place;
	}
	return rules->n;
}

/* Makes rule i of the file one of `rules`, unless its profile was deleted. */
static int add_followed(const struct machine_instance *file, __u32 i,
			const struct machine_instance *found, struct rule_list *rules)
{
	struct bbr_rule rule = file->rules.rule[i];
	const struct profile_definition *profile =
		profile_definitions_find(&found->profiles, machine_rule_profile(file, &rule));
	int place = rule_list_find(rules, &rule);

	if (!profile)
		return EXIT_DONE;
	rule.profile = profile - found->profiles.def;
	if (place < 0)
		return rule_list_insert(rules, place_among(rules, &file->rules, i), &rule);
	rules->rule[place].profile = rule.profile;
	return EXIT_DONE;
}

int machine_pods_rules(const struct machine *m, const struct machine_instance *found,
		       struct rule_list *rules, bool *is_going)
{
	const struct machine_instance *file = machine_instance(m, found->name);
	int ret = EXIT_DONE;

	*rules = (struct rule_list){};
	for (__u32 i = 0; !ret && i < found->rules.n; i++)
		ret = rule_list_insert(rules, i, &found->rules.rule[i]);
	*is_going |= drop_gone(rules);
	for_each (p, m->pods, m->n_pods) {
		if (!p->is_rule || strcmp(p->name, found->name))
			continue;
		for (__u32 i = 0; !ret && i < p->n; i++)
			ret = add_followed(file, machine_pods_place(m, p) + i, found, rules);
	}
	return ret;
}
