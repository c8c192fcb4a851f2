/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the steps of a plan, for people and programs. */
#ifndef LOADER_PLAN_TEXT_H
#define LOADER_PLAN_TEXT_H

#include <stdbool.h>

struct json;
struct machine;
struct plan;
struct step;

/* Prints a line or more: what was done, or what is not as it should be. */
void step_print(const struct step *step, bool done);

/* Prints a line about what is left alone, because no apply made it. */
void step_print_left(const struct step *step, const char *prefix);

/* Prints the lines of a file that the step removes (-) and adds (+). */
void step_print_diff(const struct step *step, const struct machine *wanted,
		     const struct machine *found);

/* Adds the steps, and what is left alone, as arrays of objects. */
void plan_add_json(struct json *j, const struct plan *plan);

#endif
