// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cli/err.h"
#include "instance/attach_program.h"
#include "instance/carry_settings.h"
#include "instance/netns_default.h"
#include "instance/object.h"
#include "instance/swap.h"
#include "instance/unregister.h"
#include "machine/carry_out.h"
#include "machine/plan.h"
#include "tuning/param.h"

/* What prepare() made for a step. File descriptors are -1 if there is none. */
struct work {
	struct object obj;
	int old_map; /* of the code that is replaced */
	int cgroup, prog, old_prog;
};

/*
 * Copies an instance's rules, with the indexes that its profiles have in the map. EXIT_DONE: the
 * caller frees them.
 */
static int placed_rules(const struct machine_instance *from, const struct profile_map *map,
			struct rule_list *rules)
{
	rules->n = from->rules.n;
	rules->rule = calloc(rules->n + 1, sizeof(*rules->rule));
	if (!rules->rule) {
		err("out of memory");
		return EXIT_REFUSED;
	}
	for (__u32 i = 0; i < rules->n; i++) {
		rules->rule[i] = from->rules.rule[i];
		rules->rule[i].profile =
			profile_find(map, machine_rule_profile(from, &rules->rule[i]));
	}
	return EXIT_DONE;
}

static int put_rules(const struct machine_instance *to, const struct machine_instance *from)
{
	struct rule_list rules;
	int ret = placed_rules(from, &to->map, &rules);

	if (ret)
		return ret;
	ret = rule_list_write(&to->loaded, &rules);
	rule_list_free(&rules);
	return ret;
}

/* Writes the profiles and rules of an object that is not registered yet. */
static int fill_maps(const struct object *obj, const struct machine_instance *wanted,
		     struct profile_map *map)
{
	struct rule_list rules;
	int ret = EXIT_DONE, place = 1;

	for (size_t i = 0; !ret && i < wanted->profiles.n; i++) {
		const struct profile_definition *def = &wanted->profiles.def[i];

		ret = profile_check_known(map, &def->params);
		if (!ret)
			profile_init(map, strcmp(def->name, BBR_PROFILE_DEFAULT) ? place++ : 0,
				     def->name, &def->params);
	}
	if (!ret)
		ret = placed_rules(wanted, map, &rules);
	if (ret)
		return ret;
	ret = rule_list_write_map(object_map(obj->bpf, BBR_MAP_RULES), &rules);
	rule_list_free(&rules);
	return ret;
}

static int fill(const struct object *obj, const struct machine_instance *wanted)
{
	struct profile_map map;
	int ret = profile_map_open_maps(obj->algorithm, object_map(obj->bpf, BBR_MAP_PARAMS), -1,
					obj->abi.params_size, &map);

	if (ret)
		return ret;
	ret = fill_maps(obj, wanted, &map);
	profile_map_close(&map);
	if (!ret && bpf_map_freeze(object_map(obj->bpf, BBR_MAP_CLAMPED)))
		ret = err_bpf(errno, "cannot freeze the program's own map");
	return ret;
}

static int prepare_code(const struct step *s, struct work *w)
{
	int ret, error = 0;

	if (!s->found && is_registered(s->name)) {
		err("%s: the kernel already has another congestion control of this name", s->name);
		remedy("give the instance another name in the file");
		return EXIT_REFUSED;
	}
	ret = object_open(NULL, s->wanted->algorithm, &w->obj);
	if (!ret)
		ret = object_load(&w->obj);
	if (!ret)
		ret = fill(&w->obj, s->wanted);
	if (ret || !s->found)
		return ret;
	error = carry_defaults(&s->found->loaded, w->obj.bpf);
	if (!error)
		w->old_map = instance_map(s->found->loaded.map_id);
	if (error || w->old_map < 0)
		return err_bpf(error ? error : w->old_map, s->name);
	return EXIT_DONE;
}

static int prepare_cgroup(const struct step *s, struct work *w)
{
	const char *path = (s->wanted_at ? s->wanted_at : s->found_at)->path;
	struct bbr_attach attach;

	w->cgroup = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->cgroup < 0)
		return err_bpf(errno, path);
	if (s->found_at)
		w->old_prog = cgroup_program(w->cgroup, &attach);
	if (s->found_at && w->old_prog < 0)
		return err_bpf(w->old_prog, path);
	if (s->wanted_at)
		w->prog = attach_program_load(s->name);
	return s->wanted_at && w->prog < 0 ? EXIT_REFUSED : EXIT_DONE;
}

static int prepare(const struct step *s, struct work *w)
{
	*w = (struct work){ .old_map = -1, .cgroup = -1, .prog = -1, .old_prog = -1 };
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
	default:
		return EXIT_DONE;
	}
}

static void release(struct work *w)
{
	const int fds[] = { w->old_map, w->cgroup, w->prog, w->old_prog };

	if (w->obj.bpf)
		object_close(&w->obj);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Does the instance have room for every profile that the plan adds to it? */
static int check_places(const struct plan *plan, const struct machine_instance *inst)
{
	char name[BBR_PROFILE_NAME_LEN];
	int missing = 0;

	for (size_t i = 0; i < plan->n; i++)
		missing += plan->step[i].kind == STEP_PROFILE_ADD && plan->step[i].found == inst;
	for (int i = 0; missing > 0 && i < BBR_PROFILES; i++) {
		profile_name(&inst->map, i, name);
		missing -= !name[0] && profile_connections(&inst->map, i) <= 0;
	}
	if (missing <= 0)
		return EXIT_DONE;
	err("%s: %d more profiles than there are free places", inst->name, missing);
	remedy("delete some of the instance's profiles first: bbrctl profile list --name %s",
	       inst->name);
	return EXIT_REFUSED;
}

static int write_profile(const struct step *s, const struct param_set *p)
{
	int error = profile_write(&((struct machine_instance *)s->found)->map,
				  profile_find(&s->found->map, s->profile_found->name), p);

	return error ? err_bpf(error, "cannot write a profile") : EXIT_DONE;
}

static int add_profile(const struct step *s)
{
	int place = profile_add(&((struct machine_instance *)s->found)->map,
				s->profile_wanted->name, &s->profile_wanted->params);

	return place < 0 ? err_bpf(place, "cannot add a profile") : EXIT_DONE;
}

static void delete_profile(const struct step *s, const char *name)
{
	struct profile_map *map = &((struct machine_instance *)s->found)->map;

	profile_delete(map, profile_find(map, name));
}

static int put_default(const struct step *s, const char *name, const char *previous)
{
	const struct machine_default *def =
		s->default_wanted ? s->default_wanted : s->default_found;
	struct instance inst;
	int ret = instance_get(s->name, &inst);

	return ret ? ret : default_put(&inst, def->netns, name, previous);
}

static int replace_code(const struct step *s, struct work *w)
{
	struct swap swap;
	unsigned int n;
	int ret = swap_code(&s->found->loaded, w->obj.bpf, &swap);

	if (!ret)
		defaults_set_again(s->name, &n); /* prints what failed; the code is replaced */
	return ret;
}

static int unload(const struct step *s)
{
	int ret = defaults_restore(&s->found->loaded, NULL); /* warns about what is not ours */

	return ret ? ret : unregister(&s->found->loaded);
}

static int carry_out(const struct step *s, struct work *w)
{
	unsigned int map_id;

	switch (s->kind) {
	case STEP_LOAD:
		return object_register(w->obj.bpf, s->name, &map_id);
	case STEP_REPLACE:
		return replace_code(s, w);
	case STEP_PROFILE_ADD:
		return add_profile(s);
	case STEP_PROFILE_CHANGE:
		return write_profile(s, &s->profile_wanted->params);
	case STEP_RULES:
		return put_rules(s->found, s->wanted);
	case STEP_DEFAULT:
		return put_default(s, s->name, s->previous);
	case STEP_ATTACH:
		return attach_program(w->prog, w->cgroup, w->old_prog, s->wanted_at->path);
	case STEP_DETACH:
		return detach_program(w->old_prog, w->cgroup, s->found_at->path);
	case STEP_DEFAULT_BACK:
		return put_default(s, s->previous, NULL);
	case STEP_PROFILE_DELETE:
		delete_profile(s, s->profile_found->name);
		return EXIT_DONE;
	default:
		return unload(s);
	}
}

static int undo_load(const struct step *s)
{
	struct instance inst;
	int ret = instance_find(s->name, &inst);

	return ret ? ret : unregister(&inst);
}

static int undo_replace(const struct step *s, struct work *w)
{
	unsigned int n;
	int ret = swap_back(&s->found->loaded, w->old_map);

	return ret ? ret : defaults_set_again(s->name, &n);
}

static int undo_default(const struct step *s, const struct machine *found)
{
	const struct machine_default *def = s->default_found;
	const struct machine_note *note = def ? machine_note(found, s->name, def->inode) : NULL;

	/* If the old default is not known, put_default() falls back to cubic or reno. */
	return put_default(s, def ? def->name : "", note ? note->previous : NULL);
}

static int undo(const struct step *s, struct work *w, const struct machine *found)
{
	switch (s->kind) {
	case STEP_LOAD:
		return undo_load(s);
	case STEP_REPLACE:
		return undo_replace(s, w);
	case STEP_PROFILE_ADD:
		delete_profile(s, s->profile_wanted->name);
		return EXIT_DONE;
	case STEP_PROFILE_CHANGE:
		return write_profile(s, &s->profile_found->params);
	case STEP_RULES:
		return put_rules(s->found, s->found);
	case STEP_DEFAULT:
	case STEP_DEFAULT_BACK:
		return undo_default(s, found);
	case STEP_ATTACH:
		return w->old_prog < 0 ?
			       detach_program(w->prog, w->cgroup, s->wanted_at->path) :
			       attach_program(w->old_prog, w->cgroup, w->prog, s->wanted_at->path);
	case STEP_DETACH:
		return attach_program(w->old_prog, w->cgroup, -1, s->found_at->path);
	default:
		err("%s: stays unloaded", s->name);
		return EXIT_REFUSED;
	}
}

static int carry_out_all(const struct plan *plan, struct work *work, const struct machine *found)
{
	bool whole = true;
	size_t n = 0;

	while (n < plan->n && !carry_out(&plan->step[n], &work[n]))
		n++;
	if (n == plan->n)
		return EXIT_DONE;
	while (n--)
		whole &= !undo(&plan->step[n], &work[n], found);
	if (whole)
		remedy("all is as it was before");
	else
		err("not everything could be undone; bbrctl apply --check shows what differs now");
	return EXIT_REFUSED;
}

int plan_carry_out(const struct plan *plan, const struct machine *found)
{
	struct work *work = calloc(plan->n + 1, sizeof(*work));
	sigset_t all, before;
	int ret = EXIT_DONE;
	size_t n = 0;

	if (!work) {
		err("out of memory");
		return EXIT_REFUSED;
	}
	for (size_t i = 0; !ret && i < found->n_instances; i++)
		if (found->instance[i].is_open)
			ret = check_places(plan, &found->instance[i]);
	while (!ret && n < plan->n) {
		ret = prepare(&plan->step[n], &work[n]);
		n++;
	}
	if (!ret) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, &before);
		ret = carry_out_all(plan, work, found);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	while (n--)
		release(&work[n]);
	free(work);
	return ret ? EXIT_REFUSED : EXIT_DONE;
}
