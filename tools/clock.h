/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TOOLS_CLOCK_H
#define TOOLS_CLOCK_H

#include <time.h>
#include <linux/types.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/* CLOCK_MONOTONIC, as in leases and events. */
static inline __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* The time of day, since 1970. It may be set, and go back. */
static inline __u64 realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

#endif
