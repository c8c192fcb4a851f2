/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text that goes to a file in few pieces: a stdio call for each word takes longer than writing the
 * word.
 */
#ifndef LIB_BUFFERED_H
#define LIB_BUFFERED_H

#include <stddef.h>
#include <stdio.h>

#include <linux/types.h>

struct buffered {
	FILE *out;
	size_t n;
	char buf[4096];
};

void buffered_begin(struct buffered *b, FILE *out);
void buffered_put(struct buffered *b, const char *s, size_t len);
void buffered_text(struct buffered *b, const char *s);
void buffered_count(struct buffered *b, __u64 value);
/*
 * Makes room for len bytes, at most the size of buf, after the n bytes in it. The caller writes
 * them and then increases n.
 */
char *buffered_room(struct buffered *b, size_t len);
/* Writes what is left to the file. */
void buffered_end(struct buffered *b);

#endif
