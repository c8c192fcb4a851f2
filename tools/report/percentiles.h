/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Percentiles of many numbers in little memory: exact below 128, to within 1/128 above.
 */
#ifndef TOOLS_PERCENTILES_H
#define TOOLS_PERCENTILES_H

#include <stdbool.h>
#include <linux/types.h>

struct percentiles {
	__u64 n;
	__u32 *counts; /* of the buckets from `lowest` on */
	__u32 lowest, n_buckets;
};

/* False: no memory. */
bool percentiles_add(struct percentiles *p, __u32 value);
/* The nearest rank; there must be at least one number. */
__u32 percentiles_get(const struct percentiles *p, double percent);
void percentiles_free(struct percentiles *p);

#endif
