/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ORACLE_PATH_H
#define ORACLE_PATH_H

#include "replay.h"

/*
 * Runs the callback. Returns a number for the way that it took through the algorithm: its branches, and
 * of each comparison whether the two values are equal, differ by one, or by more.
 */
u64 path_of(struct replay *r, const struct bbr_params *params);

#endif
