// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl apply: makes the machine match a file, or reports what differs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/units.h"
#include "experiment/running/running.h"
#include "self/lock.h"
#include "instance/netns_default.h"
#include "kernel/kernel_types.h"
#include "machine/machine.h"
#include "machine/plan.h"
#include "tuning/param.h"
#include "verbs/verbs.h"

struct applying {
	const struct options *opt;
	const char *path;
	const char *only; /* this instance; NULL: all */
	bool prune; /* take away also what no apply made */
	struct machine wanted, found;
	struct plan plan;
};

static bool only_looks(const struct options *opt)
{
	return opt->check || opt->diff;
}

static void print_text(const struct applying *a)
{
	for (size_t i = 0; i < a->plan.n; i++)
		if (a->opt->diff)
			step_print_diff(&a->plan.step[i], &a->wanted, &a->found);
		else
			step_print(&a->plan.step[i], !a->opt->check);
	for (size_t i = 0; i < a->plan.n_left; i++)
		step_print_left(&a->plan.left[i], a->opt->diff ? "; " : "");
	if (!a->plan.n)
		printf("nothing to change: the machine matches %s\n", text_shown(a->path));
}

static void print_json(const struct applying *a)
{
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "file", a->path);
	json_add_bool(&j, "applied", !only_looks(a->opt));
	plan_add_json(&j, &a->plan);
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

	for (int i = 0; !ret && i < n; i++)
		if (!list[i].registered && list[i].users && machine_instance(wanted, list[i].name))
			ret = defaults_set_again(list[i].name, &times);
	return ret;
}

static void warn_of_slow_rates(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct step *s = &plan->step[i];

		if (s->profile_wanted)
			param_warn_if_slow(s->name,
					   s->profile_found ? &s->profile_found->params : NULL,
					   &s->profile_wanted->params);
		else if (s->kind == STEP_LOAD || s->kind == STEP_REPLACE)
			for (size_t k = 0; k < s->wanted->profiles.n; k++)
				param_warn_if_slow(s->name, NULL,
						   &s->wanted->profiles.def[k].params);
	}
}

/* What cannot be part of the plan: it is about what the plan has made. */
static int finish(const struct applying *a, const struct instance *alive, int n)
{
	int ret = a->wanted.is_tuning ? EXIT_DONE : machine_take_over(&a->wanted, &a->found);

	if (!ret)
		ret = renew_defaults(&a->wanted, alive, n);
	if (!ret)
		warn_of_slow_rates(&a->plan);
	return ret;
}

static int change(const struct applying *a)
{
	struct instance *alive = NULL;
	int n = 0, ret = plan_refuse_use(&a->plan);

	if (!ret)
		n = instance_list_alive(&alive);
	if (n < 0)
		ret = err_bpf(n, "cannot list instances");
	if (!ret)
		ret = plan_carry_out(&a->plan, &a->found);
	if (!ret) {
		ret = finish(a, alive, n);
		if (ret)
			remedy("all changes were made; run bbrctl apply again for the rest");
	}
	free(alive);
	return ret;
}

/* Makes the machine match the file that was read, or only looks at what differs. */
static int apply(struct applying *a)
{
	int ret = machine_kernel_read(a->only, &a->found);

	if (ret)
		return ret;
	plan_make(&a->wanted, &a->found, a->only, a->prune, &a->plan);
	if (!only_looks(a->opt))
		ret = change(a);
	if (ret)
		return ret;
	if (a->opt->json)
		print_json(a);
	else
		print_text(a);
	return EXIT_DONE;
}

/* Blocks the signals that end it, from the beginning, because they may come at any time. */
static void block_ends(sigset_t *ends)
{
	sigemptyset(ends);
	sigaddset(ends, SIGTERM);
	sigaddset(ends, SIGINT);
	sigprocmask(SIG_BLOCK, ends, NULL);
}

/* Waits for a signal, then removes everything, unless another process holds it too. */
static int hold(const struct applying *held, const sigset_t *ends)
{
	struct applying nothing = { .opt = held->opt, .path = "an empty file", .only = held->only };
	int ret = holder_begin(held->only), got;

	if (ret)
		return ret;
	unlock_instances();
	fflush(stdout);
	kernel_types_forget(); /* this may take months */
	sigwait(ends, &got);
	ret = lock_instances();
	if (ret)
		return ret;
	if (!holder_end(held->only)) {
		err("nothing was removed: another bbrctl apply --hold still runs");
		return EXIT_DONE;
	}
	ret = apply(&nothing);
	plan_free(&nothing.plan);
	machine_free(&nothing.found);
	return ret;
}

static int apply_as_asked(struct applying *a)
{
	const struct options *opt = a->opt;
	sigset_t ends;
	int ret;

	if (a->wanted.is_tuning)
		a->only = a->wanted.instance[0].name;
	if (opt->hold)
		block_ends(&ends);
	if (privileges_take() || (!only_looks(opt) && lock_instances()))
		return EXIT_REFUSED;
	ret = apply(a);
	if (!ret && opt->hold)
		return hold(a, &ends);
	if (ret || !opt->check || !a->plan.n)
		return ret;
	err("%s: %zu difference%s", a->path, a->plan.n, plural(a->plan.n));
	remedy("run bbrctl apply without --check to make these changes");
	return EXIT_NOTHING;
}

/* At its end --hold removes what the file has, so the file must have whole instances. */
static bool can_hold(const struct applying *a)
{
	if (only_looks(a->opt))
		err("--hold cannot be used with --check or --diff");
	else if (a->wanted.is_tuning)
		err("%s: has no [instance NAME], which --hold needs", a->path);
	else
		return true;
	return false;
}

static int verb_apply(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct applying a = { .opt = opt,
			      .path = argc > 1 ? argv[1] : machine_file_default,
			      .only = opt->name_given ? opt->name : NULL,
			      .prune = opt->prune };
	int ret = machine_file_read(argc > 1 ? argv[1] : NULL, a.only, &a.wanted);

	if (!ret && opt->hold && !can_hold(&a))
		ret = EXIT_USAGE;
	if (!ret)
		ret = apply_as_asked(&a);
	plan_free(&a.plan);
	machine_free(&a.found);
	machine_free(&a.wanted);
	return ret;
}

static const struct option_def apply_options[] = {
	{ "name", 0, "NAME", option_name, 0, "only this instance; otherwise all" },
	{ "check", 0, NULL, option_flag, MEMBER(check),
	  "only print what differs from the file; exit with 3 if anything does" },
	{ "diff", 0, NULL, option_flag, MEMBER(diff),
	  "only show what would change, as lines of the file" },
	{ "prune", 0, NULL, option_flag, MEMBER(prune),
	  "also remove what other verbs made and the file lacks" },
	{ "hold", 0, NULL, option_flag, MEMBER(hold),
	  "keep running; on SIGTERM or SIGINT remove what was applied" },
	END,
};

static const struct privileges_change of_apply[] = {
	{ "check", .spares = CAP(BPF) | CAP(PERFMON) },
	{ "diff", .spares = CAP(BPF) | CAP(PERFMON) },
	{},
};

BBRCTL_VERB(apply, "apply", NEEDS(CHANGE, .may = FILES | EVERY_NETNS, .changes = of_apply),
	    .args = "[FILE]", .max_args = 1,
	    .brief = "make the machine match a file, all or nothing", OPTIONS({ apply_options, 0 }),
	    .run = verb_apply);
