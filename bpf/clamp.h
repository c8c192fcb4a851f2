/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done with an algorithm's table of parameters before the algorithm sees them. To be included after its
 * params.h.
 */
#ifndef CLAMP_H
#define CLAMP_H

#include "types.h"
#include "bpf_bbr/params.h"

/* x if it is below 0, else 0. Not by a branch, nor may the compiler make one of it. */
static inline s64 negative_part(s64 x)
{
	s64 sign = x >> 63;

	asm volatile("" : "+r"(sign));
	return x & sign;
}

/*
 * Loads a value once, for it may change at any moment, and clamps it to its range. Without branches: with them more
 * than half of what the verifier does for the whole program is to follow those of all parameters.
 */
static inline u32 param_clamp(const u32 *value, u32 lo, u32 hi)
{
	s64 v = *(const volatile u32 *)value;

	v -= negative_part(v - lo);
	return v + negative_part(hi - v);
}

/*
 * Anybody with the right to write the map of parameters can have written anything. The algorithm gets
 * to see only what has gone through here.
 */
static inline void bbr_clamp_params(struct bbr_params *to, const struct bbr_params *from)
{
#define X(key, n, unit, dflt, lo, hi, help) \
	for (u32 i = 0; i < n; i++)         \
		to->key[i] = param_clamp(&from->key[i], lo, hi);
	BBR_PARAMS(X, X)
#undef X
}

/*
 * Is any of the table's options on? The opposite of one is the constant BBR_MOSTLY_ON: 0 turns a step off that most have.
 */
static inline bool bbr_has_options(const struct bbr_params *p)
{
#ifdef BBR_MOSTLY_ON
	u32 differ = !p->BBR_MOSTLY_ON[0];
#else
	u32 differ = 0;
#endif

#define X(key, n, unit, dflt, lo, hi, help) differ |= p->key[0] ^ ((const u32[])dflt)[0];
	BBR_PARAMS(BBR_NO_PARAM, X)
#undef X
	return differ;
}

#endif
