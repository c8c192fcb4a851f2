// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions that the compiler calls at each basic block and comparison of path.c: its
 * sanitizers' interface.
 */
#include "path.h"

static __u64 nowhere; /* unused: written outside of path_begin() and path_end() */
static __u64 *keys = &nowhere; /* the first one is the path */
static unsigned int count, most;

static __u64 mix(__u64 a, __u64 b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15ull;
	return a ^ a >> 29;
}

void path_begin(__u64 *to, unsigned int size)
{
	keys = to;
	most = size;
	keys[0] = 0;
	count = 1;
}

unsigned int path_end(void)
{
	keys = &nowhere;
	most = 0;
	return count;
}

void __sanitizer_cov_trace_pc(void)
{
	keys[0] = mix(keys[0], (__u64)__builtin_return_address(0));
}

/* place: the address of the comparison */
static void compare(void *place, __u64 a, __u64 b)
{
	__u64 difference = a - b + 1;

	if (difference < 3 && count < most)
		keys[count++] = mix((__u64)place, difference);
}

#define TRACE(name, type)                                   \
	void name(type a, type b)                           \
	{                                                   \
		compare(__builtin_return_address(0), a, b); \
	}
TRACE(__sanitizer_cov_trace_cmp1, __u8)
TRACE(__sanitizer_cov_trace_cmp2, __u16)
TRACE(__sanitizer_cov_trace_cmp4, __u32)
TRACE(__sanitizer_cov_trace_cmp8, __u64)
TRACE(__sanitizer_cov_trace_const_cmp1, __u8)
TRACE(__sanitizer_cov_trace_const_cmp2, __u16)
TRACE(__sanitizer_cov_trace_const_cmp4, __u32)
TRACE(__sanitizer_cov_trace_const_cmp8, __u64)

/* The basic blocks tell the branches of a switch apart. */
void __sanitizer_cov_trace_switch(__u64 value, __u64 *cases)
{
	(void)value;
	(void)cases;
}
