/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TOOLS_ANALYSIS_JSON_H
#define TOOLS_ANALYSIS_JSON_H

#include "analysis.h"
#include "cli/json.h"

/* Adds the members to an open object. */
void analysis_add_json(struct json *j, const struct analysis *a);

#endif
