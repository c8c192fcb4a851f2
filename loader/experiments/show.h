/* SPDX-License-Identifier: GPL-2.0-only */
/* Experiments as text and as JSON. */
#ifndef LOADER_EXPERIMENT_SHOW_H
#define LOADER_EXPERIMENT_SHOW_H

#include "kernel/experiment.h"

struct json;

/* A table, and all that is known of one. */
void experiments_print(const struct experiment_handle *list, int n);
void experiment_print(const struct experiment_handle *h);

/* As members of an object: what the table has, or all that is known. */
void experiment_add_short_json(struct json *j, const struct experiment_handle *h);
void experiment_add_json(struct json *j, const struct experiment_handle *h);

#endif
