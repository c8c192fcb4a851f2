/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts the shares of an experiment's arms between ten-thousandths (EXPERIMENT_SHARES) and what
 * people write: "2.5%".
 */
#ifndef LOADER_EXPERIMENTS_SHARES_H
#define LOADER_EXPERIMENTS_SHARES_H

#include <stddef.h>

#include "bpf_bbr/experiment.h"
#include "cli/options.h"

#define SHARE_TEXT_LEN 16

/*
 * Parses LABEL=PERCENT for some or all of the experiment's arms; the others share what is left.
 * Returns EXIT_DONE, or EXIT_USAGE after printing what is wrong.
 */
int experiment_shares_parse(const struct value_list *shares, const struct experiment *e,
			    __u32 share[EXPERIMENT_ARMS]);

/* Parses "1,5,25,50,100": ascending, the last one 100. Returns as experiment_shares_parse(). */
int experiment_steps_parse(const char *text, __u32 step[EXPERIMENT_STEPS]);

/* The index of the arm with this label, or -1. */
int experiment_arm(const struct experiment *e, const char *label);

/* "50 %", "2.5 %" */
void share_format(__u32 share, char *buf, size_t size);

#endif
