/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ORACLE_PATH_TRACE_H
#define ORACLE_PATH_TRACE_H

#include <linux/types.h>

void path_begin(void);
__u64 path_end(void);

#endif
