// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <sys/stat.h>

#include "clock.h"
#include "cli/err.h"

static __s64 offset_ns; /* of our CLOCK_MONOTONIC from the kernel's */

static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_ino == y.st_ino;
}

bool clock_init(void)
{
	FILE *f AUTO_FCLOSE = fopen("/proc/self/timens_offsets", "re");
	long long s, ns;

	if (!f) /* a kernel without time namespaces */
		return true;
	/* If our children get another namespace, the file is about that one. */
	if (fscanf(f, "monotonic %lld %lld", &s, &ns) == 2 &&
	    is_same("/proc/self/ns/time", "/proc/self/ns/time_for_children")) {
		offset_ns = s * (__s64)NS_PER_S + ns;
		return true;
	}
	err("cannot find the clock's offset in this time namespace\n"
	    "start it from a process inside its time namespace: unshare --time --fork");
	return false;
}

__u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec - offset_ns;
}

__u64 realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* The coarse clock moves with each tick. */
__u32 kernel_hz(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || !tick.tv_nsec)
		return 1000;
	return (NS_PER_S + tick.tv_nsec / 2) / tick.tv_nsec;
}

__u64 us_of_ticks(__u64 ticks)
{
	return ticks * US_PER_S / kernel_hz();
}
