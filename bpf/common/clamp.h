/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to an algorithm's table of parameters before the algorithm sees them. */
#ifndef CLAMP_H
#define CLAMP_H

#include "base/types.h"
#include "params.h"

/*
 * x if it is below 0, else 0. It takes no branch, and the asm keeps the compiler from making one.
 */
static inline s64 negative_part(s64 x)
{
	s64 sign = x >> 63;

	asm volatile("" : "+r"(sign));
	return x & sign;
}

/*
 * Loads a value once, because it may change at any moment, and clamps it to its range. It takes no
 * branches: otherwise more than half of the verifier's work for the whole program would be to
 * follow those of all parameters.
 */
static inline u32 param_clamp(const u32 *value, u32 lo, u32 hi)
{
	s64 v = *(const volatile u32 *)value;

	v -= negative_part(v - lo);
	return v + negative_part(hi - v);
}

/*
 * Anybody with the right to write the map of parameters may have written anything. The algorithm
 * sees only values that were clamped here.
 */
static inline void bbr_clamp_params(struct bbr_params *to, const struct bbr_params *from)
{
#define X(key, n, unit, dflt, lo, hi, help) \
	for (u32 i = 0; i < n; i++)         \
		to->key[i] = param_clamp(&from->key[i], lo, hi);
	BBR_PARAMS(X, X)
#undef X
}

/* True if any option of the table is on. */
static inline bool bbr_has_options(const struct bbr_params *p)
{
	u32 differ = 0;

#define X(key, n, unit, dflt, lo, hi, help) differ |= p->key[0] ^ ((const u32[])dflt)[0];
	BBR_PARAMS(BBR_NO_PARAM, X)
#undef X
	return differ;
}

#endif
