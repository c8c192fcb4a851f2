/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a user can name: the fields and modes of the algorithms that were compiled in and, with a
 * recording, of those that it describes.
 */
#ifndef TOOLS_KNOWN_H
#define TOOLS_KNOWN_H

#include "descriptor.h"

struct known {
	const char *recording; /* NULL: none */
	/* The i-th algorithm that only the recording describes; NULL: it has no more. */
	const struct algorithm *(*described)(const char *recording, size_t i);
};

/*
 * The i-th of all these algorithms, those compiled in first; NULL: there are no more. Without a
 * struct known there is no recording.
 */
const struct algorithm *known_algorithm(const struct known *k, size_t i);

/* A field of any of them, or one that every event has; NULL: there is none of this key. */
const struct field *known_field(const struct known *k, const char *key);

/* Names that would have been right, for a message. */
struct name_list {
	char text[4096];
	size_t len;
};

/* Adds a name if it is not in the list yet: algorithms have some in common. */
void name_list_add(struct name_list *list, const char *name);
void name_list_add_fields(struct name_list *list, const struct known *k);
/* Prints the list as what to do about an error. */
void name_list_print(const struct name_list *list);

#endif
