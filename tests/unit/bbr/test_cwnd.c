/* SPDX-License-Identifier: GPL-2.0-only */
/* The window. At a cwnd gain of 2.0 the target is 200 + 6. */
#include "fixture.h"

static u32 cwnd_after(struct fixture *f, u32 cwnd)
{
	f->sk.cwnd = cwnd;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW);
	return f->sk.cwnd;
}

TEST(cwnd_grows_by_what_was_acked)
{
	FIXTURE;

	assert_int_equal(cwnd_after(f, 100), 110);
	f->b.full_bw_reached = 1;
	assert_int_equal(cwnd_after(f, 100), 110);
	f->rs.acked_sacked = 1;
	assert_int_equal(cwnd_after(f, 100), 101);
}

TEST(cwnd_grows_to_the_target_once_the_pipe_is_full)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	assert_int_equal(cwnd_after(f, 195), 205);
	assert_int_equal(cwnd_after(f, 197), 206);
}

TEST(cwnd_falls_to_the_target_once_the_pipe_is_full)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	assert_int_equal(cwnd_after(f, 500), 206);
}

TEST(cwnd_grows_while_below_the_target_before_the_pipe_is_full)
{
	FIXTURE;

	assert_int_equal(cwnd_after(f, 205), 215); /* beyond it */
	assert_int_equal(cwnd_after(f, 206), 206);
}

TEST(cwnd_does_not_fall_before_the_pipe_is_full)
{
	FIXTURE;

	assert_int_equal(cwnd_after(f, 500), 500);
}

TEST(cwnd_grows_until_the_initial_window_is_delivered)
{
	FIXTURE;

	f->sk.delivered = 9;
	assert_int_equal(cwnd_after(f, 500), 510);
	f->sk.delivered = 10;
	assert_int_equal(cwnd_after(f, 500), 500);
}

TEST(init_cwnd_is_how_much_delivered_lets_cwnd_grow)
{
	FIXTURE;

	f->p.init_cwnd[0] = 32;
	f->sk.delivered = 31;
	assert_int_equal(cwnd_after(f, 500), 510);
	f->sk.delivered = 32;
	assert_int_equal(cwnd_after(f, 500), 500);
}

TEST(the_initial_window_does_not_matter_once_the_pipe_is_full)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->sk.delivered = 9;
	assert_int_equal(cwnd_after(f, 500), 206);
}

TEST(the_target_is_of_the_cwnd_gain)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.cwnd_gain = 739; /* 288.7 + 6, even */
	f->b.pacing_gain = 300;
	assert_int_equal(cwnd_after(f, 500), 296);
}

TEST(the_target_adds_two_in_the_probing_phase)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	assert_int_equal(cwnd_after(f, 500), 208);
}

/* 200 + 21 + 6 is made even. */
TEST(the_target_adds_ack_aggregation_before_it_is_rounded)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.extra_acked[1] = 21;
	assert_int_equal(cwnd_after(f, 500), 228);
}

TEST(cwnd_is_at_least_4)
{
	FIXTURE;

	f->rs.acked_sacked = 1;
	assert_int_equal(cwnd_after(f, 1), 4);
	assert_int_equal(cwnd_after(f, 3), 4);
	assert_int_equal(cwnd_after(f, 4), 5);
	f->b.full_bw_reached = 1;
	f->p.tso_budget[0] = 0;
	fixture_set_max_bw(f, 0);
	f->sk.cwnd = 100;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, 0); /* a target of 0 */
	assert_int_equal(f->sk.cwnd, 4);
}

TEST(cwnd_min_target_is_the_floor)
{
	FIXTURE;

	f->p.cwnd_min_target[0] = 20;
	assert_int_equal(cwnd_after(f, 1), 20);
}

TEST(cwnd_is_never_0_nor_negative_whatever_the_parameters_are)
{
	FIXTURE;

	memset(&f->p, 0, sizeof(f->p)); /* not clamped */
	fixture_full_pipe(f, BBR_PROBE_RTT);
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW);
	assert_int_equal(f->sk.cwnd, 1);

	memset(&f->p, 0xff, sizeof(f->p));
	f->b.mode = BBR_PROBE_BW;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW);
	assert_int_equal(f->sk.cwnd, 1);
}

TEST(cwnd_is_capped_by_the_clamp)
{
	FIXTURE;

	f->sk.snd_cwnd_clamp = 105;
	assert_int_equal(cwnd_after(f, 100), 105);
	f->sk.snd_cwnd_clamp = 2; /* stronger than the floor */
	assert_int_equal(cwnd_after(f, 100), 2);
}

TEST(probe_rtt_caps_cwnd_at_4)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	assert_int_equal(cwnd_after(f, 100), 4);
	f->sk.snd_cwnd_clamp = 3;
	assert_int_equal(cwnd_after(f, 100), 3);
}

TEST(probe_rtt_caps_cwnd_even_when_nothing_was_acked)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->rs.acked_sacked = 0;
	assert_int_equal(cwnd_after(f, 100), 4);
	assert_int_equal(cwnd_after(f, 3), 3);
}

TEST(probe_rtt_cwnd_is_the_cap_of_probe_rtt)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->p.probe_rtt_cwnd[0] = 50;
	assert_int_equal(cwnd_after(f, 100), 50);
}

TEST(other_modes_have_no_such_cap)
{
	static const u8 modes[] = { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW };
	FIXTURE;

	for (int i = 0; i < 3; i++) {
		f->b.mode = modes[i];
		assert_int_equal(cwnd_after(f, 100), 110);
	}
}

TEST(an_ack_of_nothing_changes_no_window)
{
	FIXTURE;

	f->rs.acked_sacked = 0;
	f->rs.losses = 5;
	f->b.full_bw_reached = 1;
	assert_int_equal(cwnd_after(f, 500), 500);
	assert_int_equal(cwnd_after(f, 1), 1);
	f->sk.snd_cwnd_clamp = 60;
	assert_int_equal(cwnd_after(f, 500), 60);
}

TEST(an_ack_of_nothing_neither_enters_nor_leaves_recovery)
{
	FIXTURE;

	f->rs.acked_sacked = 0;
	f->sk.ca_state = TCP_CA_Recovery;
	assert_int_equal(cwnd_after(f, 100), 100);
	assert_int_equal(f->b.packet_conservation, 0);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Open);

	f->b.prev_ca_state = TCP_CA_Loss;
	f->b.prior_cwnd = 300;
	f->sk.ca_state = TCP_CA_Open;
	assert_int_equal(cwnd_after(f, 100), 100);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Loss);
}

TEST(losses_are_taken_off_before_cwnd_grows)
{
	FIXTURE;

	f->rs.losses = 30;
	assert_int_equal(cwnd_after(f, 100), 80);
	assert_int_equal(cwnd_after(f, 230), 210); /* 200 is below the target */
}

TEST(a_restored_window_grows_from_there)
{
	FIXTURE;

	f->b.prev_ca_state = TCP_CA_Recovery;
	f->b.prior_cwnd = 150;
	assert_int_equal(cwnd_after(f, 50), 160);
}

/* "Restored" means up to the target. */
TEST(a_restored_window_is_capped_by_the_target)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.prev_ca_state = TCP_CA_Recovery;
	f->b.prior_cwnd = 300;
	assert_int_equal(cwnd_after(f, 50), 206);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(cwnd_grows_by_what_was_acked),
		T(cwnd_grows_to_the_target_once_the_pipe_is_full),
		T(cwnd_falls_to_the_target_once_the_pipe_is_full),
		T(cwnd_grows_while_below_the_target_before_the_pipe_is_full),
		T(cwnd_does_not_fall_before_the_pipe_is_full),
		T(cwnd_grows_until_the_initial_window_is_delivered),
		T(init_cwnd_is_how_much_delivered_lets_cwnd_grow),
		T(the_initial_window_does_not_matter_once_the_pipe_is_full),
		T(the_target_is_of_the_cwnd_gain),
		T(the_target_adds_two_in_the_probing_phase),
		T(the_target_adds_ack_aggregation_before_it_is_rounded),
		T(cwnd_is_at_least_4),
		T(cwnd_min_target_is_the_floor),
		T(cwnd_is_never_0_nor_negative_whatever_the_parameters_are),
		T(cwnd_is_capped_by_the_clamp),
		T(probe_rtt_caps_cwnd_at_4),
		T(probe_rtt_caps_cwnd_even_when_nothing_was_acked),
		T(probe_rtt_cwnd_is_the_cap_of_probe_rtt),
		T(other_modes_have_no_such_cap),
		T(an_ack_of_nothing_changes_no_window),
		T(an_ack_of_nothing_neither_enters_nor_leaves_recovery),
		T(losses_are_taken_off_before_cwnd_grows),
		T(a_restored_window_grows_from_there),
		T(a_restored_window_is_capped_by_the_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
