/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ORACLE_PATH_H
#define ORACLE_PATH_H

#include "replay.h"

#define MAX_KEYS 256

/*
 * Runs the callback, and fills keys with what is special about it: a number for its path through
 * the algorithm's branches, and one for each comparison of two values that are equal or differ by
 * one. Returns the number of keys.
 */
unsigned int path_of(struct replay *r, const struct bbr_params *params, u64 keys[MAX_KEYS]);

/* For path.c: between the two calls, keys is filled like this. path_end() returns the number of keys. */
void path_begin(u64 *keys, unsigned int most);
unsigned int path_end(void);

#endif
