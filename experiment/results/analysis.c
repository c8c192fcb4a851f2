// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "experiment/analysis/observation.h"
#include "study.h"
#include "cli/err.h"

static int by_number(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void compare_class(struct analysis *a, int arm, int size_class)
{
	const struct study *s = a->study;

	for (int i = 0; i < n_metrics; i++) {
		if (size_class != SIZE_ALL && !metrics[i].by_class)
			continue;
		a->comparison[a->n++] = compare(&metrics[i], &s->rows, &a->units, arm, size_class);
	}
}

static void find_curve(struct curve *curve, const struct rows *rows)
{
	const struct metric metric = { .of = curve->of, .quantile = 0.5 };
	struct observations all = observations_collect(&metric, rows, curve->arm, SIZE_ALL);
	struct distribution d = {};

	curve->connections = all.n;
	if (all.n)
		d = distribution_make(all.at, all.n);
	for (int i = 0; i < CURVE_POINTS && all.n; i++)
		curve->point[i] = distribution_quantile(&d, (i + 1) / 100.0);
	observations_free(&all);
	distribution_free(&d);
}

void analyse(struct analysis *a, struct study *s)
{
	int arms = s->experiment.arms;

	*a = (struct analysis){ .study = s };
	a->comparison = mem_new(arms * (1 + SIZE_CLASSES) * n_metrics, sizeof(*a->comparison));
	a->curve = mem_new(arms * n_quantities, sizeof(*a->curve));
	if (s->rows.n)
		qsort(s->rows.at, s->rows.n, sizeof(*s->rows.at), by_number);
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct row *row = &s->rows.at[i];

		a->ended[row->arm]++;
		a->bytes += row->acked;
		if (!row->continued)
			continue;
		a->continued++;
		a->continued_bytes += row->acked;
	}
	a->units = rows_find_units(&s->rows, &s->experiment);
	for (int arm = 1; arm < arms; arm++)
		for (int i = SIZE_ALL; i < SIZE_CLASSES; i++)
			compare_class(a, arm, i);
	for (int i = 0; i < n_quantities; i++)
		for (int arm = 0; arm < arms; arm++) {
			struct curve *curve = &a->curve[a->curves++];

			*curve = (struct curve){ .of = &quantities[i], .arm = arm };
			find_curve(curve, &s->rows);
		}
}

void analysis_free(struct analysis *a)
{
	free(a->comparison);
	free(a->curve);
}

const char *analysis_units_name(enum rows_unit by)
{
	static const char *const names[] = { "connections", "prefixes", "blocks" };

	return names[by];
}

const char *analysis_warning(const struct study *s)
{
	if (s->experiment.design == EXPERIMENT_SWITCHBACK)
		return NULL;
	return "Arms that share a bottleneck are not independent: what one takes, the others lose. "
	       "A switchback shows what happens if all connections have one arm.";
}
