/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TOOLS_ANALYSIS_JSON_H
#define TOOLS_ANALYSIS_JSON_H

#include "analysis.h"
#include "cli/json.h"

/* Members of an object that is open. */
void analysis_add_json(struct json *j, const struct analysis *a);

#endif
