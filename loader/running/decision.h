/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decisions about an experiment, when and why: lines in a log that lives as long as the experiment.
 */
#ifndef LOADER_RUNNING_DECISION_H
#define LOADER_RUNNING_DECISION_H

#include <stdbool.h>

#include "kernel/experiment.h"

/* Makes a decision, with the current time. */
struct experiment_decision decision_make(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Prints it as text with the experiment's name, or as a JSON object on one line. */
void decision_print(const char *experiment, const struct experiment_decision *d, bool json);

/* Writes it into the log, and prints it. */
void decision_take(const struct experiment_handle *h, const struct experiment_decision *d,
		   bool json);

/* The numbers, from 0, of the first line that the log still has and of the one after the last. */
void decisions(const struct experiment_handle *h, __u64 *first, __u64 *end);

/* Reads a line by its number; its text is printable. false: it is being written. */
bool decision_read(const struct experiment_handle *h, __u64 number,
		   struct experiment_decision *decision);

#endif
