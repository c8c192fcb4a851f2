// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "text_plan.h"

static void add(struct text_plan *plan, const struct field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct field *f = &fields[i];
		struct text_field *to = &plan->fields[plan->n];

		if (!f->text)
			continue;
		to->field = f;
		to->condition = f->text_if.key ? field_find(plan->algorithm, f->text_if.key) : NULL;
		to->before = strcspn(f->text, "%");
		plan->n++;
	}
}

/* Fields of equal order stay in table order. Insertion sort: they are few, and it runs once. */
static void sort(struct text_plan *plan)
{
	for (size_t i = 1; i < plan->n; i++) {
		struct text_field moved = plan->fields[i];
		size_t at = i;

		for (; at && plan->fields[at - 1].field->order > moved.field->order; at--)
			plan->fields[at] = plan->fields[at - 1];
		plan->fields[at] = moved;
	}
}

static struct text_plan *plans;

void text_plan_forget(void)
{
	for (struct text_plan *next; plans; plans = next) {
		next = plans->next;
		free(plans);
	}
}

const struct text_plan *text_plan(const struct algorithm *a)
{
	static const struct text_plan none;
	struct text_plan *plan;

	for (const struct text_plan *p = plans; p; p = p->next)
		if (p->algorithm == a)
			return p;
	plan = calloc(1, sizeof(*plan) + (a->n_fields + n_common_fields) * sizeof(plan->fields[0]));
	if (!plan) /* the line ends with the mode, and the next one tries again */
		return &none;
	plan->algorithm = a;
	add(plan, a->fields, a->n_fields);
	add(plan, common_fields, n_common_fields);
	sort(plan);
	plan->next = plans;
	plans = plan;
	return plan;
}
