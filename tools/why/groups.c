// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "connection.h"

static struct group_member member_of(const struct why_connection *c)
{
	return (struct group_member){ .raddr = c->raddr,
				      .cgroup = c->cgroup,
				      .inode = c->inode,
				      .netns = c->netns,
				      .is_recorded = c->is_recorded };
}

/* All that is sent to a prefix. */
struct neighbourhood {
	struct group group;
	struct why_neighbours all;
};

static struct why_neighbours *neighbours_of(struct groups *g, const struct why_connection *c)
{
	const struct group_member member = member_of(c);
	struct grouping by_prefix = { .by = BY_PREFIX };
	char label[GROUP_LABEL_LEN];

	group_label(label, &by_prefix, &member);
	return &((struct neighbourhood *)groups_get(g, label))->all;
}

/* ---- results */

static int by_rate(const void *a, const void *b)
{
	const struct why_result *x = a, *y = b;
	double p = why_window_rate(&x->connection->window);
	double q = why_window_rate(&y->connection->window);

	return p < q ? 1 : -(p > q);
}

static bool is_readable(const struct why_connection *c)
{
	return why_window_ns(&c->window) > 0;
}

void why_result_answer(const struct why_result *r, struct why_answer *answer)
{
	why_judge(&r->connection->window, &r->cpu, &r->others, answer);
}

void why_results_make(struct why_results *r, const struct why_connections *c,
		      const struct cpus *cpus, bool with_idle)
{
	struct groups prefixes AUTO(groups_free) = { .size = sizeof(struct neighbourhood) };
	struct why_neighbours *all;

	memset(r, 0, sizeof(*r));
	r->list = mem_new(c->n, sizeof(*r->list));
	for (size_t i = 0; i < c->n; i++) {
		if (!is_readable(c->list[i]) || why_window_is_idle(&c->list[i]->window))
			continue;
		all = neighbours_of(&prefixes, c->list[i]);
		all->n++;
		all->rate += why_window_rate(&c->list[i]->window);
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct why_window *w = &c->list[i]->window;
		bool is_idle = why_window_is_idle(w);
		struct why_result *to;

		if (!c->list[i]->is_wanted || !is_readable(c->list[i]))
			continue;
		r->idle += is_idle && !with_idle;
		r->in_sockmaps += is_idle && !with_idle && w->last.is_in_sockmap;
		if (is_idle && !with_idle)
			continue;
		to = &r->list[r->n++];
		to->connection = c->list[i];
		to->cpu = cpus ? cpus_of(cpus, w->last.cpu) : (struct why_cpu){};
		why_shares(w, &to->cpu, to->shares);
		all = is_idle ? NULL : neighbours_of(&prefixes, c->list[i]);
		if (all && all->n > 1)
			to->others = (struct why_neighbours){ all->n - 1,
							      all->rate - why_window_rate(w) };
	}
	qsort(r->list, r->n, sizeof(*r->list), by_rate);
}

void why_results_free(struct why_results *r)
{
	free(r->list);
	memset(r, 0, sizeof(*r));
}

/* ---- groups */

static int by_group_rate(const void *a, const void *b, UNUSED void *ctx)
{
	const struct why_group *x = a, *y = b;

	return x->rate < y->rate ? 1 : -(x->rate > y->rate);
}

static void add_group(void *to, const void *from)
{
	const struct why_group *g = from;
	struct why_group *sum = to;

	sum->connections += g->connections;
	sum->idle += g->idle;
	sum->rate += g->rate;
	sum->ns += g->ns;
	for (int i = 0; i < WHY_CAUSES; i++) {
		sum->cause_ns[i] += g->cause_ns[i];
		if (g->most[i] > sum->most[i]) {
			sum->most[i] = g->most[i];
			sum->example[i] = g->example[i];
		}
	}
}

static void add_result(struct why_group *g, const struct why_result *r)
{
	const struct why_window *w = &r->connection->window;
	struct why_group one = { .connections = 1, .idle = why_window_is_idle(w) };

	if (!one.idle) {
		one.rate = why_window_rate(w);
		one.ns = why_window_ns(w);
	}
	for (int i = 0; i < WHY_CAUSES; i++) {
		one.cause_ns[i] = one.most[i] = r->shares[i] * one.ns;
		one.example[i] = r;
	}
	add_group(g, &one);
}

void why_groups_make(struct groups *g, const struct why_results *r, struct grouping *grouping,
		     size_t most)
{
	char label[GROUP_LABEL_LEN];

	*g = (struct groups){ .size = sizeof(struct why_group) };
	for (size_t i = 0; i < r->n; i++) {
		const struct group_member member = member_of(r->list[i].connection);

		group_label(label, grouping, &member);
		add_result(groups_get(g, label), &r->list[i]);
	}
	groups_sort(g, by_group_rate, NULL, most, add_group);
}
