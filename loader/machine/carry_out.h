/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_CARRY_OUT_H
#define LOADER_CARRY_OUT_H

struct machine;
struct plan;

/*
 * Carries out all steps of a plan, or none: what can fail is tried before anything is changed (programs are loaded,
 * files opened, places counted), and if a step fails after all, those before it are undone. Signals wait until the end;
 * after SIGKILL each step is done or not, none half, and a new plan has the others. Only an instance that was unloaded stays
 * so. The caller holds the lock. EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int plan_carry_out(const struct plan *plan, const struct machine *found);

#endif
