/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of parameters. */
#include "fixture.h"
#include "../params.h"

#define MAX_N 8

struct row {
	const char *key;
	u32 n;
	enum bbr_param_unit unit;
	u32 dflt[MAX_N];
};

/*
 * The constants of net/ipv4/tcp_bbr.c, in our units, followed by what it does not have, which is
 * off. This is the table of the first minor version, written by hand so that no slip goes unseen.
 * Later parameters follow it and need no row here.
 */
static const struct row first_version[] = {
	{ "high_gain", 1, BBR_U_GAIN, { 739 } },
	{ "drain_gain", 1, BBR_U_GAIN, { 88 } },
	{ "cwnd_gain", 1, BBR_U_GAIN, { 512 } },
	{ "probe_bw_gains", 8, BBR_U_GAIN, { 320, 192, 256, 256, 256, 256, 256, 256 } },
	{ "idle_restart_gain", 1, BBR_U_GAIN, { 256 } },
	{ "pacing_margin", 1, BBR_U_PERCENT, { 1 } },
	{ "bw_win", 1, BBR_U_ROUNDS, { 10 } },
	{ "min_rtt_win", 1, BBR_U_MSEC, { 10000 } },
	{ "probe_rtt_duration", 1, BBR_U_MSEC, { 200 } },
	{ "probe_rtt_cwnd", 1, BBR_U_PACKETS, { 4 } },
	{ "cwnd_min_target", 1, BBR_U_PACKETS, { 4 } },
	{ "init_cwnd", 1, BBR_U_PACKETS, { 10 } },
	{ "init_rtt", 1, BBR_U_USEC, { 1000 } },
	{ "min_tso_rate", 1, BBR_U_BITRATE, { 1200000 } },
	{ "min_tso_segs", 1, BBR_U_PACKETS, { 2 } },
	{ "tso_segs_max", 1, BBR_U_PACKETS, { 127 } },
	{ "tso_budget", 1, BBR_U_COUNT, { 3 } },
	{ "probe_bw_extra", 1, BBR_U_PACKETS, { 2 } },
	{ "full_bw_thresh", 1, BBR_U_GAIN, { 320 } },
	{ "full_bw_rounds", 1, BBR_U_ROUNDS, { 3 } },
	{ "lt_intvl_min_rtts", 1, BBR_U_ROUNDS, { 4 } },
	{ "lt_intvl_max_rtts", 1, BBR_U_ROUNDS, { 16 } },
	{ "lt_intvl_min_time", 1, BBR_U_MSEC, { 1 } },
	{ "lt_loss_thresh", 1, BBR_U_GAIN, { 50 } },
	{ "lt_bw_ratio", 1, BBR_U_GAIN, { 32 } },
	{ "lt_bw_diff", 1, BBR_U_BITRATE, { 4000 } },
	{ "lt_bw_max_rtts", 1, BBR_U_ROUNDS, { 48 } },
	{ "lt_gain", 1, BBR_U_GAIN, { 256 } },
	{ "extra_acked_gain", 1, BBR_U_GAIN, { 256 } },
	{ "extra_acked_win", 1, BBR_U_ROUNDS, { 5 } },
	{ "extra_acked_max", 1, BBR_U_USEC, { 100000 } },
	{ "ack_epoch_max", 1, BBR_U_PACKETS, { 1048576 } },
	{ "sndbuf_expand", 1, BBR_U_COUNT, { 3 } },
	{ "pin_bw", 1, BBR_U_KBITRATE, { 0 } },
	{ "pin_min_rtt", 1, BBR_U_USEC, { 0 } },
	{ "pacing_rate", 1, BBR_U_KBITRATE, { 0 } },
	{ "min_pacing_rate", 1, BBR_U_KBITRATE, { 0 } },
	{ "max_pacing_rate", 1, BBR_U_KBITRATE, { 0 } },
	{ "min_cwnd", 1, BBR_U_PACKETS, { 0 } },
	{ "max_cwnd", 1, BBR_U_PACKETS, { 0 } },
	{ "probe_rtt_bdp_gain", 1, BBR_U_GAIN, { 0 } },
	{ "probe_rtt_cwnd_gain", 1, BBR_U_GAIN, { 0 } },
	{ "cycle_len", 1, BBR_U_COUNT, { 8 } },
	{ "drain_to_target", 1, BBR_U_COUNT, { 0 } },
	{ "start_cwnd", 1, BBR_U_PACKETS, { 0 } },
	{ "ignore_loss", 1, BBR_U_COUNT, { 0 } },
	{ "cpu_gain", 1, BBR_U_GAIN, { 0 } },
	{ "make_up_loss", 1, BBR_U_PERCENT, { 0 } },
	{ "notsent_lowat", 1, BBR_U_BYTES, { 0 } },
	{ "rto_min", 1, BBR_U_MSEC, { 0 } },
	{ "delack_max", 1, BBR_U_MSEC, { 0 } },
};

static const struct row table[] = {
#define X(key, n, unit, dflt, lo, hi, help) { #key, n, BBR_U_##unit, dflt },
	BBR_PARAMS(X, X)
#undef X
};

#define ROWS (sizeof(first_version) / sizeof(first_version[0]))

TEST(defaults_are_mainlines_constants)
{
	const u32 *value;
	FIXTURE;

	assert_true(sizeof(table) / sizeof(table[0]) >= ROWS);
	value = (const u32 *)&f->p;
	for (u32 i = 0; i < ROWS; i++) {
		const struct row *row = &first_version[i];

		assert_string_equal(table[i].key, row->key);
		assert_int_equal(table[i].n, row->n);
		assert_int_equal(table[i].unit, row->unit);
		for (u32 j = 0; j < row->n; j++)
			assert_int_equal(*value++, row->dflt[j]);
	}
}

/* With all bits set, the clamps must leave values that fit into the fields of struct bbr. */
TEST(the_highest_values_fit_where_they_go)
{
	FIXTURE;

	memset(&f->p, 0xff, sizeof(f->p));
	bbr_clamp_params(&f->p, &f->p);
#define X(key, n, unit, dflt, lo, hi, help)                               \
	if (BBR_U_##unit == BBR_U_GAIN) /* 12 bits */                     \
		assert_in_range(PARAM(&f->sk, key), 0, 4095);             \
	if (BBR_U_##unit == BBR_U_MSEC) /* stamps are compared by sign */ \
		assert_in_range(PARAM(&f->sk, key), 0, 0x7fffffff);
	BBR_PARAMS(X, X)
#undef X
	assert_in_range(PARAM(&f->sk, full_bw_rounds), 3, 31); /* 5 bits */
	assert_in_range(PARAM(&f->sk, extra_acked_win), 5, 31); /* 5 bits */
	assert_in_range(PARAM(&f->sk, lt_bw_max_rtts), 48, 127); /* 7 bits */
	assert_in_range(PARAM(&f->sk, lt_intvl_min_rtts), 4, 126); /* 7 bits must exceed it */
	assert_in_range(PARAM(&f->sk, lt_intvl_max_rtts), 16, 126);
	assert_in_range(PARAM(&f->sk, ack_epoch_max), 1 << 20, 1 << 20); /* 20 bits, exceeded */
	assert_in_range(PARAM(&f->sk, pacing_margin), 1, 99);
	assert_in_range(PARAM(&f->sk, cycle_len), 2, 8); /* min_rtts in 4 bits, phases in 3 */
	assert_in_range(PARAM(&f->sk, max_cwnd), 1, 1 << 30);
}

/* What a connection needs in any case: it sends, it ends phases, nothing is divided by 0. */
TEST(the_lowest_values_keep_a_connection_moving)
{
	FIXTURE;

	memset(&f->p, 0, sizeof(f->p));
	bbr_clamp_params(&f->p, &f->p);
	assert_in_range(PARAM(&f->sk, cwnd_min_target), 1, 4);
	assert_in_range(PARAM(&f->sk, probe_rtt_cwnd), 1, 4);
	assert_in_range(PARAM(&f->sk, init_cwnd), 1, 10);
	assert_in_range(PARAM(&f->sk, init_rtt), 1, 1000);
	assert_in_range(PARAM(&f->sk, drain_gain), 1, 88);
	assert_in_range(PARAM(&f->sk, lt_gain), 1, 256);
	assert_in_range(PARAM(&f->sk, min_tso_segs), 1, 2);
	assert_in_range(PARAM(&f->sk, tso_segs_max), 1, 127);
	assert_in_range(PARAM(&f->sk, lt_intvl_min_time), 1, 1);
	assert_in_range(PARAM(&f->sk, sndbuf_expand), 2, 3);
	for (u32 i = 0; i < BBR_CYCLE_LEN; i++)
		assert_in_range(PARAM_AT(&f->sk, probe_bw_gains, i), 1, 256);
}

/* The stack gets the value unchanged. */
TEST(sndbuf_expand_is_3_unless_changed)
{
	FIXTURE;

	assert_int_equal(bbr_sndbuf_expand(&f->b, &f->sk), 3);
	f->p.sndbuf_expand[0] = 5;
	assert_int_equal(bbr_sndbuf_expand(&f->b, &f->sk), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(defaults_are_mainlines_constants),
		T(parameters_are_in_the_order_of_the_table),
		T(defaults_are_inside_their_ranges),
		T(each_value_goes_to_its_own_place),
		T(each_value_is_clamped_to_its_range),
		T(the_highest_values_fit_where_they_go),
		T(the_lowest_values_keep_a_connection_moving),
		T(sndbuf_expand_is_3_unless_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
