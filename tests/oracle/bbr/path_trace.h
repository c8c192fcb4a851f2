/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ORACLE_PATH_TRACE_H
#define ORACLE_PATH_TRACE_H

#include <linux/types.h>

/*
 * Between the two calls, keys is filled as path.h describes. path_end() returns the number of keys.
 */
void path_begin(__u64 *keys, unsigned int most);
unsigned int path_end(void);

#endif
