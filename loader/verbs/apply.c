// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl apply: makes the machine match a file, or reports what differs. */
#include "machine/plan.h"
#include "verbs/verbs.h"

struct applying {
	const struct options *opt;
	const char *path;
	const char *only; /* this instance; NULL: all */
	bool prune; /* also remove what no apply made */
	bool keeps; /* the state before it, for --undo */
	struct undo undo; /* what is kept so far */
	struct machine wanted, found;
	struct plan plan;
};

static bool only_looks(const struct options *opt)
{
	return opt->check || opt->diff;
}

static void print_text(const struct applying *a)
{
	const char *prefix = a->opt->diff ? "; " : "";

	if (a->opt->undo)
		printf("%sthe state %s the last apply%s\n", prefix,
		       a->undo.is_undone ? "after" : "before", a->plan.n ? ":" : "");
	for_each (s, a->plan.step, a->plan.n)
		if (a->opt->diff)
			step_print_diff(s, &a->wanted, &a->found);
		else
			step_print(s, !a->opt->check);
	for_each (s, a->plan.left, a->plan.n_left)
		step_print_left(s, prefix);
	for_each (s, a->plan.waiting, a->plan.n_waiting)
		step_print_waiting(s, prefix);
	for_each (p, a->wanted.pods, a->wanted.n_pods)
		if (!p->n)
			printf("%s%s: no pod %s is here%s\n", prefix, p->name, text_shown(p->which),
			       a->opt->hold ? " yet" : " now");
	if (!a->plan.n && !a->plan.n_waiting)
		printf("nothing to change: the machine matches %s\n", text_shown(a->path));
}

static void print_json(const struct applying *a)
{
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "file", a->path);
	json_add_bool(&j, "applied", !only_looks(a->opt));
	json_add_bool(&j, "defaults_left", a->plan.has_left_defaults);
	if (a->opt->undo)
		json_add_string(&j, "state", a->undo.is_undone ? "after" : "before");
	plan_add_json(&j, &a->plan);
	json_objects (&j, "pods", p, a->wanted.pods, a->wanted.n_pods) {
		json_add_string(&j, "name", p->name);
		json_add_string(&j, "pod", p->which);
		json_add_int(&j, "found", p->n);
	}
	json_end(&j);
}

/*
 * An apply or upgrade may have been killed after new code got the name, and before the namespaces
 * whose default it is got the new code. While the old code has users, those may be such namespaces.
 * So set these defaults again. The list was made before anything changed.
 */
static int renew_defaults(const struct machine *wanted, const struct instance *list, int n)
{
	int ret = EXIT_DONE;
	unsigned int times;

	for_each (inst, list, n)
		if (!ret && !inst->registered && inst->users &&
		    machine_instance(wanted, inst->name))
			ret = defaults_set_again(inst->name, &times);
	return ret;
}

static void warn_of_slow_rates(const struct plan *plan)
{
	for_each (s, plan->step, plan->n)
		if (s->profile_wanted)
			param_warn(s->name, s->profile_found ? &s->profile_found->params : NULL,
				   &s->profile_wanted->params);
		else if (s->kind == STEP_LOAD || s->kind == STEP_REPLACE)
			for_each (def, s->wanted->profiles.def, s->wanted->profiles.n)
				param_warn(s->name, NULL, &def->params);
}

/*
 * Carries out the plan. Keeps the state before it first: if it is killed, that is still right. What
 * follows cannot be part of the plan: it is about what the plan has made.
 */
static int change(struct applying *a)
{
	struct undo undo AUTO(undo_free) = {};
	struct instance *alive AUTO_FREE = NULL;
	int n, ret = plan_refuse_use(&a->plan);
	bool keeps;

	if (ret)
		return ret;
	n = instance_list_alive(&alive);
	if (n < 0)
		return err_bpf(n, "cannot list instances");
	keeps = a->keeps && undo_make(&a->undo, &a->wanted, &a->found, &a->plan, &undo);
	if (keeps)
		undo_write(&undo);
	ret = plan_carry_out(&a->plan, &a->found);
	if (ret && keeps)
		undo_write(&a->undo);
	if (ret)
		return ret;
	if (!a->wanted.is_tuning)
		ret = machine_take_over(&a->wanted, &a->found);
	if (!ret)
		ret = renew_defaults(&a->wanted, alive, n);
	if (!ret)
		warn_of_slow_rates(&a->plan);
	else
		remedy("all changes were made; run bbrctl apply again for the rest");
	return ret;
}

static void forget_plan(struct applying *a)
{
	plan_free(&a->plan);
	machine_free(&a->found);
}

/* Makes the machine match the file that was read, or only looks at what differs. */
static int apply(struct applying *a)
{
	int ret = plan_read(&a->wanted, a->only, a->prune, &a->found, &a->plan);

	if (!ret && !only_looks(a->opt))
		ret = change(a);
	if (!ret && a->opt->json)
		print_json(a);
	else if (!ret)
		print_text(a);
	return ret;
}

/* Waits for a signal, then removes everything, unless another process holds it too. */
static int hold(struct applying *held, const sigset_t *ends)
{
	struct applying nothing = { .opt = held->opt, .path = "an empty file", .only = held->only };
	int ret = holder_begin(held->only);

	if (ret)
		return ret;
	unlock_instances();
	fflush(stdout);
	follow_machine(held->opt, held->only, &held->wanted, ends);
	ret = lock_instances();
	if (ret)
		return ret;
	if (!holder_end(held->only)) {
		err("nothing was removed: another bbrctl apply --hold still runs");
		return EXIT_DONE;
	}
	ret = apply(&nothing);
	forget_plan(&nothing);
	return ret;
}

/* ---- --undo */

/* After an undo: what the next boot does to it. */
static void say_next_boot(const struct applying *a)
{
	struct machine file AUTO(machine_free) = {}, now AUTO(machine_free) = {};
	struct plan plan AUTO(plan_free) = {};

	if (!machine_file_exists() || machine_file_read(NULL, NULL, &file))
		return; /* Nothing is applied at boot, or it has printed why not. */
	if (!a->only && undo_is_after(&a->undo, &file)) {
		err("%s: still has the undone change; bpf-bbr.service will not make it, not even "
		    "at a boot, until the file changes\n"
		    "bbrctl apply makes it; so does a second bbrctl apply --undo",
		    machine_file_default);
		return;
	}
	if (a->only)
		machine_narrow(&file, a->only);
	if (plan_read(&file, a->only, false, &now, &plan) || !plan.n)
		return;
	err("%s: asks for something else, which the next boot makes\n"
	    "change it: bbrctl apply --diff shows the differences, bbrctl save prints this "
	    "state",
	    machine_file_default);
}

/* Restores the state before the last apply, or the second time the one after it. */
static int undo(struct applying *a)
{
	bool back = !a->undo.is_undone;
	int ret;

	if (!a->undo.before) {
		err("%s: no apply that could be undone", undo_path(a->only));
		remedy(a->only ? "bbrctl apply --undo, without --name, is for the last apply of "
				 "the whole machine" :
				 "bbrctl keeps the state before an apply there, if the folder "
				 "exists");
		return EXIT_NOTHING;
	}
	ret = undo_machine(&a->undo, !back, &a->wanted);
	if (ret) {
		remedy("the state %s the last apply cannot be made again as it is in this file",
		       back ? "before" : "after");
		return EXIT_REFUSED;
	}
	ret = apply(a);
	if (ret || only_looks(a->opt))
		return ret;
	a->undo.is_undone = back;
	undo_write(&a->undo);
	if (back)
		say_next_boot(a);
	return EXIT_DONE;
}

/*
 * For bpf-bbr.service: as long as the file has the undone change, the state before it stays wanted.
 * Stopping the unit is no apply that --undo could undo.
 */
static int heed_undo(struct applying *a)
{
	if (!a->wanted.n_instances)
		a->keeps = false;
	if (!a->undo.is_undone || !undo_is_after(&a->undo, &a->wanted))
		return EXIT_DONE;
	err("%s: asks for what bbrctl apply --undo took back; the state before that is kept\n"
	    "change the file, or run bbrctl apply",
	    a->path);
	machine_free(&a->wanted);
	a->keeps = false;
	return undo_machine(&a->undo, false, &a->wanted);
}

static int apply_as_asked(struct applying *a)
{
	const struct options *opt = a->opt;
	sigset_t ends;
	int ret = EXIT_DONE;
	size_t n;

	if (a->wanted.is_tuning)
		a->only = a->wanted.instance[0].name;
	if (opt->hold) { /* what ends it may come at any time */
		sigemptyset(&ends);
		sigaddset(&ends, SIGTERM);
		sigaddset(&ends, SIGINT);
		sigprocmask(SIG_BLOCK, &ends, NULL);
	}
	if (privileges_take() || (!only_looks(opt) && lock_instances()))
		return EXIT_REFUSED;
	undo_read(a->only, &a->undo);
	a->keeps = !opt->undo;
	if (opt->service)
		ret = heed_undo(a);
	if (!ret)
		ret = opt->undo ? undo(a) : apply(a);
	if (!ret && opt->hold)
		return hold(a, &ends);
	if (!ret && a->plan.has_left_defaults)
		return err_refused(
			"all changes were made, but not in the network namespaces named above");
	n = a->plan.n + a->plan.n_waiting;
	if (ret || !opt->check || !n)
		return ret;
	return err_nothing("%s: %zu difference%s\n"
			   "run bbrctl apply without --check to make these changes",
			   a->path, n, plural(n));
}

static int verb_apply(struct options *opt, int argc, char **argv)
{
	struct applying a = { .opt = opt,
			      .path = argc > 1 ? argv[1] : machine_file_default,
			      .only = opt->name_given ? opt->name : NULL,
			      .prune = opt->prune };
	int ret = EXIT_DONE;

	if (opt->follow &&
	    (only_looks(opt) || opt->hold || opt->undo || opt->prune || opt->service))
		return err_usage("--follow takes no other option than --name");
	if (opt->follow)
		return follow_file(opt, argc > 1 ? argv[1] : NULL);
	if (opt->undo && (argc > 1 || opt->hold || opt->prune || opt->service))
		return err_usage("--undo takes no file, and only --name, --check and --diff");
	if (opt->undo)
		a.path = undo_path(a.only);
	else
		ret = machine_file_read(argc > 1 ? argv[1] : NULL, a.only, &a.wanted);
	/* At its end --hold removes what the file has, so the file must have whole instances. */
	if (!ret && opt->hold && only_looks(opt))
		ret = err_usage("--hold cannot be used with --check or --diff");
	else if (!ret && opt->hold && a.wanted.is_tuning)
		ret = err_usage("%s: has no [instance NAME], which --hold needs", a.path);
	if (!ret)
		ret = apply_as_asked(&a);
	forget_plan(&a);
	undo_free(&a.undo);
	machine_free(&a.wanted);
	return ret;
}

static const struct privileges_change of_apply[] = {
	{ "check", .spares = CAP(BPF) | CAP(PERFMON) },
	{ "diff", .spares = CAP(BPF) | CAP(PERFMON) },
	{},
};

BBRCTL_VERB(
	apply, "apply", NEEDS(CHANGE, .may = FILES | EVERY_NETNS, .changes = of_apply),
	.args = "[FILE]", .max_args = 1, .brief = "make the machine match a file, all or nothing",
	OPTIONS(OWN(
		{ "name", 0, "NAME", option_name, 0, "only this instance; otherwise all" },
		FLAG("check", check,
		     "only print the differences from the file; exit with 3 if there are any"),
		FLAG("diff", diff, "only show the changes, as lines of the file"),
		FLAG("prune", prune, "also remove what other verbs made if the file lacks it"),
		FLAG("undo", undo,
		     "instead of a file: restore the state before the last apply; again: the state "
		     "after it"),
		FLAG("service", service,
		     "for bpf-bbr.service: do not redo what --undo undid, until the file changes"),
		FLAG("hold", hold, "keep running; on SIGTERM or SIGINT remove what was applied"),
		FLAG("follow", follow,
		     "keep running, and apply the lines for routes and pods again when these "
		     "change"))));
