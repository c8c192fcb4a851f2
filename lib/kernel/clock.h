/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <stdbool.h>
#include <time.h>
#include <linux/types.h>

#define US_PER_S 1000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/* Finds by how much a time namespace shifts our clock; false after printing that it cannot. */
bool clock_init(void);

/* CLOCK_MONOTONIC of the kernel, as in leases and events. */
__u64 now_ns(void);

/* The time of day, since 1970. It may be set, and go back. */
__u64 realtime_ns(void);

/* Ticks of the kernel per second: CONFIG_HZ. */
__u32 kernel_hz(void);
__u64 us_of_ticks(__u64 ticks);

#endif
