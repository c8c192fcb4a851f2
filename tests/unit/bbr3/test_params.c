/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of parameters. */
#include "fixture.h"
#include "../params.h"

/*
 * The constants of Google's tcp_bbr.c, in our units, followed by what it does not have, which is
 * off: written by hand, so that no slip goes unseen.
 */
TEST(defaults_are_googles_constants)
{
	static const struct bbr_params google = {
		{ 256 * 277 / 100 + 1 },
		{ 512 },
		{ 512 },
		{ 256 * 1000 / 2885 },
		{ 320, 256 * 91 / 100, 256, 256 },
		{ 512 },
		{ 64 },
		{ 256 },
		{ 256 }, /* gains */
		{ 1 },
		{ 4 },
		{ 1000 },
		{ 512 },
		{ 3 },
		{ 2 }, /* pacing and window */
		{ 10000 },
		{ 5000 },
		{ 200 },
		{ 128 }, /* PROBE_RTT */
		{ 320 },
		{ 3 },
		{ 6 },
		{ 2 }, /* STARTUP */
		{ 256 * 2 / 100 },
		{ 256 * 30 / 100 },
		{ 256 * 15 / 100 }, /* losses */
		{ 63 },
		{ 2 },
		{ 2000000 },
		{ 1000000 }, /* probes */
		{ 256 },
		{ 5 },
		{ 1 },
		{ 100000 },
		{ 1 << 20 }, /* ACK aggregation */
		{ 5000 },
		{ 16 },
		{ 256 },
		{ 256 / 3 },
		{ 128 },
		{ 128 },
		{ 1 }, /* ECN */
		{ 1 },
		{ 1 },
		{ 3 },
		{ 0 },
		{ 0 },
		{ 0 },
		{ 0 },
		{ 0 },
		{ 0 },
		{ 0 },
		{ 0 },
		{ 0 },
	};
	FIXTURE;

	assert_memory_equal(&f->p, &google, sizeof(google));
	assert_false(bbr_has_options(&f->p));
	f->p.cruise_above_hi[0] = 1;
	assert_true(bbr_has_options(&f->p));
}

/* With all bits set, the clamps must leave values that fit into the fields of struct bbr. */
TEST(the_highest_values_fit_where_they_go)
{
	FIXTURE;

	memset(&f->p, 0xff, sizeof(f->p));
	bbr_clamp_params(&f->p, &f->p);
#define X(key, n, unit, dflt, lo, hi, help)                               \
	if (BBR_U_##unit == BBR_U_GAIN)                                   \
		assert_in_range(PARAM(&f->sk, key), 0, 4095);             \
	if (BBR_U_##unit == BBR_U_MSEC) /* stamps are compared by sign */ \
		assert_in_range(PARAM(&f->sk, key), 0, 0x7fffffff);
	BBR_PARAMS(X, X)
#undef X
	assert_in_range(PARAM(&f->sk, full_bw_rounds), 3, 3); /* 2 bits */
	assert_in_range(PARAM(&f->sk, drain_max_rounds), 3, 3); /* 2 bits */
	assert_in_range(PARAM(&f->sk, full_loss_cnt), 6, 15); /* 4 bits */
	assert_in_range(PARAM(&f->sk, extra_acked_win), 5, 31); /* 5 bits */
	assert_in_range(PARAM(&f->sk, extra_acked_startup_win), 1, 31);
	assert_in_range(PARAM(&f->sk, probe_max_rounds), 63, 255); /* 8 bits */
	assert_in_range(PARAM(&f->sk, probe_rand_rounds), 2, 255); /* below it: 8 bits */
	assert_in_range(PARAM(&f->sk, probe_wait) + PARAM(&f->sk, probe_wait_rand), 3000000,
			0xffffff); /* 24 bits */
	assert_in_range(PARAM(&f->sk, loss_thresh), 5, 255); /* 256 less this is a divisor */
	assert_in_range(PARAM(&f->sk, beta), 76, 256); /* 256 less this is a factor */
	assert_in_range(PARAM(&f->sk, ecn_alpha_init), 256, 256);
	assert_in_range(PARAM(&f->sk, ack_epoch_max), 1 << 20, 1 << 20); /* 20 bits, exceeded */
	assert_in_range(PARAM(&f->sk, pacing_margin), 1, 99);
}

/* What a connection needs in any case: it sends, it ends phases, nothing is divided by 0. */
TEST(the_lowest_values_keep_a_connection_moving)
{
	FIXTURE;

	memset(&f->p, 0, sizeof(f->p));
	bbr_clamp_params(&f->p, &f->p);
	assert_in_range(PARAM(&f->sk, cwnd_min_target), 1, 4);
	assert_in_range(PARAM(&f->sk, init_rtt), 1, 1000);
	assert_in_range(PARAM(&f->sk, drain_gain), 1, 88);
	assert_in_range(PARAM(&f->sk, probe_rtt_gain), 1, 256);
	assert_in_range(PARAM(&f->sk, probe_wait_rand), 1, 1000000);
	assert_in_range(PARAM(&f->sk, sndbuf_expand), 2, 3);
	for (u32 i = 0; i < BBR_PHASES; i++)
		assert_in_range(PARAM_AT(&f->sk, probe_bw_gains, i), 1, 232);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(defaults_are_googles_constants),
		T(parameters_are_in_the_order_of_the_table),
		T(defaults_are_inside_their_ranges),
		T(each_value_goes_to_its_own_place),
		T(each_value_is_clamped_to_its_range),
		T(the_highest_values_fit_where_they_go),
		T(the_lowest_values_keep_a_connection_moving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
