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

#endif
