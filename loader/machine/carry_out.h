/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_CARRY_OUT_H
#define LOADER_CARRY_OUT_H

struct machine;
struct plan;

/*
 * Carries out all steps of a plan, or none. Before it changes anything, it tries what can fail: it
 * loads programs, opens files, counts places. If a step still fails, it undoes those before it.
 * Signals wait until the end. After SIGKILL each step is done or not, none half, and a new plan has
 * the others; all changes of profiles and rules are one step. Only an instance that was unloaded stays unloaded. The caller holds the lock. Returns
 * EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int plan_carry_out(const struct plan *plan, const struct machine *found);

/*
 * Notes as made by an apply what the file has and others had made before (instance/applied.h): from
 * now on the file speaks for it. Returns EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int machine_take_over(const struct machine *wanted, const struct machine *found);

#endif
