// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "instance/object.h"
#include "instance/swap.h"
#include "instance/struct_ops.h"
#include "machine/plan.h"
#include "tuning/tuning_switch.h"

/* An attachment, its program, and the cgroup that has it. prog -1: there is none. */
struct placed {
	const struct attachment *at;
	int cgroup, prog;
};

/* What prepare() made for a step. File descriptors are -1 if there is none. */
struct work {
	struct object obj;
	int old_map; /* of the code that is replaced */
	struct placed new, old; /* an attachment, and the one that it replaces or that goes */
};

static const struct work nothing = { .old_map = -1,
				     .new = { .cgroup = -1, .prog = -1 },
				     .old = { .cgroup = -1, .prog = -1 } };

struct carrying {
	struct plan *plan;
	const struct machine *found;
	struct work *work; /* of each step */
	/* All steps that change profiles or rules are carried out at once, when the first is due. */
	size_t first_tuning;
	struct tuning_change *tuning;
	size_t n_tuning;
};

static bool is_tuning(const struct step *s)
{
	return s->kind >= STEP_PROFILE_ADD && s->kind <= STEP_PROFILE_DELETE;
}

/*
 * Copies an instance's rules, with the indexes that its profiles have in the map or, if there is
 * one, after the change. The caller frees them.
 */
static struct rule_list placed_rules(const struct machine_instance *from,
				     const struct profile_map *map,
				     const struct tuning_change *change)
{
	struct rule_list rules = { mem_new(from->rules.n, sizeof(*rules.rule)), from->rules.n };

	for_each (rule, rules.rule, rules.n) {
		const char *name;

		*rule = from->rules.rule[rule - rules.rule];
		name = machine_rule_profile(from, rule);
		rule->profile =
			change ? tuning_changed_profile(change, name) : profile_find(map, name);
	}
	return rules;
}

/* Writes the profiles and rules of an object that is not registered yet. */
static int fill_maps(const struct object *obj, const struct machine_instance *wanted,
		     struct profile_map *map)
{
	struct rule_list rules AUTO(rule_list_free) = {};
	int ret, place = 1;

	for_each (def, wanted->profiles.def, wanted->profiles.n) {
		ret = profile_check_known(map, &def->params);
		if (ret)
			return ret;
		profile_init(map, strcmp(def->name, BBR_PROFILE_DEFAULT) ? place++ : 0, def->name,
			     &def->params);
	}
	rules = placed_rules(wanted, map, NULL);
	return rule_list_write_map(object_map(obj->bpf, BBR_MAP_RULES), &rules);
}

static int fill(const struct object *obj, const struct machine_instance *wanted)
{
	struct profile_map map AUTO(profile_map_close);
	int ret = profile_map_open_maps(obj->algorithm, object_map(obj->bpf, BBR_MAP_PARAMS), -1,
					obj->abi.params_size, &map);

	if (!ret)
		ret = fill_maps(obj, wanted, &map);
	if (!ret && bpf_map_freeze(object_map(obj->bpf, BBR_MAP_CLAMPED)))
		ret = err_bpf(errno, "cannot freeze the program's own map");
	return ret;
}

static int prepare_code(const struct step *s, struct work *w)
{
	int ret, error = 0;

	if (!s->found && congestion_control_exists(s->name))
		return err_refused(
			"%s: the kernel already has another congestion control of this name\n"
			"give the instance another name in the file",
			s->name);
	ret = object_open(NULL, s->wanted->algorithm, &w->obj);
	if (!ret)
		ret = object_load(&w->obj);
	if (!ret)
		ret = fill(&w->obj, s->wanted);
	/* Before it is registered: if we are killed then, a later apply knows whose it is. */
	if (!ret && !(s->found && s->found->is_applied))
		error = applied_mark(object_program(w->obj.bpf, "cong_control"));
	if (error)
		return err_bpf(error, s->name);
	if (ret || !s->found)
		return ret;
	error = carry_defaults(&s->found->loaded, w->obj.bpf);
	if (!error)
		w->old_map = instance_map(s->found->loaded.map_id);
	return err_bpf(error || w->old_map >= 0 ? error : w->old_map, s->name);
}

static int prepare_attachment(const struct attachment *at, struct placed *new)
{
	new->at = at;
	new->cgroup = open(at->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (new->cgroup < 0)
		return err_bpf(errno, at->place);
	new->prog = attach_program_load(at);
	if (new->prog < 0)
		return EXIT_REFUSED;
	return err_bpf(applied_mark(new->prog), at->path);
}

/* Since it was found, it may have gone with its cgroup, as a pod's does: then there is none. */
static int open_attachment(const struct attachment *at, struct placed *old)
{
	int prog;

	old->at = at;
	old->cgroup = open(at->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	prog = old->cgroup < 0 ? -errno : attachment_program(old->cgroup, at);
	if (prog < 0 && prog != -ENOENT)
		return err_bpf(prog, at->path);
	old->prog = prog < 0 ? -1 : prog;
	return EXIT_DONE;
}

static int prepare_cgroup(const struct step *s, struct work *w)
{
	int ret = s->at_found ? open_attachment(s->at_found, &w->old) : EXIT_DONE;

	return ret || !s->at_wanted ? ret : prepare_attachment(s->at_wanted, &w->new);
}

/* Puts one attachment in place of the other. In one cgroup the kernel does so at once. */
static int put_attachment(const struct placed *new, const struct placed *old)
{
	bool comes = new->prog >= 0, goes = old->prog >= 0;
	bool in_place = comes && goes && !strcmp(old->at->place, new->at->place);
	int ret = EXIT_DONE;

	if (comes)
		ret = attach_program(new->prog, new->cgroup, in_place ? old->prog : -1,
				     new->at->place);
	if (ret || !goes || in_place)
		return ret;
	ret = detach_program(old->prog, old->cgroup, comes ? old->at->place : old->at->path);
	if (ret && comes)
		detach_program(new->prog, new->cgroup, new->at->place);
	return ret;
}

static int prepare(const struct step *s, struct work *w)
{
	*w = nothing;
	switch (s->kind) {
	case STEP_LOAD:
	case STEP_REPLACE:
		return prepare_code(s, w);
	case STEP_PROFILE_ADD:
	case STEP_PROFILE_CHANGE:
		return profile_check_known(&s->found->map, &s->profile_wanted->params);
	case STEP_ATTACH:
	case STEP_DETACH:
		return prepare_cgroup(s, w);
	case STEP_ROUTE:
		return route_prepare(s);
	default:
		return EXIT_DONE;
	}
}

static void release(struct work *w)
{
	const int fds[] = { w->old_map, w->new.cgroup, w->new.prog, w->old.cgroup, w->old.prog };

	if (w->obj.bpf)
		object_close(&w->obj);
	for_each (fd, fds, sizeof(fds) / sizeof(fds[0]))
		if (*fd >= 0)
			close(*fd);
}

/* Refuses an instance without room for every profile that the plan adds to it. */
static int check_places(const struct plan *plan, const struct machine_instance *inst)
{
	long long connections[BBR_PROFILES];
	char name[BBR_PROFILE_NAME_LEN];
	int error, missing = 0;

	for_each (s, plan->step, plan->n)
		missing += s->kind == STEP_PROFILE_ADD && s->found == inst;
	if (!missing)
		return EXIT_DONE;
	error = profile_connections(&inst->map, connections);
	if (error)
		return err_bpf(error, "cannot count the profiles' connections");
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&inst->map, i, name);
		missing -= !name[0] && !connections[i];
	}
	if (missing <= 0)
		return EXIT_DONE;
	return err_refused(
		"%s: %d more profiles than there are free places\n"
		"delete some of the instance's profiles first: bbrctl profile list --name %s",
		inst->name, missing, inst->name);
}

static int prepare_rules(const struct step *s, struct tuning_change *change)
{
	struct rule_list rules AUTO(rule_list_free) = placed_rules(s->wanted, NULL, change);
	int error = tuning_change_rules(change, &rules);

	return error ? rule_list_error(error) : EXIT_DONE;
}

static int prepare_tuning_step(const struct step *s, struct tuning_change *change)
{
	switch (s->kind) {
	case STEP_PROFILE_ADD:
	case STEP_PROFILE_CHANGE:
		return err_bpf(tuning_change_profile(change, s->profile_wanted->name,
						     &s->profile_wanted->params),
			       "cannot prepare a profile");
	case STEP_PROFILE_DELETE:
		tuning_delete_profile(change, s->profile_found->name);
		return EXIT_DONE;
	default:
		return prepare_rules(s, change);
	}
}

/* Rules last: they need the places of the profiles. */
static int prepare_instance(const struct plan *plan, const struct machine_instance *inst,
			    struct tuning_change *change)
{
	int ret = tuning_change_open(&inst->loaded, &inst->map, change);

	for (int rules = 0; rules < 2; rules++)
		for_each (s, plan->step, plan->n)
			if (!ret && s->found == inst && is_tuning(s) &&
			    (s->kind == STEP_RULES) == rules)
				ret = prepare_tuning_step(s, change);
	return ret;
}

/* Writes the new profiles and rules where nobody reads them yet. */
static int prepare_tuning(struct carrying *c)
{
	int ret;

	while (c->first_tuning < c->plan->n && !is_tuning(&c->plan->step[c->first_tuning]))
		c->first_tuning++;
	if (c->first_tuning == c->plan->n)
		return EXIT_DONE;
	c->tuning = mem_new(c->found->n_instances, sizeof(*c->tuning));
	ret = err_bpf(profile_wait(), "cannot prepare the profiles");
	for_each (inst, c->found->instance, c->found->n_instances) {
		bool changes = false;

		for_each (s, c->plan->step, c->plan->n)
			changes |= is_tuning(s) && s->found == inst;
		if (!ret && changes)
			ret = prepare_instance(c->plan, inst, &c->tuning[c->n_tuning++]);
	}
	return ret;
}

static int switch_tuning(const struct carrying *c)
{
	return err_bpf(tuning_switch(c->tuning, c->n_tuning),
		       "cannot change the profiles and rules");
}

static int put_default(const struct step *s, const char *name, const char *previous,
		       bool is_applied)
{
	struct instance inst;
	int ret = instance_get(s->name, &inst);

	if (ret)
		return ret;
	return default_put(&inst, STEP_OF(s, default)->netns, name, previous, is_applied);
}

/* Both print which namespaces keep the old code. */
static int replace_code(struct carrying *c, const struct step *s, struct work *w)
{
	struct swap swap;
	unsigned int n;
	int ret = swap_code(&s->found->loaded, w->obj.bpf, &swap);

	if (!ret && defaults_set_again(s->name, &n))
		c->plan->has_left_defaults = true;
	return ret;
}

static int unload(struct carrying *c, const struct step *s)
{
	unsigned int unseen;
	int ret = defaults_restore(&s->found->loaded, NULL, &unseen);

	if (!ret && unseen)
		c->plan->has_left_defaults = true;
	return ret ? ret : unregister(&s->found->loaded);
}

static int carry_out(struct carrying *c, size_t i)
{
	const struct step *s = &c->plan->step[i];
	struct work *w = &c->work[i];
	unsigned int map_id;

	if (is_tuning(s))
		return i == c->first_tuning ? switch_tuning(c) : EXIT_DONE;
	switch (s->kind) {
	case STEP_LOAD:
		return object_register(w->obj.bpf, s->name, &map_id);
	case STEP_REPLACE:
		return replace_code(c, s, w);
	case STEP_DEFAULT:
		return put_default(s, s->name, s->previous, true);
	case STEP_ATTACH:
	case STEP_DETACH:
		return put_attachment(&w->new, &w->old);
	case STEP_ROUTE:
		return route_carry_out(s);
	case STEP_ROUTE_BACK:
		return route_back(s);
	case STEP_DEFAULT_BACK:
		return put_default(s, s->previous, NULL, false);
	default:
		return unload(c, s);
	}
}

static int undo_default(const struct step *s, const struct machine *found)
{
	const struct default_of *def = s->default_found;
	const struct machine_note *note = def ? machine_note(found, s->name, def->inode) : NULL;

	/* If the old default is not known, put_default() falls back to cubic or reno. */
	return put_default(s, def ? def->name : "", note ? note->previous : NULL,
			   note && note->is_applied);
}

static int undo(struct carrying *c, size_t i)
{
	const struct step *s = &c->plan->step[i];
	struct work *w = &c->work[i];
	struct instance inst;
	unsigned int n;
	int ret;

	switch (s->kind) {
	case STEP_LOAD:
		ret = instance_find(s->name, &inst);
		return ret ? ret : unregister(&inst);
	case STEP_REPLACE:
		ret = swap_back(&s->found->loaded, w->old_map);
		return ret ? ret : defaults_set_again(s->name, &n);
	case STEP_PROFILE_ADD:
	case STEP_PROFILE_CHANGE:
	case STEP_RULES:
	case STEP_PROFILE_DELETE:
		if (i != c->first_tuning)
			return EXIT_DONE;
		for_each (change, c->tuning, c->n_tuning)
			tuning_change_reverse(change);
		return switch_tuning(c);
	case STEP_DEFAULT:
	case STEP_DEFAULT_BACK:
		return undo_default(s, c->found);
	case STEP_ATTACH:
	case STEP_DETACH:
		return put_attachment(&w->old, &w->new);
	case STEP_ROUTE:
	case STEP_ROUTE_BACK:
		return route_undo(s);
	default:
		return err_refused("%s: stays unloaded", s->name);
	}
}

static int carry_out_all(struct carrying *c)
{
	bool whole = true;
	size_t n = 0;

	while (n < c->plan->n && !carry_out(c, n))
		n++;
	if (n == c->plan->n)
		return EXIT_DONE;
	while (n--)
		whole &= !undo(c, n);
	if (whole)
		remedy("all is as it was before");
	else
		err("not everything could be undone; bbrctl apply --check shows what differs now");
	return EXIT_REFUSED;
}

int plan_carry_out(struct plan *plan, const struct machine *found)
{
	struct carrying c = { .plan = plan,
			      .found = found,
			      .work = mem_new(plan->n, sizeof(*c.work)) };
	sigset_t all, before;
	int ret = EXIT_DONE;
	size_t n = 0;

	for_each (inst, found->instance, found->n_instances)
		if (!ret && inst->is_open)
			ret = check_places(plan, inst);
	while (!ret && n < plan->n) {
		ret = prepare(&plan->step[n], &c.work[n]);
		n++;
	}
	if (!ret)
		ret = prepare_tuning(&c);
	if (!ret) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, &before);
		ret = carry_out_all(&c);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	while (n--)
		release(&c.work[n]);
	while (c.n_tuning--)
		tuning_change_close(&c.tuning[c.n_tuning]);
	free(c.tuning);
	free(c.work);
	return ret ? EXIT_REFUSED : EXIT_DONE;
}

static int take_over_instance(const struct machine *wanted, const struct instance *inst)
{
	int error = applied_mark_instance(inst);
	struct instance marked = *inst;

	for_each (def, wanted->def, wanted->n_defaults) {
		if (error || strcmp(def->name, inst->name))
			continue;
		if (!marked.applied_id && instance_find(inst->name, &marked))
			return EXIT_REFUSED;
		error = applied_note_default(&marked, def->inode, true);
	}
	return err_bpf(error, inst->name);
}

/*
 * Marks the program. One that would end with its cgroup gives way to one that the file's line means.
 */
static int take_over_attachment(const struct attachment *found, const struct attachment *wanted)
{
	bool stays = !*attachment_below(wanted) || *attachment_below(found);
	struct work w = nothing;
	int ret = open_attachment(found, &w.old);

	if (!ret && stays)
		ret = err_bpf(applied_mark(w.old.prog), found->path);
	else if (!ret)
		ret = prepare_attachment(wanted, &w.new);
	if (!ret && !stays)
		ret = put_attachment(&w.new, &w.old);
	release(&w);
	return ret;
}

int machine_take_over(const struct machine *wanted, const struct machine *found)
{
	struct instance *list AUTO_FREE = NULL;
	int ret = EXIT_DONE, n = instance_list(&list);

	if (n < 0)
		return err_bpf(n, "cannot list instances");
	for_each (inst, list, n)
		if (!ret && machine_instance(wanted, inst->name))
			ret = take_over_instance(wanted, inst);
	for_each (at, found->attached, found->n_attached) {
		const struct attachment *same = machine_attachment(wanted, at->path);

		if (!ret && !at->is_applied && same && attachment_equal(same, at))
			ret = take_over_attachment(at, same);
	}
	return ret ? ret : routes_take_over(wanted, found);
}
