/* SPDX-License-Identifier: GPL-2.0-only */
/* Shows experiments as text and as JSON. */
#ifndef LOADER_RUNNING_SHOW_H
#define LOADER_RUNNING_SHOW_H

#include "kernel/experiment.h"

struct json;

/* Print a table of experiments, and all that is known about one. */
void experiments_print(const struct experiment_handle *list, int n);
void experiment_print(const struct experiment_handle *h);

/* Add members to an object: what the table has, or all that is known. */
void experiment_add_short_json(struct json *j, const struct experiment_handle *h);
void experiment_add_json(struct json *j, const struct experiment_handle *h);

#endif
