// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "filter.h"

void filter_init(struct filter *f)
{
	memset(f, 0, sizeof(*f));
	f->states = FILTER_ALL_STATES;
	f->root = -1;
}

void filter_free(struct filter *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->nodes[i].op == FILTER_DEVICE)
			free(f->nodes[i].device.list);
}

static bool has_room(const struct filter *f, int nodes)
{
	if (f->n + nodes <= FILTER_NODES)
		return true;
	err("filter: too long together with the options");
	remedy("at most %d conditions and operators", FILTER_NODES);
	return false;
}

/* Makes the filter require this condition, one of its nodes, as well. */
static bool require(struct filter *f, int condition)
{
	if (f->root < 0) {
		f->root = condition;
		return true;
	}
	if (!has_room(f, 1))
		return false;
	f->nodes[f->n] =
		(struct filter_node){ .op = FILTER_AND, .left = f->root, .right = condition };
	f->root = f->n++;
	return true;
}

bool filter_add(struct filter *f, const struct filter_node *condition)
{
	if (!has_room(f, 1))
		return false;
	f->nodes[f->n] = *condition;
	return require(f, f->n++);
}

bool filter_add_names(struct filter *f, const char *const *names, int n)
{
	int any = -1;

	for (int i = 0; i < n; i++) {
		struct filter_node *node = &f->nodes[f->n];

		if (!has_room(f, 2))
			return false;
		node[0] = (struct filter_node){ .op = FILTER_NAME };
		/* No instance has a name so long that it is cut off here. */
		snprintf(node->name, sizeof(node->name), "%s", names[i]);
		node[1] = (struct filter_node){ .op = FILTER_OR, .left = any, .right = f->n };
		any = any < 0 ? f->n : f->n + 1;
		f->n = any + 1;
	}
	return !n || require(f, any);
}
