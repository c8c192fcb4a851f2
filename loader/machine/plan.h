/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How to come from a machine as it is to one as it is wanted: a list of steps, each of which the kernel takes at once. No
 * step needs a later one. Nothing here asks the kernel.
 */
#ifndef LOADER_PLAN_H
#define LOADER_PLAN_H

#include "machine/machine.h"

/* In the order in which they are carried out: what is new, before what is in its way or not needed any more. */
enum step_kind {
	STEP_LOAD, /* an instance, with all its profiles and rules */
	STEP_REPLACE, /* its code, by that of this bbrctl, with all its profiles and rules */
	STEP_PROFILE_ADD,
	STEP_PROFILE_CHANGE,
	STEP_RULES, /* all of an instance */
	STEP_DEFAULT, /* an instance becomes that of a namespace */
	STEP_ATTACH, /* an instance to a cgroup, in place of another if there is one */
	STEP_DETACH,
	STEP_DEFAULT_BACK, /* a namespace has it no more */
	STEP_UNLOAD,
	STEP_PROFILE_DELETE, /* cannot fail */
	STEP_KINDS
};

struct step {
	enum step_kind kind;
	size_t number; /* in the order of the file */
	const char *name; /* of the instance */
	const struct machine_instance *wanted, *found; /* NULL: there is none */
	const struct profile_definition *profile_wanted, *profile_found;
	const struct machine_default *default_wanted, *default_found;
	char previous
		[BBR_NAME_LEN]; /* of defaults: what was, or is, the default without us; "": not known */
	const struct attachment *wanted_at, *found_at;
};

struct plan {
	struct step *step;
	size_t n;
};

/*
 * The steps; none if all is as it is wanted. They point into both machines. only: of this instance, NULL: of all.
 * EXIT_DONE, or EXIT_REFUSED after printing that there is no memory. To be freed in any case.
 */
int plan_make(const struct machine *wanted, const struct machine *found, const char *only,
	      struct plan *plan);
void plan_free(struct plan *plan);

#endif
