// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "percentiles.h"

/* Each power of two has this many buckets: they tell 6 bits after a number's highest one. */
#define STEPS 64

static __u32 bucket_of(__u32 value)
{
	int shift;

	if (value < STEPS)
		return value;
	shift = 31 - __builtin_clz(value) - __builtin_ctz(STEPS);
	return shift * STEPS + (value >> shift);
}

/* The middle of a bucket. */
static __u32 value_of(__u32 bucket)
{
	int shift = bucket < 2 * STEPS ? 0 : bucket / STEPS - 1;

	return ((bucket - shift * STEPS) << shift) + (1u << shift) / 2;
}

/* Makes room for a bucket. There are few, because what is measured has few orders of magnitude. */
static bool reach(struct percentiles *p, __u32 bucket)
{
	__u32 lowest = p->n_buckets && p->lowest < bucket ? p->lowest : bucket;
	__u32 end = p->n_buckets && p->lowest + p->n_buckets > bucket + 1 ?
			    p->lowest + p->n_buckets :
			    bucket + 1;
	__u32 *counts;

	if (p->n_buckets && lowest == p->lowest && end == p->lowest + p->n_buckets)
		return true;
	counts = calloc(end - lowest, sizeof(*counts));
	if (!counts)
		return false;
	if (p->n_buckets)
		memcpy(counts + (p->lowest - lowest), p->counts, p->n_buckets * sizeof(*counts));
	free(p->counts);
	p->counts = counts;
	p->lowest = lowest;
	p->n_buckets = end - lowest;
	return true;
}

bool percentiles_add(struct percentiles *p, __u32 value)
{
	__u32 bucket = bucket_of(value);

	if (!reach(p, bucket))
		return false;
	p->counts[bucket - p->lowest]++;
	p->n++;
	return true;
}

__u32 percentiles_get(const struct percentiles *p, double percent)
{
	__u64 rank = ceil(p->n * percent / 100), seen = 0;
	__u32 i;

	for (i = 0; i + 1 < p->n_buckets; i++) {
		seen += p->counts[i];
		if (seen >= rank)
			break;
	}
	return value_of(p->lowest + i);
}

void percentiles_free(struct percentiles *p)
{
	free(p->counts);
}
