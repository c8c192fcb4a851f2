/* SPDX-License-Identifier: GPL-2.0-only */
/* What cost.bpf.c records for cost.c. */
#ifndef COST_H
#define COST_H

#include <linux/types.h>

#define COST_PLACES 32768
#define COST_INTERRUPT 8192 /* calls this long are left out: an interrupt came in between */

struct cost_span {
	__u64 begin; /* of the call that runs; 0: none */
	__u64 interrupted; /* calls that took longer than all places */
	__u64 calls[COST_PLACES]; /* by their count of instructions */
};

#endif
