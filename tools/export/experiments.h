/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The experiments that run, by arm. What the kernel counts is as it counts it; what came of connections is what has ended
 * since the exporter first saw the experiment.
 */
#ifndef TOOLS_EXPERIMENTS_H
#define TOOLS_EXPERIMENTS_H

#include "openmetrics.h"

#define EXPERIMENTS_TOLD 16 /* more are not told of */

struct exported_experiment;

struct experiments {
	struct exported_experiment *at;
	int n;
};

/* 0 or -errno */
int experiments_update(struct experiments *x);
/* has_outcomes: what has ended as well, and guards */
void experiments_print(const struct experiments *x, struct openmetrics *om, bool has_outcomes);
void experiments_close(struct experiments *x);

#endif
