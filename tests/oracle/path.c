// SPDX-License-Identifier: GPL-2.0-only
/* Compiled with -fsanitize-coverage=trace-pc,trace-cmp: it calls the functions of path_trace.c. */
#include "path.h"
#include "path_trace.h"

u64 path_of(struct replay *r, const struct bbr_params *params)
{
	path_begin();
	replay_callback(r, params);
	return path_end();
}
