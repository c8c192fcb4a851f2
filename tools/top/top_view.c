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
		err("filter: rows have no samples and no reasons");
		remedy("give this condition as FILTER on the command line");
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
	const struct conn *x = *(struct conn *const *)a, *y = *(struct conn *const *)b;
	const struct view *v = ctx;
	int order = column_compare(v->sort, x, y);

	if (order)
		return v->reverse ? -order : order;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* Finds the row that the cursor stays on. If it is gone, chooses the one in its place. */
static void follow(struct view *v)
{
	if (v->cursor >= v->n)
		v->cursor = v->n ? v->n - 1 : 0;
	if (!v->chosen || !v->n)
		return;
	for (size_t i = 0; i < v->n; i++) {
		if (v->rows[i]->serial == v->chosen) {
			v->cursor = i;
			return;
		}
	}
	v->chosen = v->rows[v->cursor]->serial;
}

void view_build(struct view *v, const struct conn_table *t)
{
	v->n = 0;
	for (__u32 i = 0; i < t->n; i++) {
		if (!matches(v, t->all[i]))
			continue;
		v->rows = mem_grow(v->rows, v->n, sizeof(*v->rows));
		v->rows[v->n++] = t->all[i];
	}
	if (v->n)
		qsort_r(v->rows, v->n, sizeof(*v->rows), compare, v);
	follow(v);
}

void view_move(struct view *v, long rows)
{
	long to = (long)v->cursor + rows;

	if (!v->n)
		return;
	v->cursor = to < 0 ? 0 : (size_t)to >= v->n ? v->n - 1 : (size_t)to;
	v->chosen = v->rows[v->cursor]->serial;
}

void view_home(struct view *v)
{
	v->cursor = 0;
	v->chosen = 0;
}

struct conn *view_chosen(const struct view *v)
{
	return v->n ? v->rows[v->cursor] : NULL;
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
	filter_free(&v->filter);
}
