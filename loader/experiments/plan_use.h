/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_EXPERIMENT_PLAN_USE_H
#define LOADER_EXPERIMENT_PLAN_USE_H

struct plan;

/* EXIT_REFUSED, after printing it, if a step would take away what is an arm of a running experiment. */
int plan_refuse_use(const struct plan *plan);

#endif
