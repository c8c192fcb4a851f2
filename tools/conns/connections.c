// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>

#include "connections.h"

struct connection {
	__u32 tag;
	__u64 id;
};

static int compare(const void *a, const void *b)
{
	const struct connection *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static void add(struct connections *c, const struct connection *key)
{
	struct connection *copy = malloc(sizeof(*copy));

	if (!copy)
		return;
	*copy = *key;
	if (tsearch(copy, &c->live, compare))
		c->seen++;
	else
		free(copy);
}

static void forget(struct connections *c, struct connection *live)
{
	tdelete(live, &c->live, compare);
	free(live);
}

void connections_note(struct connections *c, const struct bbr_event *e)
{
	struct connection key = { .tag = e->tag, .id = e->conn };
	struct connection **live;

	if (!key.id) /* the program had no memory to tell it from others */
		return;
	live = tfind(&key, &c->live, compare);
	if (!live)
		add(c, &key);
	if (e->kind != BBR_EV_END)
		return;
	live = tfind(&key, &c->live, compare);
	if (live)
		forget(c, *live);
}

void connections_free(struct connections *c)
{
	tdestroy(c->live, free);
	c->live = NULL;
}
