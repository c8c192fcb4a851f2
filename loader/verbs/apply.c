// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl apply: makes the machine what a file says, or tells what is not so. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/units.h"
#include "experiments/plan_use.h"
#include "instance/lock.h"
#include "instance/netns_default.h"
#include "machine/carry_out.h"
#include "machine/machine.h"
#include "machine/machine_file.h"
#include "machine/machine_kernel.h"
#include "machine/plan.h"
#include "machine/plan_text.h"
#include "verbs/verbs.h"

struct applying {
	const struct options *opt;
	const char *path;
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
	if (!a->plan.n)
		printf("nothing to change: the machine is as %s says\n", a->path);
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
 * An apply, or an upgrade, that was killed between giving the name to new code and giving that to the namespaces whose default
 * it is: while the old code has users, nothing tells that these are none of them.
 */
static void renew_defaults(const struct machine *wanted)
{
	struct instance *list;
	int n = instance_list_alive(&list);
	unsigned int times;

	for (int i = 0; i < n; i++)
		if (!list[i].registered && list[i].users && machine_instance(wanted, list[i].name))
			defaults_set_again(list[i].name, &times);
	if (n >= 0)
		free(list);
}

static int apply(struct applying *a)
{
	const struct options *opt = a->opt;
	const char *only = opt->name_given ? opt->name : NULL;
	int ret;

	if (a->wanted.is_tuning)
		only = a->wanted.instance[0].name;
	if (privileges_take() || (!only_looks(opt) && lock_instances()))
		return EXIT_REFUSED;
	ret = machine_kernel_read(only, &a->found);
	if (!ret)
		ret = plan_make(&a->wanted, &a->found, only, &a->plan);
	if (!ret && !only_looks(opt))
		ret = plan_refuse_use(&a->plan);
	if (!ret && !only_looks(opt))
		ret = plan_carry_out(&a->plan, &a->found);
	if (!ret && !only_looks(opt))
		renew_defaults(&a->wanted);
	if (ret)
		return ret;
	if (opt->json)
		print_json(a);
	else
		print_text(a);
	if (!opt->check || !a->plan.n)
		return EXIT_DONE;
	err("%s: %zu difference%s", a->path, a->plan.n, plural(a->plan.n));
	remedy("bbrctl apply makes it so");
	return EXIT_NOTHING;
}

int verb_apply(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct applying a = { .opt = opt, .path = argc > 1 ? argv[1] : machine_file_default };
	int ret = machine_file_read(argc > 1 ? argv[1] : NULL, opt->name_given ? opt->name : NULL,
				    &a.wanted);

	if (!ret)
		ret = apply(&a);
	plan_free(&a.plan);
	machine_free(&a.found);
	machine_free(&a.wanted);
	return ret;
}
