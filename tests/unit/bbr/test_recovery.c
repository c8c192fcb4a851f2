/* SPDX-License-Identifier: GPL-2.0-only */
/* Loss recovery: what is saved, cut and restored, and what an RTO or an undo resets. */
#include "fixture.h"

/* Returns the window that recovery hands on; conserved: it must not grow. */
static u32 recover(struct fixture *f, bool conserved)
{
	u32 cwnd = f->sk.cwnd;

	assert_int_equal(bbr_set_cwnd_to_recover_or_restore(&f->b, &f->sk, &f->rs, &cwnd),
			 conserved);
	assert_int_equal(f->b.prev_ca_state, f->sk.ca_state);
	return cwnd;
}

TEST(save_cwnd_overwrites_outside_recovery)
{
	static const u8 states[] = { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR };
	FIXTURE;

	for (int i = 0; i < 3; i++) {
		f->b.prev_ca_state = states[i];
		f->b.prior_cwnd = 300;
		bbr_save_cwnd(&f->b, &f->sk);
		assert_int_equal(f->b.prior_cwnd, 100);
	}
}

TEST(save_cwnd_keeps_the_larger_in_recovery)
{
	static const u8 states[] = { TCP_CA_Recovery, TCP_CA_Loss };
	FIXTURE;

	for (int i = 0; i < 2; i++) {
		f->b.prev_ca_state = states[i];
		f->b.prior_cwnd = 300;
		bbr_save_cwnd(&f->b, &f->sk);
		assert_int_equal(f->b.prior_cwnd, 300);
		f->b.prior_cwnd = 99;
		bbr_save_cwnd(&f->b, &f->sk);
		assert_int_equal(f->b.prior_cwnd, 100);
	}
}

TEST(save_cwnd_keeps_the_larger_in_probe_rtt)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_RTT;
	f->b.prior_cwnd = 300;
	bbr_save_cwnd(&f->b, &f->sk);
	assert_int_equal(f->b.prior_cwnd, 300);
	f->b.prior_cwnd = 99;
	bbr_save_cwnd(&f->b, &f->sk);
	assert_int_equal(f->b.prior_cwnd, 100);
}

TEST(ssthresh_saves_cwnd_and_stays)
{
	FIXTURE;

	f->sk.ssthresh = 4711;
	assert_int_equal(bbr_ssthresh(&f->b, &f->sk), 4711);
	assert_int_equal(f->b.prior_cwnd, 100);
	assert_int_equal(f->sk.ssthresh, 4711);
}

TEST(losses_shrink_cwnd)
{
	FIXTURE;

	f->rs.losses = 30;
	assert_int_equal(recover(f, false), 70);
	f->rs.losses = 0;
	assert_int_equal(recover(f, false), 100);
}

TEST(losses_never_shrink_cwnd_below_1)
{
	FIXTURE;

	f->rs.losses = 98;
	assert_int_equal(recover(f, false), 2);
	f->rs.losses = 99;
	assert_int_equal(recover(f, false), 1);
	f->rs.losses = 100;
	assert_int_equal(recover(f, false), 1);
	f->rs.losses = 101;
	assert_int_equal(recover(f, false), 1);
}

TEST(negative_losses_do_not_grow_cwnd)
{
	FIXTURE;

	f->rs.losses = -5;
	assert_int_equal(recover(f, false), 100);
}

/* A window above 2^31 is negative in mainline's 32 bits. */
TEST(losses_are_taken_off_in_signed_32_bits)
{
	FIXTURE;

	f->sk.cwnd = 0x80000001;
	assert_int_equal(recover(f, false), 0x80000001);
	f->rs.losses = 1;
	assert_int_equal(recover(f, false), 1);
	f->rs.losses = 2;
	assert_int_equal(recover(f, false), 0x7fffffff);
}

TEST(recovery_begins_with_packet_conservation)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Recovery;
	assert_int_equal(recover(f, true), 60); /* 50 in flight + 10 ACKed */
	assert_int_equal(f->b.packet_conservation, 1);
	assert_int_equal(f->b.next_round_delivered, 1000);
}

TEST(recovery_after_a_timeout_begins_with_packet_conservation)
{
	FIXTURE;

	f->b.prev_ca_state = TCP_CA_Loss;
	f->b.prior_cwnd = 300;
	f->sk.ca_state = TCP_CA_Recovery;
	assert_int_equal(recover(f, true), 60);
	assert_int_equal(f->b.packet_conservation, 1);
}

/* Losses do not count on this ACK: inflight has gone down by them. */
TEST(recovery_begins_at_inflight_whatever_was_lost)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Recovery;
	f->rs.losses = 90;
	assert_int_equal(recover(f, true), 60);
}

TEST(recovery_begins_only_once)
{
	FIXTURE;

	f->b.prev_ca_state = TCP_CA_Recovery;
	f->sk.ca_state = TCP_CA_Recovery;
	assert_int_equal(recover(f, false), 100);
	assert_int_equal(f->b.packet_conservation, 0);
	assert_int_equal(f->b.next_round_delivered, 950);
}

TEST(a_timeout_does_not_conserve_packets)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Loss;
	assert_int_equal(recover(f, false), 100);
	assert_int_equal(f->b.packet_conservation, 0);
	assert_int_equal(f->b.next_round_delivered, 950);
}

TEST(conservation_keeps_at_least_inflight_and_acked)
{
	FIXTURE;

	f->b.prev_ca_state = TCP_CA_Recovery;
	f->sk.ca_state = TCP_CA_Recovery;
	f->b.packet_conservation = 1;
	assert_int_equal(recover(f, true), 100);
	f->sk.cwnd = 59;
	assert_int_equal(recover(f, true), 60);
	f->sk.cwnd = 61;
	assert_int_equal(recover(f, true), 61);
	f->rs.losses = 11;
	assert_int_equal(recover(f, true), 60);
}

TEST(exit_from_recovery_restores_prior_cwnd)
{
	static const u8 from[] = { TCP_CA_Recovery, TCP_CA_Loss };
	static const u8 to[] = { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR };
	FIXTURE;

	f->b.prior_cwnd = 300;
	for (int i = 0; i < 6; i++) {
		f->b.prev_ca_state = from[i % 2];
		f->sk.ca_state = to[i / 2];
		f->b.packet_conservation = 1;
		assert_int_equal(recover(f, false), 300);
		assert_int_equal(f->b.packet_conservation, 0);
	}
}

TEST(exit_from_recovery_keeps_a_larger_cwnd)
{
	FIXTURE;

	f->b.prev_ca_state = TCP_CA_Recovery;
	f->b.prior_cwnd = 99;
	assert_int_equal(recover(f, false), 100);
}

TEST(prior_cwnd_is_restored_after_recovery_only)
{
	static const u8 states[] = { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR };
	FIXTURE;

	f->b.prior_cwnd = 300;
	for (int i = 0; i < 3; i++) {
		f->b.prev_ca_state = states[i];
		assert_int_equal(recover(f, false), 100);
	}
	f->b.prev_ca_state = TCP_CA_Recovery;
	f->sk.ca_state = TCP_CA_Loss; /* not over */
	assert_int_equal(recover(f, false), 100);
}

TEST(a_conserved_cwnd_does_not_grow_to_the_target)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->sk.ca_state = TCP_CA_Recovery;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW);
	assert_int_equal(f->sk.cwnd, 60);
}

TEST(a_conserved_cwnd_may_be_below_the_floor)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Recovery;
	f->sk.inflight = 0;
	f->rs.acked_sacked = 1;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW);
	assert_int_equal(f->sk.cwnd, 1);
}

TEST(a_conserved_cwnd_is_capped)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Recovery;
	f->sk.snd_cwnd_clamp = 30;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW);
	assert_int_equal(f->sk.cwnd, 30);
}

TEST(cwnd_grows_in_recovery_after_the_first_round)
{
	FIXTURE;

	f->b.full_bw_reached = 1;
	f->b.prev_ca_state = TCP_CA_Recovery;
	f->sk.ca_state = TCP_CA_Recovery;
	f->rs.losses = 5;
	bbr_set_cwnd(&f->b, &f->sk, &f->rs, BW);
	assert_int_equal(f->sk.cwnd, 105); /* 100 - 5 + 10 */
}

/* The ACK that begins recovery also begins the round, so a whole one follows. */
TEST(conservation_lasts_until_a_packet_sent_in_recovery_is_acked)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Recovery;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.packet_conservation, 1);
	assert_int_equal(f->b.next_round_delivered, 1000);

	f->sk.delivered = 1040;
	f->rs.prior_delivered = 999;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.packet_conservation, 1);

	f->rs.prior_delivered = 1000;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.packet_conservation, 0);
}

TEST(undo_forgets_the_plateau_and_the_policer)
{
	FIXTURE;

	f->b.full_bw = 5;
	f->b.full_bw_cnt = 2;
	f->b.full_bw_reached = 1;
	f->b.lt_bw = 6;
	f->b.lt_use_bw = 1;
	f->b.lt_is_sampling = 1;
	f->b.lt_rtt_cnt = 9;
	f->sk.lost = 33;
	f->b.prior_cwnd = 300;
	assert_int_equal(bbr_undo_cwnd(&f->b, &f->sk), 100);
	assert_int_equal(f->b.full_bw, 0);
	assert_int_equal(f->b.full_bw_cnt, 0);
	assert_int_equal(f->b.full_bw_reached, 1); /* a full pipe stays one */
	assert_int_equal(f->b.lt_bw, 0);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.lt_is_sampling, 0);
	assert_int_equal(f->b.lt_rtt_cnt, 0);
	assert_int_equal(f->b.lt_last_stamp, NOW_US / 1000);
	assert_int_equal(f->b.lt_last_delivered, 1000);
	assert_int_equal(f->b.lt_last_lost, 33);
	assert_int_equal(f->sk.cwnd, 100);
}

TEST(a_timeout_ends_a_round_and_forgets_the_plateau)
{
	FIXTURE;

	f->b.full_bw = 5;
	f->b.full_bw_cnt = 2;
	bbr_set_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Loss);
	assert_int_equal(f->b.full_bw, 0);
	assert_int_equal(f->b.full_bw_cnt, 2);
	assert_int_equal(f->b.round_start, 1);
	assert_int_equal(f->b.round_count, 20);
}

TEST(a_timeout_is_a_loss_to_the_policer)
{
	FIXTURE;

	bbr_set_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.lt_is_sampling, 1);
	assert_int_equal(f->b.lt_rtt_cnt, 1);
	assert_int_equal(f->b.lt_last_delivered, 1000);
}

TEST(a_timeout_may_end_the_use_of_the_policed_rate)
{
	FIXTURE;

	fixture_full_pipe(f, BBR_PROBE_BW);
	f->b.lt_use_bw = 1;
	f->b.lt_rtt_cnt = 47;
	f->b.steps = 0x1f; /* of an earlier callback */
	bbr_set_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.lt_use_bw, 0);
	assert_int_equal(f->b.steps, STEP(LT_BW_EXPIRED));
}

TEST(other_states_are_left_to_the_next_ack)
{
	struct bbr before;
	FIXTURE;

	f->b.full_bw = 5;
	before = f->b;
	for (u8 state = TCP_CA_Open; state < TCP_CA_Loss; state++) {
		bbr_set_state(&f->b, &f->sk, state);
		assert_memory_equal(&f->b, &before, sizeof(before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(save_cwnd_overwrites_outside_recovery),
		T(save_cwnd_keeps_the_larger_in_recovery),
		T(save_cwnd_keeps_the_larger_in_probe_rtt),
		T(ssthresh_saves_cwnd_and_stays),
		T(losses_shrink_cwnd),
		T(losses_never_shrink_cwnd_below_1),
		T(negative_losses_do_not_grow_cwnd),
		T(losses_are_taken_off_in_signed_32_bits),
		T(recovery_begins_with_packet_conservation),
		T(recovery_after_a_timeout_begins_with_packet_conservation),
		T(recovery_begins_at_inflight_whatever_was_lost),
		T(recovery_begins_only_once),
		T(a_timeout_does_not_conserve_packets),
		T(conservation_keeps_at_least_inflight_and_acked),
		T(exit_from_recovery_restores_prior_cwnd),
		T(exit_from_recovery_keeps_a_larger_cwnd),
		T(prior_cwnd_is_restored_after_recovery_only),
		T(a_conserved_cwnd_does_not_grow_to_the_target),
		T(a_conserved_cwnd_may_be_below_the_floor),
		T(a_conserved_cwnd_is_capped),
		T(cwnd_grows_in_recovery_after_the_first_round),
		T(conservation_lasts_until_a_packet_sent_in_recovery_is_acked),
		T(undo_forgets_the_plateau_and_the_policer),
		T(a_timeout_ends_a_round_and_forgets_the_plateau),
		T(a_timeout_is_a_loss_to_the_policer),
		T(a_timeout_may_end_the_use_of_the_policed_rate),
		T(other_states_are_left_to_the_next_ack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
