// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/err.h"
#include "experiments/plan_use.h"
#include "kernel/experiment.h"
#include "machine/plan.h"

/* New code keeps the name, but may give profiles other indexes. */
static bool replaces(const struct step *s, const struct experiment_arm *arm)
{
	return arm->profile != EXPERIMENT_NO_PROFILE || s->wanted->algorithm != s->found->algorithm;
}

static bool takes_away(const struct step *s, const struct experiment_arm *arm)
{
	if (strcmp(s->name, arm->cc))
		return false;
	switch (s->kind) {
	case STEP_UNLOAD:
		return true;
	case STEP_REPLACE:
		return replaces(s, arm);
	case STEP_PROFILE_DELETE:
		return arm->profile != EXPERIMENT_NO_PROFILE &&
		       !strcmp(arm->profile_name, s->profile_found->name);
	default:
		return false;
	}
}

static int refuse(const struct step *s, const struct experiment *e,
		  const struct experiment_arm *arm)
{
	err("%s%s%s: is the arm %s of the experiment %s", s->name, arm->profile_name[0] ? ":" : "",
	    arm->profile_name, arm->label, e->name);
	remedy("stop that first: bbrctl experiment stop %s; or change the file: bbrctl apply "
	       "--check",
	       e->name);
	if (s->kind == STEP_REPLACE)
		remedy("or replace the code alone first: bbrctl upgrade --name %s", s->name);
	return EXIT_REFUSED;
}

static int refuse_step(const struct step *s, const struct experiment *e)
{
	for (__u32 i = 0; i < e->arms; i++)
		if (takes_away(s, &e->arm[i]))
			return refuse(s, e, &e->arm[i]);
	return EXIT_DONE;
}

int plan_refuse_use(const struct plan *plan)
{
	struct experiment_handle *list;
	int n = experiments_list(&list), ret = EXIT_DONE;

	if (n < 0)
		return err_bpf(n, "cannot list experiments");
	for (size_t i = 0; i < plan->n; i++)
		for (int k = 0; !ret && k < n; k++)
			ret = refuse_step(&plan->step[i], &list[k].config);
	experiments_free(list, n);
	return ret;
}
