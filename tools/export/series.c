// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "series.h"

const struct om_bounds rtt_bounds = {
	.n = 10,
	.le = { 1, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 50 },
};

/* 100 kbit/s to 100 Gbit/s. */
const struct om_bounds rate_bounds = {
	.n = 11,
	.le = { 12500, 125000, 625000, 1.25e6, 6.25e6, 1.25e7, 6.25e7, 1.25e8, 6.25e8, 1.25e9,
		1.25e10 },
};

void series_init(struct series_table *t)
{
	memset(t, 0, sizeof(*t));
	t->instances.max = SERIES_INSTANCES;
	t->profiles.max = SERIES_PROFILES;
	t->netns.max = SERIES_NETNS;
}

void series_free(struct series_table *t)
{
	labels_free(&t->instances);
	labels_free(&t->profiles);
	labels_free(&t->netns);
}

static struct series *find(struct series_table *t, int instance, int profile, int netns)
{
	for (int i = 0; i < t->n; i++) {
		struct series *s = &t->all[i];

		if (s->instance == instance && s->profile == profile && s->netns == netns)
			return s;
	}
	return NULL;
}

struct series *series_get(struct series_table *t, const char *instance, const char *profile,
			  int netns)
{
	int i = labels_index(&t->instances, instance);
	int p = labels_index(&t->profiles, profile);
	struct series *s = find(t, i, p, netns);

	/* The last place is for all that have none. */
	if (!s && t->n >= SERIES_MAX - 1) {
		i = p = netns = LABEL_OTHER;
		s = find(t, i, p, netns);
	}
	if (!s) {
		s = &t->all[t->n++];
		s->instance = i;
		s->profile = p;
		s->netns = netns;
	}
	return s;
}
