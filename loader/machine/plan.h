/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps from a machine as it is to one as it is wanted. The kernel takes each step as a whole.
 * No step needs a later one. Nothing here asks the kernel.
 */
#ifndef LOADER_PLAN_H
#define LOADER_PLAN_H

#include "machine/machine.h"

/* In the order in which they are carried out: first what is new, then what goes away. */
enum step_kind {
	STEP_LOAD, /* an instance, with all its profiles and rules */
	STEP_REPLACE, /* its code, by this bbrctl's, with all its profiles and rules */
	/* These four of all instances are one change. */
	STEP_PROFILE_ADD,
	STEP_PROFILE_CHANGE,
	STEP_RULES, /* all of an instance */
	STEP_PROFILE_DELETE,
	STEP_DEFAULT, /* an instance becomes the default of a namespace */
	STEP_ATTACH, /* an instance to a cgroup, in place of another if there is one */
	STEP_DETACH,
	STEP_DEFAULT_BACK, /* a namespace gets back what it had before */
	STEP_UNLOAD,
	STEP_KINDS
};

struct step {
	enum step_kind kind;
	size_t number; /* in the order of the file */
	const char *name; /* of the instance */
	const struct machine_instance *wanted, *found; /* NULL: there is none */
	const struct profile_definition *profile_wanted, *profile_found;
	const struct machine_default *default_wanted, *default_found;
	/* The default without bbrctl, to note or to restore; "": unknown. */
	char previous[BBR_NAME_LEN];
	const struct attachment *wanted_at, *found_at;
};

struct plan {
	struct step *step;
	size_t n;
	/*
	 * What the file does not have and no apply made, so that it stays: steps that would unload,
	 * detach or take back a default.
	 */
	struct step *left;
	size_t n_left;
};

/*
 * Makes the steps; none if all is as wanted. They point into both machines. only: steps of this
 * instance; NULL: of all. prune: also what no apply made is taken away. Returns EXIT_DONE, or EXIT_REFUSED after printing that there is no
 * memory. The caller frees the plan in any case.
 */
int plan_make(const struct machine *wanted, const struct machine *found, const char *only,
	      bool prune, struct plan *plan);
void plan_free(struct plan *plan);

#endif
