/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common parts of the fuzzers: reading the input, failing, and reporting what was reached.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes to the descriptor, because a target may have redirected stdio's streams. */
#define CHECK(condition)                                                                          \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			dprintf(2, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

struct input {
	const uint8_t *data;
	size_t left;
};

/* Takes the next n bytes. Bytes that are missing at the end are 0. */
static inline void input_take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (!have)
		return;
	memcpy(to, in->data, have);
	in->data += have;
	in->left -= have;
}

/* test_fuzz.py reads this: a corpus that no longer reaches something tests nothing there. */
static inline void say_reached(const char *what, unsigned long times)
{
	dprintf(2, "reached %s: %lu\n", what, times);
}

#endif
