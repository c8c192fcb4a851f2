// SPDX-License-Identifier: GPL-2.0-only
/* Compiled with -fsanitize-coverage=trace-pc,trace-cmp: it calls the functions of path_trace.c. */
#include "path.h"

unsigned int path_of(struct replay *r, const struct bbr_params *params, u64 keys[MAX_KEYS])
{
	path_begin(keys, MAX_KEYS);
	replay_callback(r, params);
	return path_end();
}
