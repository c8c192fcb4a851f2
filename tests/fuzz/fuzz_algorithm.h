/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common parts of the algorithms' fuzzers. Each includes its version's algorithm.h before this.
 */
#ifndef FUZZ_ALGORITHM_H
#define FUZZ_ALGORITHM_H

#include "common/clamp.h"
#include "fuzz.h"

#define MAX_CALLS 8
#define RATE_BITS 40 /* 64 less BW_SCALE: the bits that are left of any product */

/* In the kernel the compiler makes a bool 0 or 1. */
#define MAKE_BOOL(value) (*(u8 *)&(value) &= 1)

static inline void take_params(struct input *in, bool clamp, struct bbr_params *p)
{
	static const struct bbr_params defaults = BBR_PARAMS_DEFAULT;
	const u32 *dflt = (const u32 *)&defaults;
	const size_t newer = offsetof(struct bbr_params, cpu_gain) / sizeof(u32);
	struct bbr_params raw;
	u32 *v = (u32 *)&raw;

	/*
	 * Any number will do for cpu_gain, and now and then for what comes after it. With bytes of
	 * their own the corpus would mean something else.
	 */
	input_take(in, &raw, newer * sizeof(*v));
	for (size_t i = newer; i < sizeof(raw) / sizeof(*v); i++) {
		u32 any = v[0] ^ v[1] ^ v[2];

		v[i] = i == newer || any % 4 == 3 ? any : 0;
	}
	for (size_t i = 0; i < sizeof(raw) / sizeof(*v); i++)
		v[i] ^= dflt[i];
	if (clamp)
		bbr_clamp_params(p, &raw);
	else /* written by root into the program's own map */
		*p = raw;
}

/* True if the kernel would accept this window. */
static inline bool is_window(u32 cwnd)
{
	return (s32)cwnd > 0;
}

#endif
