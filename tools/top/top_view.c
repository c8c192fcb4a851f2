// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "event/event.h"
#include "top_view.h"

static bool matches(const struct view *v, const struct conn *c)
{
	char local[ADDRESS_TEXT_LEN], remote[ADDRESS_TEXT_LEN], mode[MODE_TEXT_LEN],
		text[256 + MODE_TEXT_LEN];
	char words[FILTER_LEN], *rest = words, *word;

	if (!v->filter[0])
		return true;
	format_endpoint(local, sizeof(local), c->e.laddr, c->e.lport);
	format_endpoint(remote, sizeof(remote), c->e.raddr, c->e.rport);
	mode_text(mode, sizeof(mode), c->algorithm, &c->e);
	snprintf(text, sizeof(text), "%s %s %s %s %s", local, remote, c->name, c->profile,
		 c->ended_ns ? "ended" : mode);
	strcpy(words, v->filter);
	while ((word = strsep(&rest, " ")))
		if (!strcasestr(text, word))
			return false;
	return true;
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
	if (t->n > v->size) {
		struct conn **rows = realloc(v->rows, t->size * sizeof(*rows));

		if (rows) {
			v->rows = rows;
			v->size = t->size;
		}
	}
	v->n = 0;
	for (__u32 i = 0; i < t->n && v->n < v->size; i++)
		if (matches(v, t->all[i]))
			v->rows[v->n++] = t->all[i];
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
}
