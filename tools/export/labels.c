// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "labels.h"

const char *labels_value(const struct labels *l, int index)
{
	return index == LABEL_OTHER ? "other" : l->value[index - 1];
}

static int find(const struct labels *l, const char *value)
{
	for (int i = 0; i <= l->n; i++)
		if (!strcmp(labels_value(l, i), value))
			return i;
	return -1;
}

int labels_index(struct labels *l, const char *value)
{
	char *clean = strdup(value);
	int index;

	if (!clean)
		return LABEL_OTHER;
	for (char *c = clean; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	index = find(l, clean);
	if (index < 0 && l->n < l->max) {
		l->value[l->n++] = clean;
		return l->n;
	}
	free(clean);
	return index < 0 ? LABEL_OTHER : index;
}

void labels_free(struct labels *l)
{
	for (int i = 0; i < l->n; i++)
		free(l->value[i]);
	l->n = 0;
}
