// SPDX-License-Identifier: GPL-2.0-only
/* What the compiler has called at each basic block and comparison of path.c: its sanitizers' interface. */
#include "path_trace.h"

static __u64 path;

static void mix(__u64 value)
{
	path = (path ^ value) * 0x9e3779b97f4a7c15ull;
	path ^= path >> 29;
}

void path_begin(void)
{
	path = 0;
}

__u64 path_end(void)
{
	return path;
}

void __sanitizer_cov_trace_pc(void)
{
	mix((__u64)__builtin_return_address(0));
}

static void mix_comparison(__u64 a, __u64 b)
{
	__u64 difference = a - b;

	mix(difference + 1 < 3 ? difference + 1 : 3);
}

#define TRACE(name, type)             \
	void name(type a, type b)     \
	{                             \
		mix_comparison(a, b); \
	}
TRACE(__sanitizer_cov_trace_cmp1, __u8)
TRACE(__sanitizer_cov_trace_cmp2, __u16)
TRACE(__sanitizer_cov_trace_cmp4, __u32)
TRACE(__sanitizer_cov_trace_cmp8, __u64)
TRACE(__sanitizer_cov_trace_const_cmp1, __u8)
TRACE(__sanitizer_cov_trace_const_cmp2, __u16)
TRACE(__sanitizer_cov_trace_const_cmp4, __u32)
TRACE(__sanitizer_cov_trace_const_cmp8, __u64)

/* The branches of a switch are told apart by their blocks. */
void __sanitizer_cov_trace_switch(__u64 value, __u64 *cases)
{
	(void)value;
	(void)cases;
}
