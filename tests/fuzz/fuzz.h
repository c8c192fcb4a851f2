/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzzers share: reading their input, failing, and telling what they came by.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the descriptor: a target may have put stdio's streams elsewhere. */
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

/* The next n bytes; what is missing at the end is 0. */
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

/* Read by test_fuzz.py: a corpus that no longer comes by something tests nothing there. */
static inline void say_reached(const char *what, unsigned long times)
{
	dprintf(2, "reached %s: %lu\n", what, times);
}

#endif
