// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "description.h"
#include "layouts.h"

#define MAX_READ 64 /* descriptions from files */

static struct layout *layouts;

static void free_layout(struct layout *l)
{
	free(l->members);
	free(l->description);
	description_free(l->memory);
	free(l);
}

static void note_words(struct member *m)
{
	m->words = 1ull << m->offset / 8 | 1ull << (m->offset + m->width - 1) / 8;
}

static const struct layout *add(struct layout *l)
{
	for (unsigned int i = 0; i < l->n_members; i++)
		note_words(&l->members[i]);
	l->id = crc32(0, l->description, l->description_size);
	l->next = layouts;
	layouts = l;
	return l;
}

const struct layout *layout_of(const struct algorithm *algorithm)
{
	struct layout *l;

	for (l = layouts; l; l = l->next)
		if (l->algorithm == algorithm)
			return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->algorithm = algorithm;
	l->description = malloc(DESCRIPTION_MAX);
	if (l->description && layout_fill(l))
		l->description_size = description_write(l, l->description);
	if (l->description_size)
		return add(l);
	free_layout(l);
	return NULL;
}

static void add_known(void)
{
	for (size_t i = 0; i < n_algorithms; i++)
		layout_of(algorithms[i]);
}

const struct layout *layout_find(__u32 id)
{
	add_known();
	for (struct layout *l = layouts; l; l = l->next)
		if (l->id == id)
			return l;
	return NULL;
}

static bool is_same(const struct layout *l, const __u8 *description, size_t size)
{
	return l->description_size == size && !memcmp(l->description, description, size);
}

const struct layout *layout_read(const __u8 *description, size_t size)
{
	unsigned int n_read = 0;
	struct layout *l;

	add_known();
	for (l = layouts; l; l = l->next) {
		if (is_same(l, description, size))
			return l;
		n_read += l->is_read;
	}
	if (n_read == MAX_READ || size > DESCRIPTION_MAX)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->is_read = true;
	l->description = malloc(size + 1);
	l->members = calloc(LAYOUT_MEMBERS, sizeof(*l->members));
	if (l->description && l->members && description_read(l, description, size)) {
		memcpy(l->description, description, size);
		l->description_size = size;
		return add(l);
	}
	free_layout(l);
	return NULL;
}

const struct algorithm *layout_described(size_t i)
{
	for (struct layout *l = layouts; l; l = l->next)
		if (l->is_read && !i--)
			return l->algorithm;
	return NULL;
}

void layout_forget(void)
{
	struct layout **at = &layouts, *l;

	while ((l = *at)) {
		if (!l->is_read) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free_layout(l);
	}
}
