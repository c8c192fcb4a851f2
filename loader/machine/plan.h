/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps from a machine as it is to one as it is wanted. The kernel takes each step as a whole.
 * No step needs a later one. Nothing here asks the kernel.
 */
#ifndef LOADER_PLAN_H
#define LOADER_PLAN_H

#include <stdbool.h>

#include "machine/machine.h"

struct json;

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
	STEP_ROUTE, /* an instance becomes the congctl of a route, which is made if there is none */
	STEP_DETACH,
	STEP_ROUTE_BACK, /* a route gets back what it had before, or goes */
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
	const struct default_of *default_wanted, *default_found;
	/* The default without bbrctl, to note or to restore; "": unknown. */
	char previous[BBR_NAME_LEN];
	const struct attachment *at_wanted, *at_found;
	const struct machine_route *route_wanted, *route_found;
	const struct machine_route *route_as; /* a route that is made leads as this one */
};

/* What a step is about: a profile, default, at, or route; NULL: it is about none. */
#define STEP_OF(s, what) ((s)->what##_wanted ? (s)->what##_wanted : (s)->what##_found)

struct plan {
	struct step *step;
	size_t n;
	/*
	 * What the file does not have and no apply made, so that it stays: steps that would unload,
	 * detach or take back a default.
	 */
	struct step *left;
	size_t n_left;
	/* STEP_ROUTE without a route that leads there, as before the network is up. */
	struct step *waiting;
	size_t n_waiting;
	/* After plan_carry_out(): the default of some namespaces is still replaced or unloaded code. */
	bool has_left_defaults;
};

/*
 * Makes the steps; none if all is as wanted. They point into both machines. only: steps of this
 * instance; NULL: of all. prune: also what no apply made is taken away.
 */
void plan_make(const struct machine *wanted, const struct machine *found, const char *only,
	       bool prune, struct plan *plan);
void plan_free(struct plan *plan);

/*
 * Reads what the kernel has (machine_kernel_read()), and makes the steps. The caller frees both in any
 * case.
 */
int plan_read(const struct machine *wanted, const char *only, bool prune, struct machine *found,
	      struct plan *plan);

/* True if routes or pods that came, changed or went may be the reason for the step. */
bool step_is_followed(const struct machine *wanted, const struct step *s);

/* Prints a line or more: what was done, or what is not as it should be. */
void step_print(const struct step *step, bool done);

/* Print a line about what is left alone, because no apply made it, and about a route that is missing. */
void step_print_left(const struct step *step, const char *prefix);
void step_print_waiting(const struct step *step, const char *prefix);

/* Prints the lines of a file that the step removes (-) and adds (+). */
void step_print_diff(const struct step *step, const struct machine *wanted,
		     const struct machine *found);

/* Adds the steps, what is left alone, and what waits, as arrays of objects. */
void plan_add_json(struct json *j, const struct plan *plan);

/*
 * Carries out all steps of a plan, or none. Before it changes anything, it tries what can fail: it
 * loads programs, opens files, counts places. If a step still fails, it undoes those before it.
 * Signals wait until the end. After SIGKILL each step is done or not, none half, and a new plan has
 * the others; all changes of profiles and rules are one step. Only an instance that was unloaded
 * stays unloaded. The caller holds the lock.
 */
int plan_carry_out(struct plan *plan, const struct machine *found);

/*
 * Notes as made by an apply what the file has and others had made before (instance/applied.h): from
 * now on the file speaks for it.
 */
int machine_take_over(const struct machine *wanted, const struct machine *found);

/* The parts of these two that are about routes. */
int route_prepare(const struct step *s);
int route_carry_out(const struct step *s);
int route_back(const struct step *s);
int route_undo(const struct step *s);
int routes_take_over(const struct machine *wanted, const struct machine *found);

/*
 * What `bbrctl apply --undo` needs, also after a reboot: the states before and after the last apply,
 * as files for an apply (machine.h), in /var/lib/bpf-bbr. A folder that is not there is not made:
 * then nothing is kept. Applies of one instance have a file of their own, until the next apply of
 * the whole machine.
 */
struct undo {
	const char *only; /* the instance that it is about; NULL: all */
	char *before, *after; /* NULL: nothing is kept */
	bool is_undone; /* the machine is as before */
};

/* The file, for messages; until the next call. */
const char *undo_path(const char *only);

/*
 * Reads what is kept. A file that others may have written, or that is damaged, counts as none; it
 * prints why. The caller frees u in any case. Returns an exit status; EXIT_NOTHING: nothing is kept.
 */
int undo_read(const char *only, struct undo *u);
void undo_free(struct undo *u);

/* Reads the state before, or the one after, as machine_file_read() would. */
int undo_machine(const struct undo *u, bool is_after, struct machine *m);

/* True if the state after is what a file asks for. */
bool undo_is_after(const struct undo *u, const struct machine *wanted);

/*
 * Makes what is to be kept when a plan is about to lead from `found` to `wanted`; `last`: what is
 * kept so far. The state before has what an apply made, and what the plan or the file touches. If
 * the machine still is as the last apply left it, it is what that apply had asked for, also pods to
 * come, and routes that wait for their network; likewise if nothing of it is left, as after a boot.
 * If the plan is empty, it is what `last` has. Returns false if `last` is to stay, because the same
 * is applied again: after a boot, or by a new bbrctl.
 */
bool undo_make(const struct undo *last, const struct machine *wanted, const struct machine *found,
	       const struct plan *plan, struct undo *u);

/*
 * Writes it to the file, or removes the file if u keeps nothing. The file is replaced as a whole. If
 * it cannot be written, it prints so and removes the old one, which is about another state.
 */
void undo_write(const struct undo *u);

#endif
