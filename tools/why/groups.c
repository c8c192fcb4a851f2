// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* twalk_r(), tdestroy() */
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "address.h"
#include "cli/text.h"
#include "groups.h"
#include "kernel/netns.h"

#define PREFIX_V4 (96 + 24)
#define PREFIX_V6 64

const char *const why_by_names[] = { "cgroup", "process", "prefix", "netns", NULL };

/* ---- neighbours: all that is sent to a prefix */

struct neighbourhood {
	__u32 prefix[4]; /* the first member: the key of the tree */
	struct why_neighbours all;
};

static int compare_prefix(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct neighbourhood *)0)->prefix));
}

static unsigned int prefix_of(__u32 prefix[4], const __u32 addr[4])
{
	unsigned int len = address_is_v4(addr) ? PREFIX_V4 : PREFIX_V6;
	__u32 mask[4];

	prefix_mask(mask, len);
	for (int i = 0; i < 4; i++)
		prefix[i] = addr[i] & mask[i];
	return len;
}

static void add_neighbour(void **tree, const struct why_connection *c)
{
	struct neighbourhood *made = mem_new(1, sizeof(*made)), **found;

	prefix_of(made->prefix, c->raddr);
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

	prefix_of(key.prefix, c->raddr);
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
	struct why_neighbours others = neighbours_of(tree, c);

	to->connection = c;
	to->cpu = cpus ? cpus_of(cpus, c->window.last.cpu) : (struct why_cpu){};
	why_shares(&c->window, &to->cpu, to->shares);
	why_judge(&c->window, &to->cpu, &others, &to->answer);
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

static void label_process(char *label, const struct why_connection *c, const struct owners *owners)
{
	size_t n;
	const struct owner *owner = owners_of(owners, c->inode, &n);

	if (owner)
		snprintf(label, PATH_MAX, "%s[%u]", owner->name, owner->pid);
	else
		snprintf(label, PATH_MAX, "no process");
}

static void label_of(char *label, const struct why_connection *c, enum why_by by,
		     const struct owners *owners, struct cgroup_paths *cgroups)
{
	const char *path;
	__u32 prefix[4];
	unsigned int len;

	switch (by) {
	case WHY_BY_CGROUP:
		path = cgroup_paths_get(cgroups, c->cgroup);
		if (path)
			snprintf(label, PATH_MAX, "%s", path);
		else
			snprintf(label, PATH_MAX, "unreachable:%llx", c->cgroup);
		break;
	case WHY_BY_PROCESS:
		label_process(label, c, owners);
		break;
	case WHY_BY_PREFIX:
		len = prefix_of(prefix, c->raddr);
		format_prefix(label, PATH_MAX, prefix, len);
		break;
	default:
		/* That of a recording may be of another machine. */
		if (c->is_recorded || !netns_name(c->netns, label))
			snprintf(label, PATH_MAX, "%u", c->netns);
	}
}

static int compare_label(const void *a, const void *b)
{
	const struct why_group *x = a, *y = b;

	return strcmp(x->label, y->label);
}

static int by_group_rate(const void *a, const void *b)
{
	const struct why_group *x = a, *y = b;

	if (x->rate != y->rate)
		return x->rate < y->rate ? 1 : -1;
	return strcmp(x->label, y->label);
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
		if (ns > g->most[i]) {
			g->most[i] = ns;
			g->example[i] = r;
		}
	}
}

static struct why_group *find_or_add(void **tree, char *label, size_t *n)
{
	struct why_group key = { .label = label }, **found, *made;

	found = tfind(&key, tree, compare_label);
	if (found)
		return *found;
	made = mem_new(1, sizeof(*made));
	made->label = mem_copy(label);
	mem_need(tsearch(made, tree, compare_label));
	++*n;
	return made;
}

static void take_out(const void *node, VISIT order, void *ctx)
{
	struct why_groups *g = ctx;

	if (order == postorder || order == leaf)
		g->list[g->n++] = **(struct why_group *const *)node;
}

void why_groups_make(struct why_groups *g, const struct why_results *r, enum why_by by,
		     const struct owners *owners, struct cgroup_paths *cgroups)
{
	char label[PATH_MAX];
	void *tree = NULL;
	size_t n = 0;

	memset(g, 0, sizeof(*g));
	for (size_t i = 0; i < r->n; i++) {
		label_of(label, r->list[i].connection, by, owners, cgroups);
		add_result(find_or_add(&tree, label, &n), &r->list[i]);
	}
	g->list = mem_new(n, sizeof(*g->list));
	twalk_r(tree, take_out, g);
	tdestroy(tree, free); /* the list has the labels */
	qsort(g->list, g->n, sizeof(*g->list), by_group_rate);
}

void why_groups_free(struct why_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->list[i].label);
	free(g->list);
	memset(g, 0, sizeof(*g));
}
