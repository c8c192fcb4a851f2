/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running experiments, by arm. The kernel's counters are passed on. Outcomes are those that
 * have ended, beginning with the oldest in the ring when the exporter found the experiment.
 */
#ifndef TOOLS_EXPERIMENTS_H
#define TOOLS_EXPERIMENTS_H

#include "metric_series.h"

#define EXPERIMENTS_TOLD 16 /* more are left out */

struct exported_experiment;

struct experiments {
	struct exported_experiment *at;
	int n;
};

/* 0 or -errno */
int experiments_update(struct experiments *x);
/* has_outcomes: with outcomes and guards */
void experiments_print(const struct experiments *x, struct openmetrics *om, bool has_outcomes);
void experiments_close(struct experiments *x);

#endif
