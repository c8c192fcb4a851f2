/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules for any algorithm's table of parameters. Include this after the algorithm's fixture.h. */
#ifndef UNIT_PARAMS_H
#define UNIT_PARAMS_H

/*
 * Each line of the table is where the lines before it end: the table has the order of the struct.
 */
TEST(parameters_are_in_the_order_of_the_table)
{
	size_t end = 0;

	(void)state;

#define X(key, n, unit, dflt, lo, hi, help)                      \
	assert_int_equal(offsetof(struct bbr_params, key), end); \
	end += (n) * sizeof(u32);
	BBR_PARAMS(X, X)
#undef X
	assert_int_equal(sizeof(struct bbr_params), end);
}

TEST(defaults_are_inside_their_ranges)
{
	struct bbr_params to;
	FIXTURE;

#define X(key, n, unit, dflt, lo, hi, help) \
	for (u32 i = 0; i < n; i++)         \
		assert_in_range(f->p.key[i], lo, hi);
	BBR_PARAMS(X, X)
#undef X
	bbr_clamp_params(&to, &f->p);
	assert_memory_equal(&to, &f->p, sizeof(to));
}

TEST(each_value_goes_to_its_own_place)
{
	struct bbr_params to;
	FIXTURE;

#define X(key, n, unit, dflt, lo, hi, help)                                        \
	for (u32 i = 0; i < n; i++) {                                              \
		u32 was = f->p.key[i];                                             \
		f->p.key[i] = was == (hi) ? (lo) : (hi);                           \
		bbr_clamp_params(&to, &f->p);                                      \
		assert_memory_equal(&to, &f->p, sizeof(to));                       \
		assert_int_equal(PARAM_AT(&f->sk, key, i), was == (hi) ? lo : hi); \
		f->p.key[i] = was;                                                 \
	}
	BBR_PARAMS(X, X)
#undef X
}

static u32 clamped(u32 value, u64 lo, u64 hi)
{
	return value < lo ? lo : value > hi ? hi : value;
}

TEST(each_value_is_clamped_to_its_range)
{
	struct bbr_params to;
	FIXTURE;

	/* lo - 1 of a lowest value of 0 is the largest number, and so comes out as hi. */
#define X(key, n, unit, dflt, lo, hi, help)                                                    \
	for (u32 i = 0; i < n; i++) {                                                          \
		const u32 values[] = { 0,	  0xffffffff, (lo) - 1u, lo,	    (lo) + 1u, \
				       (hi) - 1u, hi,	      (hi) + 1u, 0x80000000 };         \
		for (u32 j = 0; j < sizeof(values) / sizeof(values[0]); j++) {                 \
			f->p.key[i] = values[j];                                               \
			bbr_clamp_params(&to, &f->p);                                          \
			assert_int_equal(to.key[i], clamped(values[j], lo, hi));               \
		}                                                                              \
		f->p.key[i] = 0xffffffff;                                                      \
		bbr_clamp_params(&to, &f->p);                                                  \
		assert_int_equal(to.key[i], hi);                                               \
		f->p.key[i] = 0;                                                               \
		bbr_clamp_params(&to, &f->p);                                                  \
		assert_int_equal(to.key[i], lo);                                               \
	}
	BBR_PARAMS(X, X)
#undef X
}

#endif
