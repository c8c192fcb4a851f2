/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which fields a line of text shows, and in which order: worked out once for each algorithm, not
 * for each event.
 */
#ifndef TOOLS_TEXT_PLAN_H
#define TOOLS_TEXT_PLAN_H

#include "descriptor.h"

struct text_field {
	const struct field *field;
	const struct field *condition; /* the field of text_if; NULL: it is always shown */
	size_t before; /* characters of field->text before its "%", or all of them */
};

struct text_plan {
	const struct algorithm *algorithm;
	struct text_plan *next;
	size_t n;
	struct text_field fields[];
};

/* The plan for this algorithm's events. It stays until the program ends. */
const struct text_plan *text_plan(const struct algorithm *a);

/* For tests that free algorithms. */
void text_plan_forget(void);

#endif
