// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* qsort_r() */
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "top.h"

bool view_filter(struct view *v, const char *text, const struct known *known)
{
	struct filter f;

	if (strlen(text) >= FILTER_LEN) {
		err("filter: longer than %d characters", FILTER_LEN - 1);
		return false;
	}
	if (!filter_parse(&f, text, NULL, known)) {
		filter_free(&f);
		return false;
	}
	if (f.needs || f.needs_reason) {
		err("filter: rows have no samples and no reasons\n"
		    "give this condition as FILTER on the command line");
		filter_free(&f);
		return false;
	}
	filter_free(&v->filter);
	v->filter = f;
	strcpy(v->filter_text, text);
	return true;
}

static bool matches(struct view *v, const struct conn *c)
{
	static char profiles[BBR_PROFILES][BBR_PROFILE_NAME_LEN];
	struct origin origin = { .algorithm = c->algorithm, .profiles = profiles };

	if (!v->filter_text[0])
		return true;
	memcpy(origin.name, c->name, sizeof(origin.name));
	if (c->e.profile < BBR_PROFILES)
		memcpy(profiles[c->e.profile], c->profile, sizeof(c->profile));
	return filter_matches(&v->filter, &origin, &c->e, NULL);
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;
	const struct row *x = a, *y = b;
	int order = column_compare(v->sort, x, y, v->reverse);

	if (order)
		return order;
	return x->conn->serial < y->conn->serial ? -1 : x->conn->serial > y->conn->serial;
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct row x = { .group = a }, y = { .group = b };
	const struct view *v = ctx;

	return column_compare(v->sort, &x, &y, v->reverse);
}

/* Of a connection its own, of a group that of its label. */
static __u64 row_serial(const struct row *r)
{
	const char *label = r->group ? r->group->group.label : NULL;
	__u64 hash = 0xcbf29ce484222325; /* FNV-1a */

	if (r->conn)
		return r->conn->serial;
	for (; label && *label; label++)
		hash = (hash ^ (unsigned char)*label) * 0x100000001b3;
	return hash;
}

/* Finds the row that the cursor stays on. If it is gone, chooses the one in its place. */
static void follow(struct view *v)
{
	if (v->cursor >= v->n)
		v->cursor = v->n ? v->n - 1 : 0;
	if (!v->chosen || !v->n)
		return;
	for (size_t i = 0; i < v->n; i++) {
		if (row_serial(&v->rows[i]) == v->chosen) {
			v->cursor = i;
			return;
		}
	}
	v->chosen = row_serial(&v->rows[v->cursor]);
}

static void label_of(char label[GROUP_LABEL_LEN], struct view *v, const struct conn *c)
{
	const struct group_member member = { .raddr = c->e.raddr,
					     .cgroup = c->cgroup,
					     .inode = c->inode,
					     .netns = c->e.netns,
					     .is_recorded = !c->cookie };

	if (v->grouping.by < BY_PREFIX && !c->cookie) /* only events have told of it */
		strcpy(label, "unknown");
	else
		group_label(label, &v->grouping, &member);
}

void view_build(struct view *v, const struct conn_table *t)
{
	groups_free(&v->groups);
	v->groups.size = sizeof(struct top_group);
	v->n = 0;
	for (__u32 i = 0; i < t->n; i++) {
		struct conn *c = t->all[i];
		char label[GROUP_LABEL_LEN];

		if (!matches(v, c))
			continue;
		if (v->grouping.by)
			label_of(label, v, c);
		if (view_has_groups(v))
			top_group_add(groups_get(&v->groups, label), c);
		else if (!v->in_group || !strcmp(label, v->in_group))
			MEM_ADD(v->rows, v->n) = (struct row){ .conn = c };
	}
	if (view_has_groups(v)) {
		groups_sort(&v->groups, compare_groups, v, v->largest ? v->largest : GROUPS_LARGEST,
			    top_group_merge);
		for (size_t i = 0; i < v->groups.n; i++)
			MEM_ADD(v->rows, v->n) = (struct row){ .group = v->groups.list[i] };
	} else if (v->n) {
		qsort_r(v->rows, v->n, sizeof(*v->rows), compare, v);
	}
	follow(v);
}

bool view_has_groups(const struct view *v)
{
	return v->grouping.by && !v->in_group;
}

void view_group_by(struct view *v, enum group_by by)
{
	view_enter(v, NULL);
	v->grouping.by = by;
}

void view_enter(struct view *v, const struct top_group *g)
{
	char *label = g ? mem_copy(g->group.label) : NULL;

	free(v->in_group);
	v->in_group = label;
	v->n = 0;
	view_home(v);
}

void view_move(struct view *v, long rows)
{
	long to = (long)v->cursor + rows;

	if (!v->n)
		return;
	v->cursor = to < 0 ? 0 : (size_t)to >= v->n ? v->n - 1 : (size_t)to;
	v->chosen = row_serial(&v->rows[v->cursor]);
}

void view_home(struct view *v)
{
	v->cursor = 0;
	v->chosen = 0;
}

const struct row *view_chosen(const struct view *v)
{
	return v->n ? &v->rows[v->cursor] : NULL;
}

void view_scroll(struct view *v, size_t height)
{
	if (v->cursor < v->top)
		v->top = v->cursor;
	if (v->cursor >= v->top + height)
		v->top = v->cursor - height + 1;
	if (v->top + height > v->n)
		v->top = v->n > height ? v->n - height : 0;
}

void view_free(struct view *v)
{
	free(v->rows);
	free(v->in_group);
	groups_free(&v->groups);
	grouping_free(&v->grouping);
	filter_free(&v->filter);
}
