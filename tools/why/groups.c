// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy() */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "connection.h"

/* ---- neighbours: all that is sent to a prefix */

struct neighbourhood {
	__u32 prefix[4]; /* the first member: the key of the tree */
	struct why_neighbours all;
};

static int compare_prefix(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct neighbourhood *)0)->prefix));
}

static void add_neighbour(void **tree, const struct why_connection *c)
{
	struct neighbourhood *made = mem_new(1, sizeof(*made)), **found;

	remote_prefix(made->prefix, c->raddr);
	found = mem_need(tsearch(made, tree, compare_prefix));
	if (*found != made)
		free(made);
	(*found)->all.n++;
	(*found)->all.rate += why_window_rate(&c->window);
}

static struct why_neighbours neighbours_of(void *const *tree, const struct why_connection *c)
{
	struct neighbourhood key, **found;
	struct why_neighbours others = {};

	remote_prefix(key.prefix, c->raddr);
	found = tfind(&key, tree, compare_prefix);
	if (found && !why_window_is_idle(&c->window)) {
		others.n = (*found)->all.n - 1;
		others.rate = others.n ? (*found)->all.rate - why_window_rate(&c->window) : 0;
	}
	return others;
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

static void judge(struct why_result *to, const struct why_connection *c, const struct cpus *cpus,
		  void *const *tree)
{
	to->connection = c;
	to->cpu = cpus ? cpus_of(cpus, c->window.last.cpu) : (struct why_cpu){};
	to->others = neighbours_of(tree, c);
	why_shares(&c->window, &to->cpu, to->shares);
}

void why_result_answer(const struct why_result *r, struct why_answer *answer)
{
	why_judge(&r->connection->window, &r->cpu, &r->others, answer);
}

void why_results_make(struct why_results *r, const struct why_connections *c,
		      const struct cpus *cpus, bool with_idle)
{
	void *tree = NULL;

	memset(r, 0, sizeof(*r));
	r->list = mem_new(c->n, sizeof(*r->list));
	for (size_t i = 0; i < c->n; i++)
		if (is_readable(c->list[i]) && !why_window_is_idle(&c->list[i]->window))
			add_neighbour(&tree, c->list[i]);
	for (size_t i = 0; i < c->n; i++) {
		bool is_idle = why_window_is_idle(&c->list[i]->window);

		if (!c->list[i]->is_wanted || !is_readable(c->list[i]))
			continue;
		r->idle += is_idle && !with_idle;
		r->in_sockmaps += is_idle && !with_idle && c->list[i]->window.last.is_in_sockmap;
		if (!is_idle || with_idle)
			judge(&r->list[r->n++], c->list[i], cpus, &tree);
	}
	tdestroy(tree, free);
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

static void add_most(struct why_group *g, int cause, double ns, const struct why_result *r)
{
	if (ns > g->most[cause]) {
		g->most[cause] = ns;
		g->example[cause] = r;
	}
}

static void add_result(struct why_group *g, const struct why_result *r)
{
	double time = why_window_ns(&r->connection->window);

	g->connections++;
	if (why_window_is_idle(&r->connection->window)) {
		g->idle++;
		return;
	}
	g->rate += why_window_rate(&r->connection->window);
	g->ns += time;
	for (int i = 0; i < WHY_CAUSES; i++) {
		double ns = r->shares[i] * time;

		g->cause_ns[i] += ns;
		add_most(g, i, ns, r);
	}
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
		add_most(sum, i, g->most[i], g->example[i]);
	}
}

void why_groups_make(struct groups *g, const struct why_results *r, struct grouping *grouping,
		     size_t most)
{
	char label[GROUP_LABEL_LEN];

	*g = (struct groups){ .size = sizeof(struct why_group) };
	for (size_t i = 0; i < r->n; i++) {
		const struct why_connection *c = r->list[i].connection;
		const struct group_member member = { .raddr = c->raddr,
						     .cgroup = c->cgroup,
						     .inode = c->inode,
						     .netns = c->netns,
						     .is_recorded = c->is_recorded };

		group_label(label, grouping, &member);
		add_result(groups_get(g, label), &r->list[i]);
	}
	groups_sort(g, by_group_rate, NULL, most, add_group);
}
