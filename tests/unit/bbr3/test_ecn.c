/* SPDX-License-Identifier: GPL-2.0-only */
/* Marks: when they are heeded, their average, and what a receiver ACKs. */
#include "fixture.h"

TEST(path_must_be_short)
{
	FIXTURE;

	f->b.min_rtt_us = 5001;
	f->sk.uses_ecn = true;
	bbr_check_ecn_eligible(&f->b, &f->more, &f->sk);
	assert_false(bbr_is_ecn_eligible(&f->sk));
	f->b.min_rtt_us = 5000;
	bbr_check_ecn_eligible(&f->b, &f->more, &f->sk);
	assert_true(bbr_is_ecn_eligible(&f->sk));
}

TEST(marks_count_only_where_they_mean_short_queues)
{
	FIXTURE;

	f->b.min_rtt_us = 100;
	bbr_check_ecn_eligible(&f->b, &f->more, &f->sk);
	assert_false(f->more.ecn_eligible);
	f->sk.uses_ecn = true;
	f->p.ecn_factor[0] = 0;
	bbr_check_ecn_eligible(&f->b, &f->more, &f->sk);
	assert_false(f->more.ecn_eligible);
}

TEST(any_path_will_do_without_ecn_max_rtt)
{
	FIXTURE;

	f->p.ecn_max_rtt[0] = 0;
	f->sk.uses_ecn = true;
	bbr_check_ecn_eligible(&f->b, &f->more, &f->sk);
	assert_true(f->more.ecn_eligible);
}

TEST(no_response_to_marks_without_the_second_part)
{
	FIXTURE;

	fixture_ecn(f);
	assert_true(bbr_is_ecn_eligible(&f->sk));
	f->sk.more = NULL;
	assert_false(bbr_is_ecn_eligible(&f->sk));
}

TEST(ratio_is_of_a_round)
{
	FIXTURE;

	f->more.alpha_last_delivered = 900;
	f->more.alpha_last_delivered_ce = 10;
	f->sk.delivered_ce = 60;
	assert_int_equal(bbr_ce_ratio(&f->more, &f->sk), 128);
	f->sk.delivered_ce = 10;
	assert_int_equal(bbr_ce_ratio(&f->more, &f->sk), 0);
	f->sk.delivered_ce = 9;
	assert_int_equal(bbr_ce_ratio(&f->more, &f->sk), -1);
	f->sk.delivered_ce = 60;
	f->sk.delivered = 900;
	assert_int_equal(bbr_ce_ratio(&f->more, &f->sk), -1);
	f->sk.delivered = 899;
	assert_int_equal(bbr_ce_ratio(&f->more, &f->sk), -1);
}

TEST(alpha_is_an_average)
{
	FIXTURE;

	fixture_ecn(f);
	f->more.alpha_last_delivered = 900;
	f->sk.delivered_ce = 50;
	/* 240 x 128 >> 8, 16 x 128 >> 8 */
	assert_int_equal(bbr_update_ecn_alpha(&f->b, &f->more, &f->sk), 128);
	assert_int_equal(f->more.ecn_alpha, 120 + 8);
	assert_int_equal(f->more.alpha_last_delivered, 1000);
	assert_int_equal(f->more.alpha_last_delivered_ce, 50);
	assert_int_equal(bbr_update_ecn_alpha(&f->b, &f->more, &f->sk), -1);
	assert_int_equal(f->more.ecn_alpha, 128);
}

TEST(alpha_falls_and_is_1_at_most)
{
	FIXTURE;

	fixture_ecn(f);
	f->more.alpha_last_delivered = 900;
	assert_int_equal(bbr_update_ecn_alpha(&f->b, &f->more, &f->sk), 0);
	assert_int_equal(f->more.ecn_alpha, 120);
	f->more.alpha_last_delivered = 999;
	f->sk.delivered_ce = 1000;
	assert_int_equal(bbr_update_ecn_alpha(&f->b, &f->more, &f->sk), 256000);
	assert_int_equal(f->more.ecn_alpha, 256);
}

TEST(alpha_is_kept_only_with_a_response_to_marks)
{
	FIXTURE;

	f->more.ecn_alpha = 128;
	assert_int_equal(bbr_update_ecn_alpha(&f->b, &f->more, &f->sk), -1);
	assert_int_equal(f->more.ecn_alpha, 128);
	f->sk.uses_ecn = true;
	f->b.min_rtt_us = 4000;
	assert_int_equal(bbr_update_ecn_alpha(&f->b, &f->more, &f->sk), 0);
	assert_true(f->more.ecn_eligible);
}

TEST(startup_ends_after_two_rounds_of_marks)
{
	FIXTURE;

	assert_false(bbr_is_startup_marked(&f->more, &f->sk, 128));
	assert_false(bbr_is_startup_marked(&f->more, &f->sk, 127));
	assert_int_equal(f->more.startup_ecn_rounds, 0);
	assert_false(bbr_is_startup_marked(&f->more, &f->sk, 128));
	assert_true(bbr_is_startup_marked(&f->more, &f->sk, 128));
}

TEST(startup_need_not_end_by_marks)
{
	FIXTURE;

	f->more.startup_ecn_rounds = 5;
	f->p.full_ecn_cnt[0] = 0;
	assert_false(bbr_is_startup_marked(&f->more, &f->sk, 256));
	f->p.full_ecn_cnt[0] = 2;
	f->p.ecn_thresh[0] = 0;
	assert_false(bbr_is_startup_marked(&f->more, &f->sk, 256));
}

TEST(cut_is_a_third_of_alpha)
{
	FIXTURE;

	f->more.ecn_alpha = 256;
	assert_int_equal(bbr_cut_by_ecn(&f->more, &f->sk, 1000), 667); /* 171 / 256 */
	f->more.ecn_alpha = 128;
	assert_int_equal(bbr_cut_by_ecn(&f->more, &f->sk, 1000), 835); /* 214 / 256 */
	f->more.ecn_alpha = 0;
	assert_int_equal(bbr_cut_by_ecn(&f->more, &f->sk, 0xfffffe), 0xfffffe);
}

TEST(half_of_the_packets_may_be_marked)
{
	FIXTURE;

	fixture_ecn(f);
	f->ack.delivered_ce = 5;
	assert_false(bbr_is_ecn_too_high(&f->sk, &f->s));
	f->ack.delivered_ce = 6;
	assert_true(bbr_is_ecn_too_high(&f->sk, &f->s));
	f->rs.delivered = 0;
	assert_false(bbr_is_ecn_too_high(&f->sk, &f->s));
	f->rs.delivered = 10;
	f->p.ecn_thresh[0] = 0;
	assert_false(bbr_is_ecn_too_high(&f->sk, &f->s));
	f->p.ecn_thresh[0] = 128;
	f->more.ecn_eligible = 0;
	assert_false(bbr_is_ecn_too_high(&f->sk, &f->s));
	f->more.ecn_eligible = 1;
	f->ack.delivered_ce = -6;
	assert_false(bbr_is_ecn_too_high(&f->sk, &f->s));
}

TEST(marks_of_the_round_are_noted)
{
	FIXTURE;

	f->ack.is_ece = true;
	bbr_note_marks(&f->sk, &f->ack);
	assert_false(f->more.ecn_in_round);
	fixture_ecn(f);
	bbr_note_marks(&f->sk, &f->ack);
	assert_true(f->more.ecn_in_round);
	f->ack.is_ece = false;
	bbr_note_marks(&f->sk, &f->ack);
	assert_true(f->more.ecn_in_round);
}

static void receive(struct fixture *f, bool is_ce)
{
	f->sk.rcv_nxt += 100;
	bbr_receive_ce(&f->sk, is_ce);
}

/* What came before the mark is ACKed as not marked, if it is not ACKed yet. */
TEST(ack_is_sent_when_marks_begin)
{
	FIXTURE;

	f->sk.uses_ecn = true;
	f->sk.ack_pending = BBR_ACK_TIMER | 1;
	receive(f, false);
	assert_int_equal(f->sk.acks_sent, 0);
	assert_int_equal(f->sk.ack_pending, BBR_ACK_TIMER | 1);
	f->sk.demand_cwr = true;
	receive(f, true);
	assert_int_equal(f->sk.acks_sent, 1);
	assert_int_equal(f->sk.ece_acks_sent, 0);
	assert_int_equal(f->sk.ack_pending, BBR_ACK_TIMER | 1 | BBR_ACK_NOW);
	assert_true(f->sk.demand_cwr);
	assert_int_equal(f->more.prior_rcv_nxt, 200);
	assert_true(f->more.ce_state);
	f->sk.ack_pending = 1;
	receive(f, false);
	assert_int_equal(f->sk.acks_sent, 1);
	assert_int_equal(f->sk.ack_pending, 1 | BBR_ACK_NOW);
	assert_false(f->sk.demand_cwr);
}

/* An ACK for everything that came leaves no other pending. */
TEST(ack_of_everything_is_the_last)
{
	FIXTURE;

	f->sk.uses_ecn = true;
	f->sk.ack_pending = BBR_ACK_TIMER | 1;
	f->sk.rcv_nxt = f->more.prior_rcv_nxt = 7;
	bbr_receive_ce(&f->sk, true);
	assert_int_equal(f->sk.ack_pending, BBR_ACK_NOW);
}

/* The ACK that is sent reports on the packets before. */
TEST(ack_reports_marks_as_they_were)
{
	FIXTURE;

	f->sk.uses_ecn = true;
	f->more.ce_state = 1;
	f->sk.ack_pending = BBR_ACK_TIMER;
	receive(f, true);
	assert_true(f->sk.demand_cwr);
	assert_int_equal(f->sk.acks_sent, 0);
	f->sk.demand_cwr = false;
	receive(f, false);
	assert_int_equal(f->sk.ece_acks_sent, 1);
	assert_false(f->sk.demand_cwr);
}

TEST(receiver_need_not_heed_marks)
{
	FIXTURE;

	receive(f, true);
	assert_false(f->more.ce_state);
	f->sk.uses_ecn = true;
	f->p.ecn_precise_ack[0] = 0;
	receive(f, true);
	assert_false(f->more.ce_state);
	f->p.ecn_precise_ack[0] = 1;
	f->sk.more = NULL;
	receive(f, true);
	assert_false(f->sk.demand_cwr);
}

TEST(ecn_begins)
{
	FIXTURE;

	memset(&f->more, 0xff, sizeof(f->more));
	f->sk.rcv_nxt = 77;
	bbr_init_ecn(&f->more, &f->sk);
	assert_false(f->more.ecn_eligible);
	assert_int_equal(f->more.ecn_alpha, 256);
	assert_int_equal(f->more.alpha_last_delivered, 0);
	assert_int_equal(f->more.alpha_last_delivered_ce, 0);
	assert_int_equal(f->more.startup_ecn_rounds, 0);
	assert_int_equal(f->more.ce_state, 0);
	assert_int_equal(f->more.prior_rcv_nxt, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(path_must_be_short),
		T(marks_count_only_where_they_mean_short_queues),
		T(any_path_will_do_without_ecn_max_rtt),
		T(no_response_to_marks_without_the_second_part),
		T(ratio_is_of_a_round),
		T(alpha_is_an_average),
		T(alpha_falls_and_is_1_at_most),
		T(alpha_is_kept_only_with_a_response_to_marks),
		T(startup_ends_after_two_rounds_of_marks),
		T(startup_need_not_end_by_marks),
		T(cut_is_a_third_of_alpha),
		T(half_of_the_packets_may_be_marked),
		T(marks_of_the_round_are_noted),
		T(ack_is_sent_when_marks_begin),
		T(ack_of_everything_is_the_last),
		T(ack_reports_marks_as_they_were),
		T(receiver_need_not_heed_marks),
		T(ecn_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
