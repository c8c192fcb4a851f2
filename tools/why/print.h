/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers as text and as JSON.
 */
#ifndef TOOLS_WHY_PRINT_H
#define TOOLS_WHY_PRINT_H

#include <stdio.h>

#include "groups.h"

void why_print_text(FILE *out, const struct why_result *r);
void why_print_json(FILE *out, const struct why_result *r);
void why_print_group_text(FILE *out, const struct why_group *g);
void why_print_group_json(FILE *out, const struct why_group *g, enum group_by by);

#endif
