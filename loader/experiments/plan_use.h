/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_EXPERIMENTS_PLAN_USE_H
#define LOADER_EXPERIMENTS_PLAN_USE_H

struct plan;

/*
 * Returns EXIT_REFUSED, after printing which, if a step would take away an arm of a running
 * experiment.
 */
int plan_refuse_use(const struct plan *plan);

#endif
