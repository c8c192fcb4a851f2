/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Units, and the few helpers that every algorithm uses.
 *
 * Bandwidth is in packets per microsecond << 24 (BW_SCALE), gains in 1/256 (BBR_UNIT), windows in
 * packets, pacing rates in bytes per second.
 */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include "base/types.h"

/*
 * At 1500 bytes a packet the unit of bandwidth is about 715 bit/s, and a u32 of it reaches 3
 * Tbit/s: fine enough for the slowest path that four packets in flight can keep busy, and beyond
 * the fastest.
 */
#define BW_SCALE 24
#define BW_UNIT (1ull << BW_SCALE)

#define NSEC_PER_SEC 1000000000ull
#define USEC_PER_SEC 1000000u
#define USEC_PER_MSEC 1000u
#define NSEC_PER_USEC 1000u
#define BYTES_PER_KBIT 125ull

/*
 * MAX_TCP_HEADER of distribution kernels (with wireless or Hyper-V, and tunnels). It depends on the
 * kernel's configuration, which a BPF program cannot read. It matters only where a burst of 64 KB
 * is divided into segments, and there by less than one full-sized segment.
 */
#define BBR_MAX_TCP_HEADER 320
#define BBR_GSO_MAX_SIZE 65536 /* GSO_LEGACY_MAX_SIZE */

/* Most ACKs do not run unlikely code: the compiler keeps its registers for the rest. */
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define likely(condition) __builtin_expect(!!(condition), 1)

/*
 * What was read before is read again after this, if it is needed. So nothing has to keep it until
 * then, neither a register nor memory.
 */
#define READ_AGAIN() asm volatile("" ::: "memory")

/* The low 32 bits, by one BPF instruction. The compiler would make two shifts of it. */
static inline u64 low_u32(u64 v)
{
	u32 low = v;

#ifdef __bpf__
	asm("%0 = %0" : "+w"(low));
#endif
	return low;
}

/* A quotient, 0 if the divisor is 0: this is what the BPF instruction does, without a branch. */
static inline u64 quotient(u64 dividend, u32 divisor)
{
#ifdef __bpf__
	u64 wide = divisor;
	register u64 q asm("r0") = dividend; /* the register for which the JIT needs least code */

	asm("%[q] /= %[d]" : [q] "+r"(q) : [d] "ri"(wide));
	return q;
#else
	return divisor ? dividend / divisor : 0;
#endif
}

/*
 * The same value, but the kernel's verifier does not know it. If the verifier knows a bool, it
 * explores all that follows once for true and once for false, and with two of them four times. This
 * takes 2 instructions. other: a number that the verifier does not know.
 */
static inline u32 unknown_to_verifier(u32 value, u64 other)
{
#ifdef __bpf__
	u64 wide = value;

	asm volatile("%[wide] ^= %[other]\n\t%[wide] ^= %[other]"
		     : [wide] "+r"(wide)
		     : [other] "r"(other));
	return wide;
#else
	(void)other;
	return value;
#endif
}

static inline u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* True if a is before b, for counters and stamps that wrap around. */
static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool after(u32 a, u32 b)
{
	return before(b, a);
}

/* Microseconds from t0 to t1, 0 if t1 is earlier: the kernel's tcp_stamp_us_delta(), also a u32. */
static inline u32 stamp_us_delta(u64 t1, u64 t0)
{
	s64 delta = t1 - t0;

	return low_u32(delta > 0 ? delta : 0);
}

#endif
