// SPDX-License-Identifier: GPL-2.0-only
#include "machine/plan.h"

struct planning {
	const struct machine *wanted, *found;
	const char *only;
	bool prune;
	struct plan *plan;
};

static struct step *add_to(struct planning *p, struct step **list, size_t *n, enum step_kind kind,
			   const char *name)
{
	struct step *step = &MEM_ADD(*list, *n);

	*step = (struct step){
		.kind = kind,
		.number = *n,
		.name = name,
		.wanted = machine_instance(p->wanted, name),
		.found = machine_instance(p->found, name),
	};
	return step;
}

static struct step *add(struct planning *p, enum step_kind kind, const char *name)
{
	return add_to(p, &p->plan->step, &p->plan->n, kind, name);
}

/* Adds a step that takes something away, if it may; otherwise notes that it is left alone. */
static struct step *add_removal(struct planning *p, enum step_kind kind, const char *name,
				bool is_applied)
{
	return p->prune || is_applied ? add(p, kind, name) :
					add_to(p, &p->plan->left, &p->plan->n_left, kind, name);
}

/* True if the instance is loaded, not in the file, and not ours to unload: then it stays whole. */
static bool is_left(const struct planning *p, const char *name)
{
	const struct machine_instance *found = machine_instance(p->found, name);

	return found && !machine_instance(p->wanted, name) && !p->prune && !found->is_applied;
}

static bool is_unloaded(const struct planning *p, const char *name)
{
	const struct machine_instance *found = machine_instance(p->found, name);

	return found && found->is_ours && !machine_instance(p->wanted, name) && !is_left(p, name);
}

/* True if the file covers this instance, so that apply removes what the file lacks. */
static bool is_subject(const struct planning *p, const char *name)
{
	return !p->wanted->is_tuning && (!p->only || !strcmp(p->only, name));
}

static void plan_tuning(struct planning *p, const struct machine_instance *wanted,
			const struct machine_instance *found)
{
	for_each (new, wanted->profiles.def, wanted->profiles.n) {
		const struct profile_definition *old =
			profile_definitions_find(&found->profiles, new->name);
		struct step *step;

		if (old && param_set_equal(&old->params, &new->params))
			continue;
		step = add(p, old ? STEP_PROFILE_CHANGE : STEP_PROFILE_ADD, wanted->name);
		step->profile_wanted = new;
		step->profile_found = old;
	}
	for_each (old, found->profiles.def, found->profiles.n)
		if (!profile_definitions_find(&wanted->profiles, old->name))
			add(p, STEP_PROFILE_DELETE, wanted->name)->profile_found = old;
	if (!machine_same_rules(wanted, found))
		add(p, STEP_RULES, wanted->name);
}

static void plan_instances(struct planning *p)
{
	for_each (wanted, p->wanted->instance, p->wanted->n_instances) {
		const struct machine_instance *found = machine_instance(p->found, wanted->name);

		if (!found)
			add(p, STEP_LOAD, wanted->name);
		else if (!found->is_open || found->algorithm != wanted->algorithm ||
			 strcmp(found->version, wanted->version))
			add(p, STEP_REPLACE, wanted->name);
		else
			plan_tuning(p, wanted, found);
	}
	for_each (found, p->found->instance, p->found->n_instances)
		if (found->is_ours && is_subject(p, found->name) &&
		    !machine_instance(p->wanted, found->name))
			add_removal(p, STEP_UNLOAD, found->name, found->is_applied);
}

/* The default before bbrctl made any instance the default, perhaps several one after the other. */
static const char *without_us(const struct machine *found, const char *name, __u32 inode)
{
	const struct machine_note *note;

	for (size_t i = 0; i < found->n_notes; i++) {
		note = machine_note(found, name, inode);
		if (!note)
			break;
		name = note->previous;
	}
	return name;
}

static void fill_default(struct planning *p, struct step *step, const struct default_of *wanted,
			 const struct default_of *found)
{
	step->default_wanted = wanted;
	step->default_found = found;
	if (found)
		strcpy(step->previous, without_us(p->found, found->name, found->inode));
	/* Its name alone tells nothing about the default before it. */
	if (!strcmp(step->previous, step->name))
		step->previous[0] = 0;
}

static void plan_default_back(struct planning *p, const struct default_of *found)
{
	const struct machine_note *note = machine_note(p->found, found->name, found->inode);
	bool is_applied;

	if (!note || machine_default(p->wanted, found->inode) || is_left(p, found->name))
		return;
	is_applied = note->is_applied || is_unloaded(p, found->name);
	fill_default(p, add_removal(p, STEP_DEFAULT_BACK, found->name, is_applied), NULL, found);
}

static void plan_defaults(struct planning *p)
{
	for_each (wanted, p->wanted->def, p->wanted->n_defaults) {
		const struct default_of *found = machine_default(p->found, wanted->inode);

		if (!found || strcmp(found->name, wanted->name) ||
		    !machine_note(p->found, found->name, found->inode))
			fill_default(p, add(p, STEP_DEFAULT, wanted->name), wanted, found);
	}
	for_each (found, p->found->def, p->found->n_defaults)
		if (is_subject(p, found->name))
			plan_default_back(p, found);
}

static void plan_attachments(struct planning *p)
{
	for_each (wanted, p->wanted->attached, p->wanted->n_attached) {
		const struct attachment *found = machine_attachment(p->found, wanted->path);
		struct step *step;

		if (found && attachment_equal(found, wanted))
			continue;
		step = add(p, STEP_ATTACH, wanted->name);
		step->at_wanted = wanted;
		step->at_found = found;
	}
	for_each (found, p->found->attached, p->found->n_attached)
		if (is_subject(p, found->name) && !machine_attachment(p->wanted, found->path) &&
		    !is_left(p, found->name))
			add_removal(p, STEP_DETACH, found->name, found->is_applied)->at_found =
				found;
}

/* The route that leads to a prefix without one of its own: the narrowest, not one that we made. */
static const struct machine_route *route_above(const struct machine *found,
					       const struct machine_route *wanted)
{
	const struct machine_route *best = NULL;

	for_each (r, found->route, found->n_routes)
		if (r->inode == wanted->inode && r->is.protocol != ROUTE_PROTOCOL &&
		    route_prefix_has(&r->is.to, &wanted->is.to) &&
		    (!best || r->is.to.len > best->is.to.len ||
		     (r->is.to.len == best->is.to.len && r->is.metric < best->is.metric)))
			best = r;
	return best;
}

/* True if an existing route is as it should be; as: what a route that we made leads as, or NULL. */
static bool is_as_wanted(const struct machine_route *found, const struct machine_route *wanted,
			 const struct machine_route *as)
{
	struct route made;

	if (strcmp(found->name, wanted->name) || found->is.is_locked != wanted->is.is_locked)
		return false;
	if (!as)
		return true;
	made = route_made(&as->is, &wanted->is.to);
	strcpy(made.congctl, wanted->name);
	made.is_locked = wanted->is.is_locked;
	return route_same(&found->is, &made);
}

static void add_route(struct planning *p, const struct machine_route *wanted,
		      const struct machine_route *found, const struct machine_route *as)
{
	struct step *step = add(p, STEP_ROUTE, wanted->name);

	step->route_wanted = wanted;
	step->route_found = found;
	step->route_as = as;
}

static void plan_route(struct planning *p, const struct machine_route *w)
{
	const struct machine_route *made = NULL, *above = route_above(p->found, w);
	size_t n = 0;

	for_each (r, p->found->route, p->found->n_routes) {
		if (r->inode != w->inode || !route_prefix_equal(&r->is.to, &w->is.to))
			continue;
		if (r->is.protocol == ROUTE_PROTOCOL) {
			made = r;
			continue;
		}
		n++;
		if (!is_as_wanted(r, w, NULL))
			add_route(p, w, r, NULL);
	}
	if (n && made) /* it has got a route of its own */
		add(p, STEP_ROUTE_BACK, w->name)->route_found = made;
	else if (!n && made && !is_as_wanted(made, w, above))
		add_route(p, w, made, above ? above : made);
	else if (!n && !made && above)
		add_route(p, w, NULL, above);
	else if (!n && !made)
		add_to(p, &p->plan->waiting, &p->plan->n_waiting, STEP_ROUTE, w->name)
			->route_wanted = w;
}

static void plan_routes(struct planning *p)
{
	for_each (w, p->wanted->route, p->wanted->n_routes)
		plan_route(p, w);
	for_each (r, p->found->route, p->found->n_routes)
		if (r->is_applied && is_subject(p, r->name) && !is_left(p, r->name) &&
		    !machine_route(p->wanted, r->inode, &r->is.to))
			add(p, STEP_ROUTE_BACK, r->name[0] ? r->name : "(not loaded)")
				->route_found = r;
}

static int depth(const char *path)
{
	int n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/*
 * If both wait above for their cgroups, in one place, the program that is attached first runs
 * first: it must be the one of the nearer cgroup.
 */
static int by_kind(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == STEP_ATTACH && depth(x->at_wanted->path) != depth(y->at_wanted->path))
		return depth(x->at_wanted->path) > depth(y->at_wanted->path) ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

void plan_make(const struct machine *wanted, const struct machine *found, const char *only,
	       bool prune, struct plan *plan)
{
	struct planning p = {
		.wanted = wanted, .found = found, .only = only, .prune = prune, .plan = plan
	};

	*plan = (struct plan){};
	plan_instances(&p);
	plan_defaults(&p);
	plan_attachments(&p);
	plan_routes(&p);
	if (plan->n)
		qsort(plan->step, plan->n, sizeof(*plan->step), by_kind);
}

/* A pod's rule has its cgroup; the kernel may have those of pods that are gone. */
static bool is_of_pod(const struct bbr_rule *rule)
{
	char path[4096];

	if (!(rule->fields & BBR_RULE_CGROUP))
		return false;
	cgroup_path(rule->cgroup, path, sizeof(path));
	return !path[0] || cgroup_is_pod(path);
}

/* True if the rules differ only in those of pods, for which the file has a line. */
static bool differ_in_pods(const struct machine *wanted, const struct step *s)
{
	__u32 i = 0, k = 0;
	bool has_line = false;

	for_each (p, wanted->pods, wanted->n_pods)
		has_line |= p->is_rule && !strcmp(p->name, s->name);
	if (!has_line)
		return false;
	for (;;) {
		while (i < s->wanted->rules.n && is_of_pod(&s->wanted->rules.rule[i]))
			i++;
		while (k < s->found->rules.n && is_of_pod(&s->found->rules.rule[k]))
			k++;
		if (i == s->wanted->rules.n || k == s->found->rules.n)
			return i == s->wanted->rules.n && k == s->found->rules.n;
		if (!machine_same_rule(s->wanted, i++, s->found, k++))
			return false;
	}
}

bool step_is_followed(const struct machine *wanted, const struct step *s)
{
	const struct machine_route *r = s->route_found;

	switch (s->found ? s->kind : STEP_LOAD) {
	case STEP_ROUTE:
		return true;
	case STEP_ROUTE_BACK:
		return machine_route(wanted, r->inode, &r->is.to);
	case STEP_RULES:
		return differ_in_pods(wanted, s);
	case STEP_ATTACH:
		return cgroup_is_pod(s->at_wanted->path);
	case STEP_DETACH:
		return wanted->n_pods && cgroup_is_pod(s->at_found->path);
	default:
		return false;
	}
}

void plan_free(struct plan *plan)
{
	free(plan->step);
	free(plan->left);
	free(plan->waiting);
	*plan = (struct plan){};
}
