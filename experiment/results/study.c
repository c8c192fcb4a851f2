// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "experiment/analysis/observation.h"
#include "kernel/clock.h"
#include "study.h"

/* What was found in a place of the ring. */
struct place {
	__u64 number; /* the last one that was seen; 0: none */
	bool taken; /* it has ended, and is a row */
};

void study_free(struct study *s)
{
	rows_free(&s->rows);
	free(s->cgroup);
}

/* Finds the only experiment that runs. */
static int find_only(struct experiment_handle *h)
{
	struct experiment_list list AUTO(experiments_free) = {};

	if (experiments_need(&list))
		return EXIT_REFUSED;
	if (list.n == 1) {
		*h = list.at[0];
		list.at[0] = (struct experiment_handle){};
		return EXIT_DONE;
	}
	if (!list.n)
		return err_nothing("no experiment is running\n"
				   "bbrctl experiment start NAME starts one");
	err("%d experiments are running: name one of them", list.n);
	for (int i = 0; i < list.n; i++)
		remedy("bbrmon experiment %s", list.at[i].config.name);
	return EXIT_USAGE;
}

void collector_take(struct collector *c, struct study *s, struct experiment_handle *handle)
{
	*c = (struct collector){ .handle = *handle };
	*handle = (struct experiment_handle){};
	s->experiment = c->handle.config;
	s->cgroup = mem_copy(c->handle.path);
	c->places = mem_new(s->experiment.outcomes, sizeof(*c->places));
}

int collector_open(struct collector *c, struct study *s, const char *name)
{
	struct experiment_handle handle;
	int ret = name ? experiment_find(name, &handle) : find_only(&handle);

	if (!ret)
		collector_take(c, s, &handle);
	return ret;
}

void collector_close(struct collector *c)
{
	experiment_close(&c->handle);
	free(c->places);
}

/* Earlier outcomes in this place that are lost: never seen, or last seen before they ended. */
static __u64 overwritten(const struct place *place, __u64 number, __u32 places)
{
	__u64 before =
		place->number ? (number - place->number) / places - 1 : (number - 1) / places;

	return before + (place->number && !place->taken);
}

static void take(struct collector *c, struct study *s, const struct experiment_outcome *o)
{
	struct place *place = &c->places[(o->number - 1) % s->experiment.outcomes];
	struct row row;

	if (o->number > place->number) {
		s->overwritten += overwritten(place, o->number, s->experiment.outcomes);
		*place = (struct place){ .number = o->number };
	}
	if (place->taken || o->end == EXPERIMENT_OPEN || o->arm >= s->experiment.arms)
		return;
	row_from_outcome(&row, &s->experiment, o);
	place->taken = true;
	rows_add(&s->rows, &row);
}

void collector_read(struct collector *c, struct study *s)
{
	const __u32 places = s->experiment.outcomes;
	struct experiment_outcome o;

	s->control = *c->handle.control;
	s->until_ns = now_ns() - s->experiment.started;
	s->open = 0;
	for (__u32 i = 0; i < places; i++) {
		if (!outcome_read(&c->handle.outcomes[i], &o)) {
			s->open++;
			continue;
		}
		if (!o.number || (o.number - 1) % places != i)
			continue;
		take(c, s, &o);
		s->open += o.end == EXPERIMENT_OPEN;
	}
}

/* ---- all that an experiment has shown */

static int by_number(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void find_curve(struct curve *curve, const struct rows *rows)
{
	const struct metric metric = { .of = curve->of, .quantile = 0.5 };
	struct observations all AUTO(observations_free) =
		observations_collect(&metric, rows, curve->arm, SIZE_ALL);
	struct distribution d AUTO(distribution_free) = {};

	curve->connections = all.n;
	if (all.n)
		d = distribution_make(all.at, all.n);
	for (int i = 0; i < CURVE_POINTS && all.n; i++)
		curve->point[i] = distribution_quantile(&d, (i + 1) / 100.0);
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
		for (int size = SIZE_ALL; size < SIZE_CLASSES; size++)
			for (const struct metric *m = metrics; m < metrics + n_metrics; m++)
				if (size == SIZE_ALL || m->by_class)
					a->comparison[a->n++] =
						compare(m, &s->rows, &a->units, arm, size);
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
