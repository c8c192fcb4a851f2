// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
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
	struct experiment_handle *list;
	int n = experiments_list(&list);

	if (n < 0)
		return err_bpf(n, "cannot list experiments");
	if (n == 1) {
		*h = list[0];
		free(list);
		return EXIT_DONE;
	}
	if (!n) {
		err("no experiment is running");
		remedy("bbrctl experiment start NAME starts one");
	} else {
		err("%d experiments are running: name one of them", n);
		for (int i = 0; i < n; i++)
			remedy("bbrmon experiment %s", list[i].config.name);
	}
	experiments_free(list, n);
	return n ? EXIT_USAGE : EXIT_NOTHING;
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
		s->counters.overwritten += overwritten(place, o->number, s->experiment.outcomes);
		*place = (struct place){ .number = o->number };
	}
	if (place->taken || o->end == EXPERIMENT_OPEN || o->arm >= s->experiment.arms)
		return;
	row_from_outcome(&row, &s->experiment, o);
	place->taken = true;
	rows_add(&s->rows, &row);
}

static void read_counters(const struct experiment_control *from, struct study_counters *to)
{
	for (int i = 0; i < EXPERIMENT_ARMS; i++) {
		to->assigned[i] = from->assigned[i];
		to->refused[i] = from->refused[i];
		to->refused_error[i] = from->refused_error[i];
	}
	to->chosen = from->chosen;
	to->no_memory = from->no_memory;
	to->moved = from->moved;
	to->lost = from->lost;
	to->outcomes = from->outcomes;
}

void collector_read(struct collector *c, struct study *s)
{
	const __u32 places = s->experiment.outcomes;
	struct experiment_outcome o;

	read_counters(c->handle.control, &s->counters);
	s->until_ns = now_ns() - s->experiment.started;
	s->counters.open = 0;
	for (__u32 i = 0; i < places; i++) {
		/* i + 1 is one number of this place. The place is read whatever number it has. */
		if (outcome_read(c->handle.outcomes, places, i + 1, &o) == OUTCOME_TORN) {
			s->counters.open++;
			continue;
		}
		if (!o.number || (o.number - 1) % places != i)
			continue;
		take(c, s, &o);
		s->counters.open += o.end == EXPERIMENT_OPEN;
	}
}
