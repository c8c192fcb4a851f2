/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was decided about an experiment, when and why: lines in a log that lives as long as it does.
 */
#ifndef LOADER_EXPERIMENT_DECISION_H
#define LOADER_EXPERIMENT_DECISION_H

#include <stdbool.h>

#include "kernel/experiment.h"

/* One of this moment. */
struct experiment_decision decision_make(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* As text with the experiment's name, or as an object of JSON on one line. */
void decision_print(const char *experiment, const struct experiment_decision *d, bool json);

/* Writes it into the log, and prints it. */
void decision_take(const struct experiment_handle *h, const struct experiment_decision *d,
		   bool json);

/* The first line that the log still has, and one behind the last: their numbers, from 0. */
void decisions(const struct experiment_handle *h, __u64 *first, __u64 *end);

/* A line by its number; its text is printable. false: it is just being written. */
bool decision_read(const struct experiment_handle *h, __u64 number,
		   struct experiment_decision *decision);

#endif
