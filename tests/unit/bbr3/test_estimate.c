/* SPDX-License-Identifier: GPL-2.0-only */
/* The estimates of what a stock kernel does not report, from what it does. */
#include "fixture.h"

/* Estimates what the ACK reports, and handles the losses among it. */
static void estimate(struct fixture *f)
{
	bbr_estimate_ack(&f->b, &f->sk, &f->rs, &f->ack);
	if (f->ack.lost.marked)
		bbr_lose(&f->b, &f->sk, &f->ack.lost.flight, f->ack.lost.packets);
}

/* Notes losses: at `delivered`, this many were known to be lost. */
static void lose(struct fixture *f, u32 delivered, u32 snd_nxt, u32 lost)
{
	u32 marked = lost - f->sk.lost;

	f->sk.delivered = delivered;
	f->sk.snd_nxt = snd_nxt;
	f->sk.lost = lost;
	bbr_note_losses(&f->history, &f->sk, marked);
}

static void send(struct fixture *f, u32 delivered, u32 snd_nxt, u32 inflight)
{
	f->sk.delivered = delivered;
	f->sk.snd_nxt = snd_nxt;
	f->sk.inflight = inflight;
	bbr_note_send(&f->history, &f->sk);
}

static u32 prior_lost(struct fixture *f, u32 prior_delivered, u32 end_seq)
{
	f->rs.prior_delivered = prior_delivered;
	f->rs.last_end_seq = end_seq;
	return bbr_prior_lost(&f->history, &f->sk, &f->rs);
}

TEST(nothing_lost_is_no_entry)
{
	FIXTURE;

	assert_int_equal(prior_lost(f, 900, 0), 40);
	lose(f, 1000, 0, 41);
	lose(f, 1100, 0, 41);
	assert_int_equal(f->history.n_losses, 1);
	assert_int_equal(prior_lost(f, 900, 0), 40);
}

TEST(packet_knows_of_losses_before_it_was_sent)
{
	FIXTURE;

	lose(f, 1000, 5000, 45);
	lose(f, 1100, 6000, 47);
	lose(f, 1200, 7000, 50);
	assert_int_equal(prior_lost(f, 999, 9000), 40);
	assert_int_equal(prior_lost(f, 1001, 9000), 45);
	assert_int_equal(prior_lost(f, 1150, 0), 47);
	assert_int_equal(prior_lost(f, 1201, 0), 50);
}

/*
 * Of packets with the same count of deliveries, the sequence tells which were sent before the loss
 * was known.
 */
TEST(packets_of_one_ack_differ_by_their_sequence)
{
	FIXTURE;

	lose(f, 1000, 5000, 45);
	assert_int_equal(prior_lost(f, 1000, 5000), 40);
	assert_int_equal(prior_lost(f, 1000, 5001), 45);
	f->rs.is_retrans = true;
	assert_int_equal(prior_lost(f, 1000, 4000), 45);
	assert_int_equal(prior_lost(f, 999, 4000), 40);
}

TEST(without_history_there_are_no_entries)
{
	FIXTURE;

	/* What the memory held before, of another connection, does not count. */
	memset(f->history.losses, 0x7f, sizeof(f->history.losses));
	memset(f->history.sends, 0x7f, sizeof(f->history.sends));
	lose(f, 1000, 0, 41);
	send(f, 1000, 0, 7);
	assert_int_equal(prior_lost(f, 1001, 0), 41);
	assert_int_equal(bbr_losses_after(&f->history, 900, 0, false), 1);
	assert_int_equal(bbr_sends_after(&f->history, 900), 1);
	assert_int_equal(bbr_losses_after(NULL, 1, 2, false), 0);
	assert_int_equal(bbr_sends_after(NULL, 1), 0);
	assert_int_equal(bbr_losses_searched(NULL, 1, 2, false), 0);
	assert_int_equal(bbr_sends_searched(NULL, 1), 0);
}

TEST(history_holds_64_losses)
{
	FIXTURE;

	for (u32 i = 0; i < 200; i++) {
		lose(f, 2000 + 10 * i, 0, 100 + i);
		for (u32 k = i < BBR_LOSSES ? 0 : i - BBR_LOSSES + 1; k <= i; k++)
			assert_int_equal(prior_lost(f, 2000 + 10 * k + 1, 0), 100 + k);
		assert_int_equal(prior_lost(f, 1000, 0),
				 i < BBR_LOSSES ? 40 : 100 + i - BBR_LOSSES);
	}
}

TEST(entries_are_as_far_apart_as_a_round_needs)
{
	FIXTURE;

	f->sk.inflight = 640; /* an entry every ten packets */
	lose(f, 1000, 5000, 41);
	lose(f, 1009, 6000, 42);
	assert_int_equal(f->history.n_losses, 1);
	assert_int_equal(prior_lost(f, 1001, 0), 42);
	lose(f, 1010, 6000, 43);
	assert_int_equal(f->history.n_losses, 2);
}

/* The estimate for a packet with by_delivery packets delivered or lost since it was sent. */
static u32 tx_in_flight(struct fixture *f, u32 prior_delivered, u32 end_seq, u32 by_delivery)
{
	f->rs.prior_delivered = prior_delivered;
	f->rs.last_end_seq = end_seq;
	f->rs.delivered = by_delivery - 1;
	return bbr_tx_in_flight(&f->history, &f->sk, &f->rs, 1);
}

/* True if an entry is due after an ACK that brings `delivered` to this. */
static bool is_due(struct fixture *f, u32 inflight, u32 delivered, u32 acked)
{
	f->rs.prior_in_flight = inflight;
	f->sk.delivered = delivered;
	f->rs.acked_sacked = acked;
	return bbr_is_send_due(&f->b, &f->sk, &f->rs);
}

TEST(notes_are_16_to_32_in_a_round)
{
	FIXTURE;

	f->b.cycle_idx = BBR_DOWN;
	for (u32 inflight = 16; inflight < 5000; inflight += 7) {
		u32 last = 0, longest = 0, notes = 0;

		for (u32 delivered = 2; delivered <= 8 * inflight; delivered += 2) {
			if (!is_due(f, inflight, delivered, 2))
				continue;
			longest = max_u32(longest, delivered - last);
			last = delivered;
			notes++;
		}
		assert_in_range(longest, 1, inflight / 16 + 3);
		assert_in_range(notes, 0, 8 * 33);
	}
	assert_true(is_due(f, 15, 999, 1)); /* with few in flight, each ACK */
	assert_false(is_due(f, 320, 1023, 3)); /* every 16 packets */
	assert_true(is_due(f, 320, 1024, 1));
	assert_false(is_due(f, 320, 1025, 1));
	assert_true(is_due(f, 320, 1025, 2));
	assert_true(is_due(f, 320, 1025, 0)); /* it replaces the last one */
	assert_true(is_due(f, 31 * 16, 16, 1));
	assert_false(is_due(f, 32 * 16, 16, 1));
	assert_true(is_due(f, 320, 1023, 20)); /* whatever delivers that much */
	assert_true(is_due(f, 1u << 29, 1u << 25, 1));
	assert_false(is_due(f, 1u << 29, 1u << 23, 1));
	assert_true(is_due(f, 320, 1, 2)); /* the count wraps around */
	f->rs.losses = 1; /* what is sent next may be a retransmission */
	assert_true(is_due(f, 320, 1025, 1));
	f->rs.losses = -1;
	assert_false(is_due(f, 320, 1025, 1));
}

TEST(notes_in_cruise_are_fewer)
{
	FIXTURE;

	f->b.mode = BBR_PROBE_BW;
	f->b.cycle_idx = BBR_CRUISE;
	assert_false(is_due(f, 320, 1056, 1)); /* every 64 packets, where it is 16 elsewhere */
	assert_true(is_due(f, 320, 1024, 1));
	f->sk.reord_seen = 1;
	assert_true(is_due(f, 320, 1056, 1));
	f->sk.reord_seen = 0;
	f->b.cycle_idx = BBR_DOWN;
	assert_true(is_due(f, 320, 1056, 1));
	f->b.cycle_idx = BBR_CRUISE;
	f->b.mode = BBR_DRAIN;
	assert_true(is_due(f, 320, 1056, 1));
}

TEST(note_has_what_was_sent)
{
	FIXTURE;

	send(f, 5, 0, 320);
	assert_int_equal(f->history.n_sends, 1);
	send(f, 16, 8, 320);
	assert_int_equal(f->history.n_sends, 2);
	assert_int_equal(f->history.sends[0].delivered, 5);
	assert_int_equal(f->history.sends[1].delivered, 16);
	assert_int_equal(f->history.sends[1].snd_nxt, 8);
	assert_int_equal(f->history.sends[1].sent, 320 + 40 + 16);
}

/* The search finds the same note wherever it starts. */
TEST(search_of_notes_finds_each)
{
	FIXTURE;

	for (u32 i = 0; i < 100; i++)
		send(f, 10 * i, 0, 32);
	assert_int_equal(f->history.n_sends, 100);
	for (u32 before = 0; before <= 100; before++)
		for (u32 k = 100 - BBR_SENDS - 1; k < 100; k++)
			for (u32 since = 0; since < 10; since += 9) {
				f->history.sends_before = before;
				assert_int_equal(bbr_sends_after(&f->history, 10 * k + since),
						 min_u32(99 - k, BBR_SENDS));
			}
}

TEST(newer_note_of_one_count_counts)
{
	FIXTURE;

	send(f, 0, 100, 64); /* the first is noted though nothing was delivered */
	send(f, 0, 200, 32);
	assert_int_equal(f->history.n_sends, 1);
	assert_int_equal(f->history.sends[0].snd_nxt, 200);
	assert_int_equal(f->history.sends[0].sent, 32 + 40);
}

/* 60 in flight at sequence 50000; then 20 packets of new data and 3 retransmissions. */
static void send_twice(struct fixture *f)
{
	send(f, 800, 50000, 60);
	send(f, 810, 70000, 73);
	f->history.prior_lost = 40;
	f->sk.delivered = 840;
	f->sk.snd_nxt = 90000;
	f->rs.prior_in_flight = 10;
}

TEST(new_data_is_counted_by_its_sequence)
{
	FIXTURE;

	send_twice(f);
	assert_int_equal(tx_in_flight(f, 800, 55000, 0), 65);
	assert_int_equal(tx_in_flight(f, 800, 55001, 0), 66);
	assert_int_equal(tx_in_flight(f, 805, 55000, 0), 60);
	f->history.prior_lost = 42;
	assert_int_equal(tx_in_flight(f, 805, 55000, 0), 58);
	assert_int_equal(tx_in_flight(f, 810, 71000, 0), 72);
}

TEST(what_was_sent_anew_between_notes_may_have_been_in_flight)
{
	FIXTURE;

	send_twice(f);
	assert_int_equal(tx_in_flight(f, 800, 55000, 64), 65);
	assert_int_equal(tx_in_flight(f, 800, 55000, 67), 67);
	assert_int_equal(tx_in_flight(f, 800, 55000, 70), 68);
	/* Fewer than the sequence says: packets that were marked but not lost are counted twice. */
	f->history.sends[1].sent -= 80;
	assert_int_equal(tx_in_flight(f, 800, 55000, 70), 65);
}

TEST(what_was_sent_anew_is_between_two_notes)
{
	FIXTURE;

	send_twice(f);
	f->rs.is_retrans = true;
	assert_int_equal(tx_in_flight(f, 802, 20000, 10), 59);
	assert_int_equal(tx_in_flight(f, 802, 20000, 70), 70);
	assert_int_equal(tx_in_flight(f, 802, 20000, 90), 81);
}

TEST(with_reordering_the_lower_bound_counts)
{
	FIXTURE;

	send_twice(f);
	f->sk.reord_seen = 1;
	assert_int_equal(tx_in_flight(f, 800, 55000, 70), 65);
	f->rs.is_retrans = true;
	assert_int_equal(tx_in_flight(f, 802, 20000, 70), 59);
	/* Even if nothing was lost. */
	f->rs.is_retrans = false;
	f->rs.prior_delivered = 800;
	f->rs.last_end_seq = 55000;
	assert_int_equal(bbr_tx_in_flight(&f->history, &f->sk, &f->rs, 0), 65);
}

TEST(without_losses_and_reordering_delivery_tells)
{
	FIXTURE;

	send_twice(f);
	f->rs.prior_delivered = 800;
	f->rs.last_end_seq = 55000;
	assert_int_equal(bbr_tx_in_flight(&f->history, &f->sk, &f->rs, 0), 10);
	f->rs.is_retrans = true;
	assert_int_equal(bbr_tx_in_flight(&f->history, &f->sk, &f->rs, 0), 61);
}

TEST(data_before_the_note_is_less_than_it)
{
	FIXTURE;

	send_twice(f);
	assert_int_equal(tx_in_flight(f, 800, 48000, 90), 58);
	assert_int_equal(tx_in_flight(f, 800, 50000, 90), 60);
	assert_int_equal(tx_in_flight(f, 805, 48000, 90), 53);
}

TEST(packet_was_in_flight_itself)
{
	FIXTURE;

	send_twice(f);
	assert_int_equal(bbr_flight_of(10, 8), 2);
	assert_int_equal(bbr_flight_of(10, 10), 1);
	assert_int_equal(bbr_flight_of(10, 11), 1);
	assert_int_equal(bbr_flight_of(3, 0xfffffff0), 19);
}

/* After the last note, what is in flight now shows how much was sent. */
TEST(since_the_last_note_no_more_than_there_was)
{
	FIXTURE;

	send(f, 800, 50000, 60);
	f->history.prior_lost = 40;
	f->sk.delivered = 806;
	f->sk.snd_nxt = 55000;
	f->sk.inflight = 62; /* 5 of new data, 3 retransmitted */
	f->rs.acked_sacked = 4;
	f->rs.prior_in_flight = 100;
	assert_int_equal(tx_in_flight(f, 800, 55000, 90), 68);
	assert_int_equal(tx_in_flight(f, 800, 55000, 67), 67);
	f->rs.prior_in_flight = 64;
	assert_int_equal(tx_in_flight(f, 800, 55000, 90), 66);
	f->rs.prior_in_flight = 10;
	assert_int_equal(tx_in_flight(f, 800, 55000, 90), 65);
	f->rs.is_retrans = true;
	f->rs.prior_in_flight = 100;
	assert_int_equal(tx_in_flight(f, 800, 20000, 90), 68);
}

TEST(newest_note_before_the_packet_counts)
{
	FIXTURE;

	f->sk.reord_seen = 1;
	f->history.prior_lost = 40;
	for (u32 i = 0; i < 100; i++) {
		send(f, 1000 + 10 * i, 100000 + 1000 * i, 100 + i);
		for (u32 k = i < BBR_SENDS ? 0 : i - BBR_SENDS + 1; k <= i; k++)
			assert_int_equal(tx_in_flight(f, 1000 + 10 * k + 1, 100000 + 1000 * k, 9),
					 100 + k - 1);
	}
	assert_int_equal(tx_in_flight(f, 1000, 90000, 13), 13); /* too old */
}

TEST(timeout_is_noted)
{
	FIXTURE;

	bbr_note_timeout(&f->sk, TCP_CA_Recovery);
	assert_int_equal(f->history.n_sends, 0);
	bbr_note_timeout(&f->sk, TCP_CA_Loss);
	assert_int_equal(f->history.n_sends, 1);
	f->sk.more = NULL;
	f->sk.history = NULL;
	bbr_note_timeout(&f->sk, TCP_CA_Loss);
	assert_int_equal(f->history.n_sends, 1);
}

TEST(hole_before_a_packet_was_in_flight)
{
	FIXTURE;

	f->rs.last_end_seq = f->sk.snd_una + 3500;
	assert_int_equal(bbr_inflight_by_delivery(&f->sk, &f->rs, 0), 14);
	f->sk.sacked_out = 1;
	assert_int_equal(bbr_inflight_by_delivery(&f->sk, &f->rs, 0), 13);
	f->sk.lost_out = 1;
	assert_int_equal(bbr_inflight_by_delivery(&f->sk, &f->rs, 0), 12);
	f->sk.lost_out = 3;
	assert_int_equal(bbr_inflight_by_delivery(&f->sk, &f->rs, 0), 10);
	f->sk.lost_out = 5;
	assert_int_equal(bbr_inflight_by_delivery(&f->sk, &f->rs, 0), 10);
	f->sk.lost_out = 0;
	f->rs.last_end_seq = f->sk.snd_una;
	assert_int_equal(bbr_inflight_by_delivery(&f->sk, &f->rs, 2), 12);
}

TEST(probe_that_repeated_a_packet_was_in_flight_with_it)
{
	FIXTURE;

	f->sk.tlp_high_seq = 100000;
	assert_int_equal(bbr_inflight_by_delivery(&f->sk, &f->rs, 0), 11);
}

TEST(counter_of_losses_has_20_bits)
{
	FIXTURE;

	assert_int_equal(bbr_take_newly_lost(&f->b, &f->sk), 0);
	f->sk.lost = 42;
	assert_int_equal(bbr_take_newly_lost(&f->b, &f->sk), 2);
	assert_int_equal(bbr_take_newly_lost(&f->b, &f->sk), 0);
	f->sk.lost = 0x100003;
	assert_int_equal(bbr_take_newly_lost(&f->b, &f->sk), 0xfffd9);
	f->sk.lost = 0x200003;
	f->b.last_lost = 0xfffff;
	assert_int_equal(bbr_take_newly_lost(&f->b, &f->sk), 4);
}

TEST(ack_has_the_flight_of_its_packet)
{
	FIXTURE;

	send(f, 900, 90000, 60);
	f->sk.delivered = 1000;
	f->sk.lost = 43;
	f->sk.reord_seen = 1;
	f->history.prior_lost = 7;
	f->rs.is_app_limited = true;
	f->sk.uses_ecn = true;
	f->rs.delivered_ce = 4;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 70);
	assert_int_equal(f->ack.flight.lost, 3);
	assert_true(f->ack.flight.is_app_limited);
	assert_int_equal(f->ack.delivered_ce, 4);
	assert_false(f->ack.is_ece);
	assert_true(f->b.loss_in_round);
	assert_int_equal(f->history.n_losses, 1);
	assert_true(f->history.is_app_limited);
}

TEST(ack_without_losses_has_none)
{
	FIXTURE;

	estimate(f);
	assert_int_equal(f->ack.flight.lost, 0);
	assert_int_equal(f->ack.flight.tx_in_flight, 10); /* no note yet */
	assert_false(f->b.loss_in_round);
	assert_int_equal(f->history.n_losses, 0);
	f->sk.lost = 42;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 12);
}

TEST(loss_of_a_probe_is_of_the_flight_that_is_acked)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->b.probe_samples = 1;
	send(f, 900, 90000, 140);
	f->sk.delivered = 1000;
	f->sk.lost = 45;
	f->sk.reord_seen = 1;
	estimate(f);
	assert_int_equal(f->b.cycle_idx, BBR_DOWN);
	assert_int_equal(f->b.inflight_hi, 148); /* 150, less the burst that was too much */
}

/* Takes the loss of packets of a flight that a probe sent. Returns inflight_hi. */
static u32 lose_of_flight(struct fixture *f, u32 inflight, s32 lost, u32 marked)
{
	struct bbr_flight flight = { .tx_in_flight = inflight, .lost = lost };
	struct bbr_lost report;

	f->b.probe_samples = 1;
	f->b.inflight_hi = 200;
	f->b.prev_probe_too_high = 0;
	report = bbr_lost_of(&f->b, &f->sk, &flight, marked);
	assert_int_equal(report.marked, marked);
	bbr_lose(&f->b, &f->sk, &report.flight, report.packets);
	return f->b.inflight_hi;
}

TEST(first_burst_that_is_too_much_ends_a_probe)
{
	FIXTURE;

	f->sk.cwnd = 1; /* so that the cut of the target is never above the flight */
	f->sk.gso_max_size = 5321;
	f->sk.pacing_rate = 1u << 30; /* bursts of 5 */
	assert_int_equal(lose_of_flight(f, 100, 9, 9), 95 + 2);
	assert_int_equal(lose_of_flight(f, 100, 9, 2), 98); /* 7 were lost before */
	assert_int_equal(lose_of_flight(f, 100, 1, 1), 200); /* not too much */
	assert_true(f->b.probe_samples);
	assert_true(f->b.loss_in_round);
	assert_int_equal(lose_of_flight(f, 1000, 30, 25), 995); /* first burst is not, all are */
	assert_true(f->b.prev_probe_too_high);
}

TEST(flight_lost_no_more_than_it_had)
{
	FIXTURE;

	f->sk.cwnd = 1;
	f->sk.gso_max_size = 65536;
	f->sk.pacing_rate = 1u << 30;
	assert_int_equal(lose_of_flight(f, 8, 20, 20), 0);
	assert_int_equal(lose_of_flight(f, 50, 4, 20), 46 + 1);
	assert_int_equal(lose_of_flight(f, 50, -1, 20), 200);
	f->sk.gso_max_size = 1000; /* bursts of 2 */
	assert_int_equal(lose_of_flight(f, 50, 4, 20), 48 + 1);
	assert_int_equal(lose_of_flight(f, 0, 5, 5), 200);
}

TEST(bounds_of_an_undo_know_of_the_losses)
{
	FIXTURE;

	f->sk.lost = 50;
	f->history.tx_in_flight = 100;
	f->more.undo_inflight_hi = 200;
	f->b.probe_samples = 1;
	bbr_catch_up(&f->b, &f->sk);
	assert_true(f->b.inflight_hi < 200);
	assert_int_equal(f->more.undo_inflight_hi, f->b.inflight_hi);
	/* But a note from before, when inflight_hi was different, stays. */
	f->sk.lost = 60;
	f->b.inflight_hi = 150;
	f->b.probe_samples = 1;
	f->more.undo_inflight_hi = 170;
	bbr_catch_up(&f->b, &f->sk);
	assert_int_equal(f->more.undo_inflight_hi, 170);
}

TEST(marks_follow_from_the_count_of_the_stack)
{
	FIXTURE;

	f->sk.delivered_ce = 1;
	estimate(f);
	assert_false(f->ack.is_ece); /* no ECN */
	f->sk.uses_ecn = true;
	f->b.in_order = 0;
	estimate(f);
	assert_true(f->ack.is_ece);
	estimate(f);
	assert_false(f->ack.is_ece);
	f->sk.more = NULL;
	f->sk.history = NULL;
	f->sk.delivered_ce = 2;
	estimate(f);
	assert_false(f->ack.is_ece);
}

/* A kernel that knows the flight needs no estimates. */
TEST(what_the_kernel_knows_is_taken)
{
	FIXTURE;

	f->sk.has_flight = true;
	f->sk.uses_ecn = true;
	f->sk.tlp_high_seq = 1;
	f->sk.lost = 47;
	f->rs.tx_in_flight = 77;
	f->rs.lost = 5;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 77);
	assert_int_equal(f->ack.flight.lost, 5);
	assert_int_equal(f->history.prior_lost, 42);
	assert_false(f->ack.acks_tlp);
	assert_false(f->ack.is_ece);
	f->rs.is_acking_tlp_retrans_seq = true;
	f->rs.is_ece = true;
	estimate(f);
	assert_true(f->ack.acks_tlp);
	assert_true(f->ack.is_ece);
	f->sk.more = NULL;
	f->sk.history = NULL;
	f->rs.is_app_limited = true;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 77);
	assert_int_equal(f->ack.flight.lost, 5);
	assert_true(f->ack.flight.is_app_limited);
}

/* Returns app_limited after an ACK; 0: there is something to send. */
static u32 app_limited_after_ack(struct fixture *f)
{
	f->sk.app_limited = 0;
	estimate(f);
	return f->sk.app_limited;
}

TEST(ack_finds_that_there_is_nothing_to_send)
{
	FIXTURE;

	f->sk.write_seq = f->sk.snd_nxt + 999;
	f->sk.queued = 511;
	f->rs.prior_in_flight = 99;
	f->sk.lost_out = 5;
	f->sk.retrans_out = 3;
	f->rs.losses = 2;
	assert_int_equal(app_limited_after_ack(f), 990 + 99);
	f->sk.retrans_out = 2; /* something must be retransmitted */
	assert_int_equal(app_limited_after_ack(f), 0);
	f->sk.lost_out = 0; /* nothing is lost any more */
	assert_int_equal(app_limited_after_ack(f), 990 + 99);
	f->rs.prior_in_flight = 100; /* the window was full */
	assert_int_equal(app_limited_after_ack(f), 0);
	f->rs.prior_in_flight = 99;
	f->sk.queued = 512;
	assert_int_equal(app_limited_after_ack(f), 0);
	f->sk.queued = 0;
	f->sk.write_seq++;
	assert_int_equal(app_limited_after_ack(f), 0);
	f->sk.write_seq--;
	f->sk.delivered = 10;
	f->rs.prior_in_flight = 0;
	assert_int_equal(app_limited_after_ack(f), 1); /* 0 means none */
	f->sk.has_flight = true; /* Google's stack has checked already */
	for (u32 in_order = 0; in_order < 2; in_order++) {
		f->b.in_order = in_order;
		assert_int_equal(app_limited_after_ack(f), 0);
	}
}

TEST(ack_of_nothing_is_of_no_flight)
{
	FIXTURE;

	f->sk.lost = 38;
	lose(f, f->sk.delivered, f->sk.snd_nxt, 40);
	f->history.tx_in_flight = 100;
	f->rs.delivered = -1;
	f->sk.lost = 41;
	f->b.probe_samples = 1;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 0);
	assert_int_equal(f->ack.flight.lost, 0);
	assert_true(f->b.prev_probe_too_high); /* its losses belong to the last flight: 3 of 100 */
	assert_int_equal(f->history.tx_in_flight, 100);
}

TEST(probe_that_was_repeated_is_acked)
{
	FIXTURE;

	f->sk.tlp_high_seq = 100001;
	estimate(f);
	assert_false(f->ack.acks_tlp);
	f->sk.tlp_high_seq = 100000;
	estimate(f);
	assert_true(f->ack.acks_tlp);
	f->sk.tlp_high_seq = 0;
	f->sk.snd_una = 0;
	estimate(f);
	assert_false(f->ack.acks_tlp);
}

TEST(without_history_any_loss_is_too_much)
{
	FIXTURE;

	f->sk.more = NULL;
	f->sk.history = NULL;
	f->b.probe_samples = 1;
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 0);
	assert_int_equal(f->ack.flight.tx_in_flight, 10);
	f->rs.delivered = 500;
	f->sk.lost = 41;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 150); /* no more than were in flight */
	assert_int_equal(f->ack.flight.lost, 150);
	assert_true(f->b.prev_probe_too_high);
	f->sk.lost_out = 1;
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 150); /* until it is ACKed */
	f->sk.lost_out = 0;
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 0);
	f->rs.delivered = -1;
	f->sk.lost = 42;
	f->b.prev_probe_too_high = 0;
	f->b.probe_samples = 1;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 0);
	assert_false(f->b.prev_probe_too_high); /* the flight is unknown */
}

/* The first loss makes a history, and so does the first flight that a rule reads. */
TEST(a_history_is_made_late)
{
	FIXTURE;

	f->sk.has_history = false;
	f->history.n_sends = f->history.n_losses = 0;
	f->b.in_order = 1;
	f->rs.delivered = 100;
	fixture_start_round(f);
	f->b.rounds_since_probe = 6;
	estimate(f);
	assert_false(f->sk.has_history);
	assert_int_equal(f->history.n_sends, 0);
	bbr_note_timeout(&f->sk, TCP_CA_Loss);
	assert_int_equal(f->history.n_sends, 0);
	f->history.is_app_limited = true;
	f->b.in_order = 0;
	assert_false(bbr_was_app_limited(&f->b, &f->sk));
	f->sk.ca_state = TCP_CA_Recovery;
	estimate(f); /* nobody reads its flight */
	assert_false(f->sk.has_history);
	f->sk.ca_state = TCP_CA_Open;
	f->sk.lost = 41;
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 1);
	assert_true(f->sk.has_history);
	assert_int_equal(f->history.n_losses, 1);
	f->sk.has_history = false;
	estimate(f);
	assert_true(f->sk.has_history);
}

TEST(a_connection_that_begins_without_history_makes_none)
{
	FIXTURE;

	f->sk.has_history = false;
	f->history.n_sends = 3;
	bbr_init_estimate(&f->b, &f->sk);
	assert_false(f->sk.has_history);
	assert_int_equal(f->history.n_sends, 3);
	f->sk.lost_out = 2;
	bbr_init_estimate(&f->b, &f->sk);
	assert_true(f->sk.has_history);
}

/* It switches to BBR, and what it has from an earlier time is forgotten. */
TEST(a_connection_that_begins_with_history_begins_it_anew)
{
	FIXTURE;

	f->history.tx_in_flight = f->history.n_losses = f->history.n_sends = 3;
	f->history.is_app_limited = true;
	bbr_init_estimate(&f->b, &f->sk);
	assert_int_equal(f->history.tx_in_flight, 0);
	assert_int_equal(f->history.n_losses, 0);
	assert_int_equal(f->history.n_sends, 0);
	assert_false(f->history.is_app_limited);
	assert_int_equal(f->history.prior_lost, 40);
	f->history.prior_lost = 7;
	f->sk.lost_out = 2;
	bbr_init_estimate(&f->b, &f->sk);
	assert_int_equal(f->history.n_losses, 1);
	assert_int_equal(f->history.lost_before, 38);
	assert_int_equal(f->history.prior_lost, 40);
}

TEST(a_flight_in_order_was_app_limited_as_the_sample_was)
{
	FIXTURE;

	f->b.in_order = 1;
	f->sk.rate_app_limited = true;
	bbr_remember_order(&f->b, &f->history, &f->sk, 0);
	assert_true(f->history.is_app_limited);
	f->sk.rate_app_limited = false;
	bbr_remember_order(&f->b, &f->history, &f->sk, 0);
	assert_false(f->history.is_app_limited);
}

/* The ACK of a SYN comes before bbr_init(). */
TEST(before_the_start_no_history_is_made)
{
	FIXTURE;

	f->sk.has_history = false;
	f->b.initialized = 0;
	f->sk.lost = 41;
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 1);
	assert_false(f->sk.has_history);
}

/* The verifier assumes that it may be. */
TEST(no_entry_is_none)
{
	FIXTURE;

	assert_int_equal(bbr_add_loss(&f->history, NULL, 1, 0), 0);
	assert_int_equal(bbr_add_send(&f->history, NULL), 0);
	assert_int_equal(f->history.n_losses | f->history.n_sends, 0);
}

TEST(without_history_reordering_raises_nothing)
{
	FIXTURE;

	f->sk.more = NULL;
	f->sk.history = NULL;
	f->rs.delivered = 140;
	f->b.inflight_hi = 120;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 140);
	f->sk.reord_seen = 1;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 120);
}

TEST(losses_of_timers_are_caught_up_with)
{
	FIXTURE;

	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 0);
	assert_false(f->b.loss_in_round);
	f->history.tx_in_flight = 100;
	f->b.probe_samples = 1;
	f->sk.lost = 43;
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 3);
	assert_true(f->b.loss_in_round);
	assert_true(f->b.prev_probe_too_high);
	assert_int_equal(f->history.n_losses, 1);
	f->sk.more = NULL;
	f->sk.history = NULL;
	f->sk.lost = 44;
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 1);
	assert_int_equal(f->history.n_losses, 1);
}

TEST(tail_loss_lowers_the_window_and_marks_nothing)
{
	FIXTURE;

	assert_false(bbr_is_tail_loss(&f->sk, TCP_CA_CWR, 0));
	f->sk.tlp_retrans = true;
	assert_true(bbr_is_tail_loss(&f->sk, TCP_CA_CWR, 0));
	assert_false(bbr_is_tail_loss(&f->sk, TCP_CA_CWR, 1));
	assert_false(bbr_is_tail_loss(&f->sk, TCP_CA_Recovery, 0));
	/* Marks lower the window, too. */
	f->sk.delivered_ce = 1;
	assert_true(bbr_is_tail_loss(&f->sk, TCP_CA_CWR, 0));
	f->sk.uses_ecn = true;
	assert_false(bbr_is_tail_loss(&f->sk, TCP_CA_CWR, 0));
	f->more.delivered_ce = 1;
	assert_true(bbr_is_tail_loss(&f->sk, TCP_CA_CWR, 0));
	f->more.delivered_ce = 0;
	f->sk.more = NULL;
	f->sk.history = NULL;
	assert_true(bbr_is_tail_loss(&f->sk, TCP_CA_CWR, 0));
}

/* In order, all of the flight was delivered since, so the history is not read. */
TEST(flight_in_order_is_what_was_delivered)
{
	FIXTURE;

	f->b.in_order = 1;
	f->history.prior_lost = 7;
	f->rs.is_app_limited = true;
	f->rs.delivered_ce = 4;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 10);
	assert_int_equal(f->ack.flight.lost, 0);
	assert_true(f->ack.flight.is_app_limited);
	assert_int_equal(f->ack.delivered_ce, 0);
	assert_false(f->ack.acks_tlp);
	assert_int_equal(f->history.prior_lost, 7);
	assert_int_equal(f->history.tx_in_flight, 0);
	assert_true(f->b.in_order);
	f->rs.last_end_seq = f->sk.snd_una + 2 * f->sk.mss - 1;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 12);
	f->sk.write_seq = f->sk.snd_nxt;
	f->sk.queued = 0;
	f->sk.cwnd = f->rs.prior_in_flight + 1;
	estimate(f);
	assert_true(f->sk.app_limited);
	f->b.in_order = 0;
	estimate(f);
	assert_int_equal(f->ack.delivered_ce, 0);
	f->sk.uses_ecn = true;
	f->b.in_order = 0;
	estimate(f);
	assert_int_equal(f->ack.delivered_ce, 4);
}

/*
 * Losses that are marked between two ACKs belong to the flight that was ACKed last. In order that
 * is what the stack's last sample delivered.
 */
TEST(flight_in_order_is_that_of_the_last_sample)
{
	FIXTURE;

	f->b.in_order = 1;
	f->sk.rate_delivered = 30;
	f->sk.rate_app_limited = true;
	estimate(f);
	assert_int_equal(f->history.tx_in_flight, 0); /* nobody needs it yet */
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 0);
	assert_int_equal(f->history.tx_in_flight, 0);
	assert_true(bbr_was_app_limited(&f->b, &f->sk));
	f->sk.rate_delivered = 31;
	f->sk.rate_app_limited = false;
	f->sk.lost = 43;
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 3);
	assert_int_equal(f->history.tx_in_flight, 31);
	assert_int_equal(f->history.prior_lost, 40);
	assert_false(f->history.is_app_limited);
	f->sk.rate_delivered = 32;
	f->sk.lost = 44;
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 1); /* no longer in order */
	assert_int_equal(f->history.tx_in_flight, 31);
	assert_int_equal(bbr_last_flight(&f->history, &f->sk).lost, 4);
	f->b.in_order = 1;
	f->sk.lost = 45;
	f->rs.delivered = -1; /* an ACK that delivers nothing new, in whose course one was marked */
	estimate(f);
	assert_int_equal(f->history.tx_in_flight, 32);
	assert_int_equal(f->history.prior_lost, 44);
	f->b.in_order = 1;
	f->sk.more = NULL;
	f->sk.history = NULL;
	f->sk.lost = 46;
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 1);
	assert_int_equal(f->history.tx_in_flight, 32);
}

/* Only inflight_hi needs it: no bound, no question. */
TEST(flight_in_order_is_unknown_without_inflight_hi)
{
	FIXTURE;

	f->b.in_order = 1;
	f->b.inflight_hi = BBR_COUNT_NONE;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 0);
	f->b.inflight_hi = BBR_COUNT_NONE - 1;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 10);
}

/*
 * In order, too: the kernel's flight, and whether any of it was lost or repaired by a tail loss
 * probe.
 */
TEST(what_the_kernel_knows_is_taken_in_order)
{
	FIXTURE;

	f->b.in_order = 1;
	f->rs.tx_in_flight = 77;
	f->rs.lost = 5;
	f->rs.is_acking_tlp_retrans_seq = true;
	assert_true(bbr_stays_in_order(&f->b, &f->sk, &f->rs)); /* not read without has_flight */
	f->sk.has_flight = true;
	assert_false(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->rs.lost = 0;
	assert_false(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->rs.is_acking_tlp_retrans_seq = false;
	f->rs.lost = 5;
	assert_false(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 5);
	assert_false(f->b.in_order);
	f->rs.lost = 0;
	assert_true(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->b.in_order = 1;
	f->b.probe_samples = 1;
	f->b.acks = BBR_ACKS_PROBE_STARTING;
	f->history.tx_in_flight = 0;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 77);
	assert_int_equal(f->ack.flight.lost, 0);
}

/* Nothing would read the history. */
TEST(who_knows_the_flight_keeps_no_history)
{
	FIXTURE;

	f->sk.has_flight = true;
	f->sk.lost = 47;
	f->rs.prior_delivered = f->b.next_round_delivered;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->history.n_losses, 0);
	assert_int_equal(f->history.n_sends, 0);
}

/* True if the flight counts as in order, so that nothing reads or writes the history. */
static bool is_in_order(const struct fixture *f)
{
	struct fixture is = *f;

	is.sk.history = &is.history;
	is.history.tx_in_flight = 77;
	bbr_estimate_ack(&is.b, &is.sk, &is.rs, &is.ack);
	return is.history.tx_in_flight == 77;
}

TEST(what_is_not_in_order)
{
	FIXTURE;

	assert_false(is_in_order(f));
	f->b.in_order = 1;
	assert_true(is_in_order(f));
	assert_true(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->sk.sacked_out = 1;
	assert_false(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	assert_false(is_in_order(f));
	f->sk.sacked_out = 0;
	f->sk.tlp_high_seq = 1;
	assert_false(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->sk.tlp_high_seq = 0;
	f->sk.lost = 41;
	assert_false(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->sk.lost = 40;
	f->sk.reord_seen = 1;
	assert_false(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->sk.reord_seen = 0;
	assert_true(bbr_stays_in_order(&f->b, &f->sk, &f->rs));
	f->rs.delivered = -1;
	estimate(f);
	assert_false(f->b.in_order); /* an ACK of nothing new is of no flight */
}

static void assert_never_in_order(struct fixture *f)
{
	f->b.in_order = 1;
	bbr_init_estimate(&f->b, &f->sk);
	assert_false(f->b.in_order);
	estimate(f);
	assert_false(f->b.in_order);
}

/* A connection with ECN is never in order: neither at its start nor later. */
TEST(some_are_never_in_order)
{
	FIXTURE;

	f->sk.uses_ecn = true;
	assert_never_in_order(f);
	f->sk.uses_ecn = false;
	bbr_init_estimate(&f->b, &f->sk);
	assert_true(f->b.in_order);
	f->b.in_order = 0;
	estimate(f);
	assert_true(f->b.in_order);
}

/*
 * In order, one note a round is enough. Out of order, 16 are made, until a whole flight has come in
 * order again.
 */
TEST(sends_are_noted_until_order_returns)
{
	FIXTURE;

	f->b.in_order = 1;
	f->b.rounds_since_probe = 7; /* the round's start would be noted; this ACK is within it */
	f->rs.prior_delivered = f->b.next_round_delivered - 1;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_true(f->b.in_order);
	assert_int_equal(f->history.n_sends, 0);
	for (u32 rounds = 0; rounds < 16; rounds++) { /* in CRUISE, one of eight */
		f->b.rounds_since_probe = rounds;
		f->sk.delivered += 10;
		f->rs.prior_delivered = f->b.next_round_delivered;
		bbr_main(&f->b, &f->sk, &f->rs);
		assert_true(f->b.in_order);
		assert_int_equal(f->history.n_sends, (rounds + 2) / 8);
	}
	f->history.n_sends = 0;
	f->b.rounds_since_probe = 4;
	f->b.cycle_idx = BBR_UP; /* every round is noted */
	f->rs.prior_delivered = f->b.next_round_delivered;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_true(f->b.in_order);
	assert_int_equal(f->history.n_sends, 1);
	f->sk.delivered += 10;
	f->rs.prior_delivered = f->b.next_round_delivered - 1;
	f->sk.sacked_out = 1;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_false(f->b.in_order);
	assert_int_equal(f->history.n_sends, 2);
	f->sk.sacked_out = 0;
	f->sk.ca_state = TCP_CA_Disorder;
	f->sk.delivered += 10;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_false(f->b.in_order);
	assert_int_equal(f->history.n_sends, 3);
	f->rs.prior_in_flight = 1500; /* the next is due at the next multiple of 64 packets */
	f->sk.delivered += 10;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->history.n_sends, 3);
	f->rs.prior_in_flight = 50;
	f->sk.delivered -= 10;
	f->sk.ca_state = TCP_CA_Open;
	f->rs.delivered = -1;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_false(f->b.in_order);
	f->rs.delivered = 10;
	f->rs.is_retrans = true;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_false(f->b.in_order);
	f->rs.is_retrans = false;
	f->sk.more = NULL;
	f->sk.history = NULL;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_false(f->b.in_order);
	f->sk.more = &f->more;
	f->sk.history = &f->history;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_true(f->b.in_order);
	assert_int_equal(f->history.n_sends, 3);
}

static void assert_needed(struct fixture *f, bool is_needed)
{
	assert_int_equal(bbr_needs_flight(&f->b, &f->sk, &f->rs), is_needed);
}

static void set(struct fixture *f, enum bbr_mode mode, enum bbr_phase phase, u32 inflight_hi)
{
	f->b.mode = mode;
	f->b.cycle_idx = phase;
	f->b.inflight_hi = inflight_hi;
	f->b.full_bw_reached = mode != BBR_STARTUP;
	f->rs.prior_delivered = f->b.loss_round_delivered - 1;
}

TEST(in_a_recovery_most_flights_are_not_needed)
{
	FIXTURE;

	f->b.inflight_hi = BBR_COUNT_NONE;
	assert_needed(f, true); /* in TCP_CA_Open it always is */
	f->b.inflight_hi = 200;
	f->sk.ca_state = TCP_CA_Recovery;
	assert_needed(f, false);
	f->sk.has_flight = true;
	assert_needed(f, true);
	f->sk.has_flight = false;
	f->sk.uses_ecn = true;
	assert_needed(f, true);
	f->sk.uses_ecn = false;
	f->b.probe_samples = 1;
	assert_needed(f, true);
	f->b.probe_samples = 0;

	for (u32 phase = 0; phase < BBR_PHASES; phase++) {
		bool is_probe = phase == BBR_REFILL || phase == BBR_UP;

		set(f, BBR_PROBE_BW, phase, 200);
		assert_needed(f, is_probe);
		f->b.acks = BBR_ACKS_PROBE_STOPPING;
		assert_needed(f, true);
		f->b.inflight_hi = BBR_COUNT_NONE; /* it cannot be raised */
		assert_needed(f, is_probe);
		f->b.acks = BBR_ACKS_INIT;
		f->sk.ca_state = TCP_CA_Disorder;
		assert_needed(f, is_probe);
		f->b.inflight_hi = 200;
		assert_needed(f, true);
		f->sk.ca_state = TCP_CA_Recovery;
	}
	set(f, BBR_PROBE_BW, BBR_CRUISE, 200);
	f->b.full_bw_reached = 0;
	assert_needed(f, true);

	set(f, BBR_STARTUP, BBR_UP, BBR_COUNT_NONE);
	assert_needed(f, false);
	f->b.full_bw_reached = 1;
	assert_needed(f, true);
	f->b.full_bw_reached = 0;
	f->rs.prior_delivered++; /* the loss round ends */
	assert_needed(f, true);
	set(f, BBR_DRAIN, BBR_UP, BBR_COUNT_NONE);
	assert_needed(f, false);
	f->b.full_bw_reached = 0;
	assert_needed(f, true);
	set(f, BBR_DRAIN, BBR_UP, 200);
	assert_needed(f, true);
	set(f, BBR_PROBE_RTT, BBR_UP, BBR_COUNT_NONE);
	assert_needed(f, true);
}

TEST(flight_that_is_not_needed_is_unknown)
{
	FIXTURE;

	f->sk.ca_state = TCP_CA_Recovery;
	f->sk.lost = 41;
	f->rs.delivered = 500;
	f->history.tx_in_flight = 7;
	estimate(f);
	assert_int_equal(f->ack.flight.tx_in_flight, 0);
	assert_int_equal(f->ack.flight.lost, 0);
	assert_int_equal(f->history.tx_in_flight, 7); /* of the last one that was */
	assert_true(f->b.loss_in_round); /* the loss counts nevertheless */
	assert_int_equal(f->b.loss_round_delivered, 1000);
	assert_int_equal(f->history.n_losses, 1);
	f->b.loss_in_round = 0;
	estimate(f);
	assert_false(f->b.loss_in_round);
	assert_int_equal(f->history.n_losses, 1);
}

/* A connection may get BBR in a recovery. */
TEST(packets_lost_before_are_noted_at_the_start)
{
	FIXTURE;

	bbr_init_estimate(&f->b, &f->sk);
	assert_int_equal(f->history.n_losses, 0);
	f->sk.lost_out = 3;
	bbr_init_estimate(&f->b, &f->sk);
	assert_int_equal(f->history.n_losses, 1);
	assert_int_equal(prior_lost(f, 999, 0), 37);
	assert_int_equal(prior_lost(f, 1001, 0), 40);
}

TEST(losses_are_of_the_flight_until_order_returns)
{
	FIXTURE;

	f->b.in_order = 1;
	f->sk.lost = 41;
	f->sk.more = NULL;
	f->sk.history = NULL; /* and there is no history to begin */
	assert_int_equal(bbr_catch_up(&f->b, &f->sk), 1);
	assert_false(f->b.in_order);
	f->sk.more = &f->more;
	f->sk.history = &f->history;
	f->b.in_order = 1;
	f->history.n_sends = 3;
	f->sk.lost = 42;
	f->sk.lost_out = 2;
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 2);
	assert_false(f->b.in_order);
	assert_int_equal(f->history.n_sends, 4);
	f->rs.prior_delivered = 990; /* sent before the loss was known */
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 2);
	assert_false(f->b.in_order);
	f->rs.prior_delivered = 1001;
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 0);
	assert_true(f->b.in_order);
	/* Sent after the loss that is noted now. */
	f->sk.lost = 43;
	bbr_note_losses(&f->history, &f->sk, 1);
	estimate(f);
	assert_int_equal(f->ack.flight.lost, 0);
	assert_false(f->b.in_order);
}

/* The callbacks as the shell calls them. */
TEST(shell_begins_a_connection)
{
	FIXTURE;

	memset(&f->b, 0xff, sizeof(f->b));
	memset(&f->more, 0xff, sizeof(f->more));
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->b.steps, 0);
	assert_int_equal(f->b.drain_rounds, 0);
	assert_int_equal(f->b.raising, 0);
	assert_int_equal(f->b.last_lost, 40);
	assert_int_equal(f->b.full_bw_reached, 0);
	assert_int_equal(f->history.n_losses, 0);
	assert_int_equal(f->history.n_sends, 0);
	assert_int_equal(f->history.lost_before, 40);
	assert_int_equal(f->history.prior_lost, 40);
	assert_int_equal(f->history.tx_in_flight, 0);
	assert_int_equal(f->history.is_app_limited, 0);
	assert_int_equal(f->more.pacing_gain | f->more.cwnd_gain, 0);
	f->sk.lost_out = 3;
	f->sk.delivered_ce = 9;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->history.lost_before, 37);
	assert_int_equal(f->more.delivered_ce, 9);
	f->sk.more = NULL;
	f->sk.history = NULL;
	f->sk.lost = 41;
	bbr_init(&f->b, &f->sk);
	assert_int_equal(f->b.last_lost, 41);
}

TEST(shell_brings_acks)
{
	FIXTURE;

	f->b.steps = STEP(WAITED);
	f->b.rounds_since_probe = 63;
	f->sk.sacked_out = 1;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.steps, STEP(WAITED_ROUNDS));
	assert_int_equal(f->history.n_sends, 1);
	assert_int_equal(f->history.sends[0].sent, 1000 + 40 + 50);
	f->sk.more = NULL;
	f->sk.history = NULL;
	bbr_main(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->b.steps, 0);
	assert_int_equal(f->history.n_sends, 1);
}

TEST(shell_brings_events)
{
	FIXTURE;

	f->sk.uses_ecn = true;
	f->b.steps = STEP(WAITED);
	bbr_cwnd_event(&f->b, &f->sk, CA_EVENT_ECN_IS_CE);
	assert_true(f->more.ce_state);
	assert_int_equal(f->b.steps, 0);
	bbr_cwnd_event(&f->b, &f->sk, CA_EVENT_COMPLETE_CWR);
	assert_true(f->more.ce_state);
	bbr_cwnd_event(&f->b, &f->sk, CA_EVENT_ECN_NO_CE);
	assert_false(f->more.ce_state);
	f->b.steps = STEP(WAITED);
	f->sk.app_limited = 1;
	bbr_tx_start(&f->b, &f->sk);
	assert_int_equal(f->b.steps, 0);
	assert_true(f->b.idle_restart);
}

TEST(shell_brings_states)
{
	FIXTURE;

	f->b.steps = STEP(WAITED);
	bbr_set_state(&f->b, &f->sk, TCP_CA_Loss);
	assert_int_equal(f->b.steps, 0);
	assert_int_equal(f->b.prev_ca_state, TCP_CA_Loss);
	assert_int_equal(f->history.n_sends, 1);
	f->sk.lost = 41;
	bbr_set_state(&f->b, &f->sk, TCP_CA_Recovery);
	assert_true(f->b.loss_in_round);
	f->b.loss_in_round = 0;
	f->sk.tlp_retrans = true;
	f->b.probe_samples = 1;
	f->b.inflight_latest = 40;
	f->b.bw_hi[0] = f->b.bw_hi[1] = 1;
	f->history.is_app_limited = 1;
	bbr_set_state(&f->b, &f->sk, TCP_CA_CWR);
	assert_true(f->b.loss_in_round);
	assert_true(f->b.prev_probe_too_high);
	assert_int_equal(f->b.inflight_hi, 200);
	f->history.is_app_limited = 0;
	f->b.probe_samples = 1;
	bbr_set_state(&f->b, &f->sk, TCP_CA_CWR);
	assert_int_equal(f->b.inflight_hi, 41);
	f->b.inflight_hi = 200;
	f->sk.more = NULL;
	f->sk.history = NULL;
	f->b.probe_samples = 1;
	bbr_set_state(&f->b, &f->sk, TCP_CA_CWR);
	assert_int_equal(f->b.inflight_hi, 41);
}

TEST(shell_asks)
{
	FIXTURE;

	f->sk.ssthresh = 77;
	assert_int_equal(bbr_ssthresh(&f->b, &f->sk), 77);
	assert_int_equal(f->b.prior_cwnd, 100);
	assert_int_equal(bbr_undo_cwnd(&f->b, &f->sk), 100);
	assert_int_equal(bbr_sndbuf_expand(&f->b, &f->sk), 3);
	f->p.sndbuf_expand[0] = 5;
	assert_int_equal(bbr_sndbuf_expand(&f->b, &f->sk), 5);
	f->sk.lost = 41;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 2);
	assert_int_equal(f->history.n_losses, 1);
	f->sk.more = NULL;
	f->sk.history = NULL;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 2);
	f->b.last_lost = 41; /* nothing new: nothing is noted */
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 2);
	assert_int_equal(f->history.n_losses, 1);
}

TEST(burst_is_rare_after_losses_and_on_a_short_path)
{
	FIXTURE;

	assert_false(bbr_is_burst_rare(&f->b, &f->sk));
	f->sk.lost++;
	assert_true(bbr_is_burst_rare(&f->b, &f->sk));
	f->sk.lost--;
	f->b.min_rtt_us = 8 * 512 - 1;
	assert_true(bbr_is_burst_rare(&f->b, &f->sk));
}

TEST(stack_gets_the_burst_on_a_short_path)
{
	FIXTURE;

	f->sk.pacing_rate = 1u << 30;
	f->sk.gso_max_size = 20000;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 2);
	f->sk.min_tso_segs = 5;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 5);
	f->b.min_rtt_us = 8 * 512;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 5);
	f->b.min_rtt_us = 8 * 512 - 1;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 19);
	f->p.tso_rtt[0] = 511;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 5);
	f->p.tso_rtt[0] = 0;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 5);
	f->b.min_rtt_us = 1000000;
	f->p.tso_rtt[0] = 1000000;
	assert_int_equal(bbr_min_tso_segs(&f->b, &f->sk), 19);
}

/* In CRUISE the last of eight rounds; elsewhere each. */
TEST(round_is_noted_at_its_end)
{
	FIXTURE;

	fixture_phase(f, BBR_UP);
	f->rs.prior_delivered = 949;
	assert_false(bbr_is_round_due(&f->b, &f->sk, &f->rs));
	f->rs.prior_delivered = 950;
	assert_true(bbr_is_round_due(&f->b, &f->sk, &f->rs));
	f->rs.interval_us = 0;
	assert_false(bbr_is_round_due(&f->b, &f->sk, &f->rs));
	f->rs.interval_us = 1;
	fixture_phase(f, BBR_CRUISE);
	for (u32 rounds = 0; rounds < 16; rounds++) {
		f->b.rounds_since_probe = rounds;
		assert_int_equal(bbr_is_round_due(&f->b, &f->sk, &f->rs), rounds % 8 == 6);
	}
}

TEST(limit_of_the_application_is_known_in_a_recovery)
{
	FIXTURE;

	f->rs.is_app_limited = true;
	bbr_estimate_lossy(&f->b, &f->sk, &f->rs, &f->ack);
	assert_true(f->ack.flight.is_app_limited);
	assert_int_equal(f->ack.lost.marked, 0);
}

TEST(rough_flight_has_the_losses)
{
	FIXTURE;
	struct bbr_flight flight = bbr_rough_flight(&f->b, &f->sk, &f->rs, 3, false);

	assert_int_equal(flight.tx_in_flight, 13);
	assert_int_equal(flight.lost, 13);
}

TEST(connection_begins_with_no_send_found)
{
	FIXTURE;

	f->history.sends_before = 7;
	bbr_init_estimate(&f->b, &f->sk);
	assert_int_equal(f->history.sends_before, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(flight_in_order_is_what_was_delivered),
		T(flight_in_order_is_that_of_the_last_sample),
		T(flight_in_order_is_unknown_without_inflight_hi),
		T(what_is_not_in_order),
		T(some_are_never_in_order),
		T(sends_are_noted_until_order_returns),
		T(losses_are_of_the_flight_until_order_returns),
		T(in_a_recovery_most_flights_are_not_needed),
		T(flight_that_is_not_needed_is_unknown),
		T(packets_lost_before_are_noted_at_the_start),
		T(nothing_lost_is_no_entry),
		T(packet_knows_of_losses_before_it_was_sent),
		T(packets_of_one_ack_differ_by_their_sequence),
		T(without_history_there_are_no_entries),
		T(history_holds_64_losses),
		T(entries_are_as_far_apart_as_a_round_needs),
		T(notes_are_16_to_32_in_a_round),
		T(notes_in_cruise_are_fewer),
		T(note_has_what_was_sent),
		T(search_of_notes_finds_each),
		T(newer_note_of_one_count_counts),
		T(new_data_is_counted_by_its_sequence),
		T(what_was_sent_anew_between_notes_may_have_been_in_flight),
		T(what_was_sent_anew_is_between_two_notes),
		T(with_reordering_the_lower_bound_counts),
		T(without_losses_and_reordering_delivery_tells),
		T(data_before_the_note_is_less_than_it),
		T(packet_was_in_flight_itself),
		T(since_the_last_note_no_more_than_there_was),
		T(newest_note_before_the_packet_counts),
		T(timeout_is_noted),
		T(hole_before_a_packet_was_in_flight),
		T(probe_that_repeated_a_packet_was_in_flight_with_it),
		T(counter_of_losses_has_20_bits),
		T(ack_has_the_flight_of_its_packet),
		T(ack_without_losses_has_none),
		T(loss_of_a_probe_is_of_the_flight_that_is_acked),
		T(first_burst_that_is_too_much_ends_a_probe),
		T(flight_lost_no_more_than_it_had),
		T(bounds_of_an_undo_know_of_the_losses),
		T(marks_follow_from_the_count_of_the_stack),
		T(what_the_kernel_knows_is_taken),
		T(what_the_kernel_knows_is_taken_in_order),
		T(who_knows_the_flight_keeps_no_history),
		T(ack_finds_that_there_is_nothing_to_send),
		T(ack_of_nothing_is_of_no_flight),
		T(probe_that_was_repeated_is_acked),
		T(without_history_any_loss_is_too_much),
		T(a_history_is_made_late),
		T(a_connection_that_begins_without_history_makes_none),
		T(a_connection_that_begins_with_history_begins_it_anew),
		T(a_flight_in_order_was_app_limited_as_the_sample_was),
		T(before_the_start_no_history_is_made),
		T(no_entry_is_none),
		T(without_history_reordering_raises_nothing),
		T(losses_of_timers_are_caught_up_with),
		T(tail_loss_lowers_the_window_and_marks_nothing),
		T(shell_begins_a_connection),
		T(shell_brings_acks),
		T(shell_brings_events),
		T(shell_brings_states),
		T(shell_asks),
		T(burst_is_rare_after_losses_and_on_a_short_path),
		T(stack_gets_the_burst_on_a_short_path),
		T(round_is_noted_at_its_end),
		T(limit_of_the_application_is_known_in_a_recovery),
		T(rough_flight_has_the_losses),
		T(connection_begins_with_no_send_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
