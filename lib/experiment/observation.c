// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "observation.h"

bool observations_collect(struct observations *to, const struct metric *metric,
			  const struct rows *rows, int arm, int size_class)
{
	size_t room = 0;

	for (size_t i = 0; i < rows->n; i++)
		room += rows->at[i].arm == arm;
	*to = (struct observations){ .at = malloc((room + 1) * sizeof(*to->at)) };
	if (!to->at)
		return false;
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->at[i];
		struct observation o = { .of = 1, .unit = row->unit };

		if (row->arm == arm && (!row->continued || rows->with_continued) &&
		    (size_class == SIZE_ALL || size_class_of(row) == size_class) &&
		    metric->of->get(row, &o.value, &o.of))
			to->at[to->n++] = o;
	}
	return true;
}

void observations_free(struct observations *o)
{
	free(o->at);
}

static int by_value(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static int by_unit(const void *a, const void *b)
{
	const struct observation *x = a, *y = b;

	return x->unit == y->unit ? by_value(a, b) : x->unit < y->unit ? -1 : 1;
}

void observations_sort(struct observations *o)
{
	qsort(o->at, o->n, sizeof(*o->at), by_value);
}

void observations_sort_by_unit(struct observations *o)
{
	qsort(o->at, o->n, sizeof(*o->at), by_unit);
}

double observations_mean(const struct observation *at, size_t n)
{
	double value = 0, of = 0;

	for (size_t i = 0; i < n; i++) {
		value += at[i].value;
		of += at[i].of;
	}
	return value / of;
}

/* Interpolates: type 7 of Hyndman and Fan (American Statistician 50, 1996). */
double observations_quantile(const struct observation *at, size_t n, double p)
{
	double place = p * (n - 1);
	size_t i = place;

	if (i + 1 >= n)
		return at[n - 1].value;
	return at[i].value + (place - i) * (at[i + 1].value - at[i].value);
}

double observations_estimate(const struct metric *metric, const struct observation *at, size_t n)
{
	return metric->quantile == METRIC_MEAN ? observations_mean(at, n) :
						 observations_quantile(at, n, metric->quantile);
}
