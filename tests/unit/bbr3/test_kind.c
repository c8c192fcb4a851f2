/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of ACKs: which ACK has which kind, and that what a kind leaves out changes nothing. */
#include "fixture.h"

#define CRUISING (BBR_ORDINARY | BBR_CRUISING)
#define LOWERING (BBR_ORDINARY | BBR_LOWERING)
#define WAITING (BBR_ORDINARY | BBR_WAITING)
#define LOSSLESS (BBR_CALM | BBR_LOSSLESS)
#define STARTING (LOSSLESS | BBR_STARTING)

static void make_ordinary(struct fixture *f)
{
	f->b.in_order = 1;
	f->b.full_bw_now = 1;
	f->rs.prior_delivered = 940;
}

/* The kind of an ACK that is in order, as bbr_main_if_common() and bbr_main_if_rare() decide it. */
static u8 kind_of(struct fixture *f)
{
	u8 kind = bbr_kind(&f->b, &f->sk, &f->rs);

	return kind == BBR_ORDINARY && bbr_waits_in_down(&f->b, &f->sk, &f->rs) ? WAITING : kind;
}

static void assert_kind(struct fixture *f, u8 kind)
{
	assert_int_equal(kind_of(f), kind);
}

/* The ACK has the same effect by its kind as it has as any ACK. */
static void assert_same(struct fixture *f)
{
	struct fixture of_kind = *f, of_any = *f;

	of_kind.sk.more = &of_kind.more;
	of_any.sk.more = &of_any.more;
	bbr_main_of_kind(&of_kind.b, &of_kind.sk, &of_kind.rs, kind_of(f));
	bbr_main(&of_any.b, &of_any.sk, &of_any.rs);
	of_kind.sk.kind = 0;
	of_kind.sk.more = of_any.sk.more;
	assert_memory_equal(&of_kind, &of_any, sizeof(of_any));
}

/* An ordinary ACK with one thing changed has this kind. */
#define CHANGED(change, kind)            \
	do {                             \
		struct fixture was = *f; \
		change;                  \
		assert_kind(f, kind);    \
		assert_same(f);          \
		*f = was;                \
	} while (0)

TEST(most_acks_are_ordinary)
{
	FIXTURE;

	make_ordinary(f);
	for (int phase = BBR_UP; phase < BBR_PHASES; phase++) {
		u8 kind = phase == BBR_CRUISE ? CRUISING :
			  phase == BBR_DOWN   ? LOWERING :
						BBR_ORDINARY;
		u8 if_new = kind == LOWERING ? WAITING : kind;

		fixture_phase(f, phase);
		CHANGED((void)0, kind);
		CHANGED(f->rs.prior_delivered = f->b.next_round_delivered, kind);
		CHANGED(f->rs.is_app_limited = true, BBR_ORDINARY);
		CHANGED(f->b.probe_samples = 1, kind);
		CHANGED(f->b.rounds_since_probe = 63, BBR_ORDINARY);
		CHANGED(f->b.rounds_since_probe = 255, BBR_ORDINARY);
		CHANGED(f->rs.prior_in_flight = 20, if_new);
		CHANGED(f->b.new_gains = 1, BBR_ORDINARY);
		CHANGED(f->b.steps = 1, kind); /* of the previous callback */
		CHANGED((f->b.try_fast_path = 1, f->rs.is_app_limited = true), BBR_ORDINARY);
		CHANGED((f->b.try_fast_path = 1, f->rs.is_app_limited = true, f->rs.interval_us++),
			BBR_ORDINARY);
		CHANGED(f->rs.rtt_us = MIN_RTT - 1, if_new);
	}
}

/*
 * The ACK has this kind while the next probe is not due, and would not be due either if a round
 * began with this ACK. if_new: its kind if also the bandwidth changes, or losses bound it.
 */
static void check_wait(struct fixture *f, enum bbr_phase phase, u8 kind, u8 if_new)
{
	make_ordinary(f);
	fixture_phase(f, phase);
	CHANGED(f->b.acks = BBR_ACKS_PROBE_STOPPING, BBR_ORDINARY);
	CHANGED(f->b.full_bw_now = 0, BBR_ORDINARY);
	CHANGED((f->b.full_bw_now = 0, fixture_start_round(f)), BBR_ORDINARY);
	CHANGED(f->b.rounds_since_probe = 61, kind);
	CHANGED((f->b.rounds_since_probe = 61, fixture_start_round(f)), kind);
	CHANGED(f->b.rounds_since_probe = 62, BBR_ORDINARY);
	CHANGED((f->b.rounds_since_probe = 62, fixture_start_round(f)), BBR_ORDINARY);
	CHANGED((f->b.rounds_since_probe = 20, f->sk.cwnd = 22), kind);
	CHANGED((f->b.rounds_since_probe = 20, f->sk.cwnd = 21), BBR_ORDINARY);
	/* 52 packets of BDP, and 51 */
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_hi[1] = 68158), if_new);
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_hi[1] = 68157), BBR_ORDINARY);
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_lo = 68158), if_new);
	CHANGED((f->b.rounds_since_probe = 50, f->b.bw_lo = 68157), BBR_ORDINARY);
	CHANGED(f->sk.tcp_mstamp = f->b.cycle_mstamp + f->b.probe_wait_us, kind);
	CHANGED(f->sk.tcp_mstamp = f->b.cycle_mstamp + f->b.probe_wait_us + 1, BBR_ORDINARY);
}

TEST(who_waits_waits_on)
{
	FIXTURE;

	check_wait(f, BBR_CRUISE, CRUISING, CRUISING);
	check_wait(f, BBR_DOWN, LOWERING, WAITING);
	f->rs.prior_in_flight = 20;
	check_wait(f, BBR_DOWN, WAITING, WAITING);
}

/* if_new: the kind if the bandwidth changes. */
static void check_waiting(struct fixture *f, enum bbr_phase phase, u8 kind, u8 if_new)
{
	struct fixture begin = *f;

	make_ordinary(f);
	fixture_phase(f, phase);
	for (int i = 0; i < 2; i++) {
		CHANGED(f->b.bw_latest = 2 * BW, kind);
		CHANGED(f->b.bw_hi[1] = BW / 2, if_new);
		CHANGED(f->b.inflight_latest = 9, kind);
		CHANGED(f->b.inflight_latest = 11, kind);
		CHANGED(f->b.inflight_hi = 9, kind);
		CHANGED((f->rs.last_end_seq = f->sk.snd_una + 1001, f->b.inflight_hi = 11), kind);
		CHANGED(f->b.inflight_hi = BBR_COUNT_NONE, kind);
		CHANGED(f->b.inflight_lo = 50, kind);
		CHANGED(f->b.full_bw = 2 * BW, kind);
		CHANGED((f->b.bw_latest = 2 * BW, f->b.bw_hi[1] = 2 * BW), if_new);
		CHANGED((f->b.bw_latest = 2 * BW, f->b.bw_hi[1] = BW - 1), if_new);
		CHANGED((f->b.bw_latest = BW - 1, f->b.bw_hi[1] = 2 * BW), if_new);
		CHANGED((f->rs.interval_us = 1281, f->b.bw_latest = BW - 102), kind);
		CHANGED((f->rs.interval_us = 1281, f->b.bw_latest = BW - 103), kind);
		CHANGED((f->rs.interval_us = 1281, f->b.bw_hi[1] = BW - 103), if_new);
		/* Products of more than 32 bits, and a rate beyond them of which 2^24 is left. */
		CHANGED((f->rs.delivered = 300, f->rs.interval_us = 38400, f->b.bw_latest = BW / 2),
			kind);
		CHANGED((f->rs.delivered = 257, f->rs.interval_us = 1,
			 f->b.bw_latest = f->b.bw_hi[1] = 2 << 24),
			if_new);
		CHANGED(f->b.ack_epoch_acked = 1, kind);
		CHANGED((f->b.extra_acked[0] = 20, f->b.extra_acked[1] = 30), kind);
		CHANGED((f->b.extra_acked_win_rtts = 4, f->b.extra_acked[0] = 20), kind);
		CHANGED(f->b.extra_acked_win_rtts = 10, kind);
		CHANGED((f->b.extra_acked_win_rtts = 10, f->p.extra_acked_gain[0] = 0), kind);
		CHANGED(f->b.rounds_since_probe = BBR_CRUISE_ROUNDS - 2, kind);
		CHANGED(f->b.rounds_since_probe = BBR_CRUISE_ROUNDS - 1, kind); /* note it */
		CHANGED(f->sk.cwnd = 500, kind);
		CHANGED(f->sk.mss = 100, kind);
		CHANGED(f->p.extra_acked_gain[0] = 0, kind);
		CHANGED(f->b.acks = BBR_ACKS_INIT, kind);
		fixture_start_round(f); /* and a loss round */
	}
	*f = begin;
}

TEST(waiting_is_as_any_other)
{
	FIXTURE;

	check_waiting(f, BBR_CRUISE, CRUISING, CRUISING);
	check_waiting(f, BBR_DOWN, LOWERING, WAITING);
	f->rs.prior_in_flight = 100; /* all fits the pipe: CRUISE begins */
	check_waiting(f, BBR_DOWN, WAITING, WAITING);
	f->rs.prior_in_flight = 101;
	check_waiting(f, BBR_DOWN, LOWERING, WAITING);
	f->b.inflight_hi = 110; /* 94 without the headroom */
	for (u32 inflight = 94; inflight <= 95; inflight++) {
		f->rs.prior_in_flight = inflight;
		check_waiting(f, BBR_DOWN, WAITING, WAITING);
	}
}

/*
 * DOWN goes on while more than the BDP, 100 packets, is in the network, and the BDP stays and has
 * room for bursts.
 */
TEST(who_lowers_inflight_goes_on)
{
	FIXTURE;

	make_ordinary(f);
	fixture_phase(f, BBR_DOWN);
	for (int i = 0; i < 2; i++) {
		CHANGED(f->rs.prior_in_flight = 101, LOWERING);
		CHANGED(f->rs.prior_in_flight = 100, WAITING);
		CHANGED(f->rs.prior_in_flight = BBR_COUNT_NONE, LOWERING);
		CHANGED(f->rs.prior_in_flight = BBR_COUNT_NONE + 1, WAITING);
		/* The network delivers 10 packets until the EDT. */
		f->sk.tcp_wstamp_ns = f->sk.tcp_clock_cache + 1280 * NSEC_PER_USEC;
		CHANGED(f->rs.prior_in_flight = 111, LOWERING);
		CHANGED(f->rs.prior_in_flight = 110, WAITING);
		f->sk.tcp_wstamp_ns = 0;
		CHANGED(f->b.raising = 1, LOWERING);
		CHANGED(f->b.inflight_hi = 110, LOWERING);
		CHANGED(f->rs.is_app_limited = true, BBR_ORDINARY);

		CHANGED(f->rs.rtt_us = MIN_RTT, LOWERING);
		CHANGED(f->rs.rtt_us = MIN_RTT - 1, WAITING);
		CHANGED(f->rs.rtt_us = -1, LOWERING);
		CHANGED((f->rs.rtt_us = MIN_RTT, f->b.probe_rtt_min_us = MIN_RTT - 1), WAITING);
		CHANGED((f->b.probe_rtt_min_us = MIN_RTT + 1, f->b.min_rtt_stamp -= 10000),
			LOWERING); /* min_rtt_us grows */
		CHANGED(f->rs.interval_us = 1279, WAITING);
		CHANGED(f->b.bw_hi[0] = BW / 2, LOWERING);
		CHANGED((f->b.bw_hi[0] = 2 * BW, f->rs.prior_in_flight = 201), LOWERING);
		CHANGED((f->b.bw_hi[0] = 2 * BW, f->rs.prior_in_flight = 200), WAITING);
		CHANGED(f->b.bw_lo = BW, LOWERING);
		CHANGED(f->b.bw_lo = BW - 1, WAITING);

		CHANGED(f->p.cwnd_min_target[0] = 100, LOWERING);
		CHANGED(f->p.cwnd_min_target[0] = 101, WAITING);
		CHANGED(f->sk.min_tso_segs = 33, LOWERING);
		CHANGED(f->sk.min_tso_segs = 34, WAITING);
		/* A third of the BDP is 33333 bytes, less 256 at this RTT. */
		CHANGED(f->sk.pacing_rate = 33077 << 10, LOWERING);
		CHANGED(f->sk.pacing_rate = 33078 << 10, WAITING);
		CHANGED(f->p.tso_rtt[0] = MIN_RTT / 8, LOWERING);
		CHANGED(f->p.tso_rtt[0] = MIN_RTT / 8 + 1, WAITING);
		CHANGED((f->sk.pacing_rate = ~0ull, f->sk.mss = 1967), LOWERING); /* 64 KB */
		CHANGED((f->sk.pacing_rate = ~0ull, f->sk.mss = 1966), WAITING);

		f->b.bw_hi[0] = f->b.bw_hi[1] = BW / 2; /* 50 packets of BDP */
		f->rs.interval_us = 2560;
		CHANGED(f->b.rounds_since_probe = 48, LOWERING);
		CHANGED(f->b.rounds_since_probe = 49, BBR_ORDINARY);
		f->b.bw_hi[0] = f->b.bw_hi[1] = BW;
		f->rs.interval_us = 1280;
		fixture_start_round(f); /* and a loss round */
	}
}

TEST(startup_and_drain_are_lossless)
{
	FIXTURE;

	make_ordinary(f);
	CHANGED(f->b.mode = BBR_STARTUP, LOSSLESS);
	CHANGED((f->b.mode = BBR_STARTUP, f->b.full_bw_reached = 0), LOSSLESS);
	CHANGED((f->b.mode = BBR_STARTUP, f->b.full_bw_reached = 0, f->rs.prior_delivered = 950),
		LOSSLESS); /* a round and a loss round start */
	CHANGED(f->b.mode = BBR_DRAIN, LOSSLESS);
	CHANGED(f->b.full_bw_reached = 0, LOSSLESS);
}

/* While bandwidth grows, and until the round begins that may be the last without growth. */
TEST(who_starts_stays_in_startup)
{
	FIXTURE;

	make_ordinary(f);
	f->b.mode = BBR_STARTUP;
	f->b.full_bw_reached = 0;
	f->b.full_bw_now = 0;
	for (int i = 0; i < 2; i++) {
		CHANGED((void)0, STARTING);
		CHANGED(f->b.full_bw = 2 * BW, STARTING);
		CHANGED((f->b.full_bw = 2 * BW, f->b.full_bw_cnt = 1), STARTING);
		CHANGED((f->b.full_bw = 2 * BW, f->b.full_bw_cnt = 2), i ? LOSSLESS : STARTING);
		CHANGED(f->b.full_bw_cnt = 2, i ? LOSSLESS : STARTING); /* it may grow now */
		CHANGED((f->p.full_bw_rounds[0] = 1, f->b.full_bw = 2 * BW),
			i ? LOSSLESS : STARTING);
		CHANGED((f->p.full_bw_rounds[0] = 2, f->b.full_bw = 2 * BW), STARTING);
		CHANGED(f->b.full_bw_now = 1, LOSSLESS);
		CHANGED(f->b.new_gains = 1, LOSSLESS);
		CHANGED(f->b.acks = BBR_ACKS_PROBE_STOPPING, LOSSLESS);
		CHANGED(f->rs.is_app_limited = true, LOSSLESS);
		CHANGED((f->b.try_fast_path = 1, f->rs.is_app_limited = true), LOSSLESS);
		CHANGED(f->b.min_rtt_us = 0xffffff, STARTING);
		CHANGED(f->b.bw_latest = 2 * BW, STARTING);
		CHANGED(f->b.bw_lo = BW / 2, STARTING);
		CHANGED(f->b.inflight_lo = 50, STARTING);
		CHANGED(f->b.loss_events_in_round = 5, STARTING);
		CHANGED(f->b.rounds_since_probe = 255, STARTING);
		CHANGED(f->b.extra_acked[0] = 20, STARTING);
		CHANGED(f->sk.cwnd = 500, STARTING);
		CHANGED(f->sk.pacing_rate = 1, STARTING);
		CHANGED(f->rs.rtt_us = MIN_RTT - 1, STARTING);
		fixture_start_round(f); /* and a loss round */
	}
}

TEST(what_is_not)
{
	FIXTURE;

	make_ordinary(f);
	CHANGED(f->sk.ca_state = TCP_CA_Disorder, 0);
	CHANGED(f->b.prev_ca_state = TCP_CA_Loss, 0);
	CHANGED(f->b.loss_in_round = 1, 0);
	CHANGED(f->b.mode = BBR_PROBE_RTT, 0);
	CHANGED(f->b.idle_restart = 1, 0);
	CHANGED(f->b.has_seen_rtt = 0, 0);
	CHANGED(f->b.watched = 1, 0);
	CHANGED((f->b.watched = 1, f->b.mode = BBR_STARTUP), 0);
	CHANGED(f->rs.acked_sacked = 0, 0);
	CHANGED(f->rs.acked_sacked = 0x1000000u, CRUISING);
	CHANGED(f->rs.acked_sacked = 0x1000001u, 0);
	CHANGED(f->rs.interval_us = 0, 0);
	CHANGED(f->rs.interval_us = 1, CRUISING);
	CHANGED(f->rs.interval_us = 0x1000000ll, CRUISING);
	CHANGED(f->rs.interval_us = 0x1000001ll, 0);
	CHANGED(f->b.min_rtt_us = 0xffffff, CRUISING);
	CHANGED(f->b.min_rtt_us = 0x1000000, 0);
	CHANGED(f->b.min_rtt_us = BBR_RTT_NONE, 0);
	CHANGED(f->rs.interval_us = (1ll << 32) + 1280, 0);
	CHANGED(f->sk.now_ms = f->b.probe_rtt_min_stamp + 5001, 0);
	CHANGED(f->sk.now_ms = f->b.probe_rtt_min_stamp + 5000, CRUISING);
	/* These are not in order either: they are estimated only as any ACK. */
	f->rs.delivered = -1;
	assert_kind(f, 0);
	f->rs.delivered = 10;
	f->b.in_order = 0;
	assert_kind(f, 0);
	f->b.mode = BBR_STARTUP;
	assert_kind(f, 0);
}

TEST(ack_is_clean_without_losses_and_marks)
{
	FIXTURE;

	assert_true(bbr_is_clean(&f->sk, &f->rs, &f->ack));
	f->ack.flight.lost = -1;
	f->ack.delivered_ce = -1;
	assert_true(bbr_is_clean(&f->sk, &f->rs, &f->ack));
	f->ack.flight.lost = 1;
	assert_false(bbr_is_clean(&f->sk, &f->rs, &f->ack));
	f->ack.flight.lost = 0;
	f->ack.delivered_ce = 1;
	assert_false(bbr_is_clean(&f->sk, &f->rs, &f->ack));
	f->ack.delivered_ce = 0;
	f->ack.acks_tlp = true;
	assert_false(bbr_is_clean(&f->sk, &f->rs, &f->ack));
	f->ack.acks_tlp = false;
	f->rs.losses = 1;
	assert_false(bbr_is_clean(&f->sk, &f->rs, &f->ack));
	f->rs.losses = 0;
	f->sk.uses_ecn = true;
	assert_false(bbr_is_clean(&f->sk, &f->rs, &f->ack));
}

/* What is not common is left unchanged. */
static void assert_left(struct fixture *f)
{
	struct fixture was = *f;

	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_ANY);
	assert_memory_equal(f, &was, sizeof(was));
}

/* What is rare is left unchanged, too; then it is handled by its kind. */
static void assert_rare(struct fixture *f, u8 kind)
{
	struct fixture was = *f;

	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_RARE);
	assert_memory_equal(f, &was, sizeof(was));
	bbr_main_if_rare(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->sk.kind, kind);
	*f = was;
}

TEST(what_is_common_is_done_the_rest_is_left)
{
	FIXTURE;
	struct fixture was;

	assert_left(f); /* not in order */
	make_ordinary(f);
	f->b.watched = 1;
	assert_left(f);
	f->b.watched = 0;
	f->sk.lost++;
	assert_left(f);
	f->sk.lost--;
	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_DONE);
	assert_int_equal(f->sk.kind, CRUISING);
	fixture_phase(f, BBR_REFILL);
	assert_rare(f, BBR_ORDINARY);
	fixture_phase(f, BBR_DOWN);
	was = *f;
	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_DONE);
	assert_int_equal(f->sk.kind, LOWERING);
	*f = was;
	f->rs.prior_in_flight = 100;
	assert_rare(f, WAITING);
	f->b.full_bw_reached = 0;
	assert_rare(f, BBR_CALM | BBR_LOSSLESS);
	f->b.full_bw_reached = 1;
	f->b.mode = BBR_STARTUP;
	assert_rare(f, BBR_CALM | BBR_LOSSLESS);
	f->b.full_bw_reached = f->b.full_bw_now = 0;
	was = *f;
	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_STARTING);
	assert_memory_equal(f, &was, sizeof(was));
	bbr_main_if_starting(&f->b, &f->sk, &f->rs);
	assert_int_equal(f->sk.kind, STARTING);
}

/*
 * In CRUISE, in a recovery: two packets are SACKed. The ACK ends no round. The next losses would
 * end their loss round with packet 990.
 */
static void make_recovering(struct fixture *f)
{
	make_ordinary(f);
	f->b.in_order = 0;
	f->b.loss_round_delivered = 990;
	f->sk.ca_state = TCP_CA_Recovery;
	f->sk.sacked_out = 2;
	f->sk.lost_out = 1;
}

/* The ACK is of this kind, and has the same effect by it as it has as any ACK. 0: it is left. */
static void assert_recovering(struct fixture *f, u8 kind)
{
	struct fixture of_kind = *f, of_any = *f;

	assert_int_equal(bbr_kind_if_recovering(&f->b, &f->sk, &f->rs), kind);
	of_kind.sk.more = &of_kind.more;
	of_any.sk.more = &of_any.more;
	assert_int_equal(bbr_main_if_recovering(&of_kind.b, &of_kind.sk, &of_kind.rs), kind != 0);
	assert_int_equal(of_kind.sk.kind, kind);
	if (kind)
		bbr_main(&of_any.b, &of_any.sk, &of_any.rs);
	of_kind.sk.kind = 0;
	of_kind.sk.more = of_any.sk.more = NULL;
	assert_memory_equal(&of_kind, &of_any, sizeof(of_any));
}

#define ASSERT_RECOVERING_WITH(member, value, kind) \
	do {                                        \
		u64 was = member;                   \
		(member) = value;                   \
		assert_recovering(f, kind);         \
		(member) = was;                     \
	} while (0)

TEST(out_of_order_means_a_recovery_unless_open)
{
	FIXTURE;
	struct fixture was;

	make_recovering(f);
	was = *f;
	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_RECOVERING);
	f->sk.sacked_out = 0;
	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_RECOVERING);
	f->sk.ca_state = TCP_CA_Open;
	assert_left(f);
	f->sk.sacked_out = 2;
	assert_left(f);
	f->sk.ca_state = TCP_CA_Recovery;
	assert_memory_equal(f, &was, sizeof(was));
	f->b.in_order = 1;
	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_RECOVERING);
	f->sk.sacked_out = 0; /* it stays in order, so bbr_estimate_in_recovery() is wrong */
	assert_int_equal(bbr_main_if_common(&f->b, &f->sk, &f->rs), BBR_MAIN_ANY);
}

TEST(recovery_in_cruise_has_a_kind)
{
	FIXTURE;

	make_recovering(f);
	assert_recovering(f, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->sk.lost, 41, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->rs.losses, 1, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->b.loss_in_round, 1, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->b.next_round_delivered, 940, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->b.inflight_lo, 20, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->sk.inflight, 500, BBR_RECOVERING_CRUISE); /* no note is due */
	ASSERT_RECOVERING_WITH(f->sk.has_flight, true, 0);
	ASSERT_RECOVERING_WITH(f->sk.uses_ecn, true, 0);
	ASSERT_RECOVERING_WITH(f->sk.tlp_high_seq, 1, 0);
	ASSERT_RECOVERING_WITH(f->sk.ca_state, TCP_CA_Open, 0);
	ASSERT_RECOVERING_WITH(f->sk.ca_state, TCP_CA_Disorder, 0); /* inflight_hi might rise */
	ASSERT_RECOVERING_WITH(f->rs.acked_sacked, 0, 0);
	ASSERT_RECOVERING_WITH(f->b.probe_samples, 1, 0);
	ASSERT_RECOVERING_WITH(f->b.in_order, 1, BBR_RECOVERING_CRUISE); /* until this ACK */
	ASSERT_RECOVERING_WITH(f->b.watched, 1, 0);
	ASSERT_RECOVERING_WITH(f->b.idle_restart, 1, 0);
	ASSERT_RECOVERING_WITH(f->b.has_seen_rtt, 0, 0);
	ASSERT_RECOVERING_WITH(f->b.full_bw_reached, 0, 0);
	ASSERT_RECOVERING_WITH(f->b.mode, BBR_PROBE_RTT, 0);
	f->b.inflight_hi = BBR_COUNT_NONE;
	ASSERT_RECOVERING_WITH(f->sk.ca_state, TCP_CA_Disorder, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->sk.ca_state, TCP_CA_Open, 0);
	f->sk.write_seq = f->sk.snd_nxt; /* nothing is left to send */
	f->sk.retrans_out = 1;
	f->rs.prior_in_flight = 50;
	assert_recovering(f, BBR_RECOVERING_CRUISE);
	f->sk.more = NULL;
	f->sk.lost = 41;
	assert_true(bbr_main_if_recovering(&f->b, &f->sk, &f->rs));
	assert_true(f->b.loss_in_round);
	assert_int_equal(f->sk.app_limited, 1000 - 10 + 50);
}

/* Then the bounds may be cut, and with a lower bw the next probe may be due. */
TEST(end_of_a_loss_round_with_losses_is_calm)
{
	FIXTURE;

	make_recovering(f);
	f->b.loss_round_delivered = 940;
	assert_recovering(f, BBR_RECOVERING_CRUISE);
	ASSERT_RECOVERING_WITH(f->sk.lost, 41, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->rs.losses, 1, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->b.loss_in_round, 1, BBR_RECOVERING_CALM);
	f->b.loss_in_round = 1;
	ASSERT_RECOVERING_WITH(f->b.mode, BBR_STARTUP, 0);
	ASSERT_RECOVERING_WITH(f->b.probe_samples, 1, 0);
	assert_true(bbr_main_if_recovering(&f->b, &f->sk, &f->rs));
	assert_int_not_equal(f->b.bw_lo, BBR_BW_NONE);
	assert_false(f->b.loss_in_round);
}

TEST(recovery_elsewhere_in_the_cycle_is_calm)
{
	FIXTURE;

	make_recovering(f);
	ASSERT_RECOVERING_WITH(f->rs.is_app_limited, true, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->b.probe_wait_us, 1000, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->b.cycle_idx, BBR_DOWN, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->b.full_bw_now, 0, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->b.cycle_idx, BBR_REFILL, 0);
	ASSERT_RECOVERING_WITH(f->b.cycle_idx, BBR_UP, 0);
	ASSERT_RECOVERING_WITH(f->b.acks, BBR_ACKS_PROBE_STOPPING, 0);
	f->b.inflight_hi = BBR_COUNT_NONE;
	f->b.next_round_delivered = 940;
	ASSERT_RECOVERING_WITH(f->b.acks, BBR_ACKS_PROBE_STOPPING, BBR_RECOVERING_CALM);
	f->rs.is_app_limited = true; /* then this is no maximum to keep */
	ASSERT_RECOVERING_WITH(f->b.acks, BBR_ACKS_PROBE_STOPPING, BBR_RECOVERING_CALM);
}

TEST(recovery_in_startup_has_a_kind)
{
	FIXTURE;

	make_recovering(f);
	f->b.mode = BBR_STARTUP;
	f->b.inflight_hi = BBR_COUNT_NONE;
	f->b.full_bw_reached = f->b.full_bw_now = 0;
	assert_recovering(f, BBR_RECOVERING_STARTUP);
	ASSERT_RECOVERING_WITH(f->rs.losses, 1, BBR_RECOVERING_STARTUP);
	ASSERT_RECOVERING_WITH(f->sk.lost, 41, BBR_RECOVERING_STARTUP);
	ASSERT_RECOVERING_WITH(f->rs.is_app_limited, true, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->b.loss_round_delivered, 940, 0); /* losses may end it */
	f->b.next_round_delivered = 940; /* this round may be the last one */
	f->b.full_bw_cnt = 2;
	f->rs.delivered = 5;
	assert_recovering(f, BBR_RECOVERING_CALM);
	f->b.mode = BBR_DRAIN;
	f->b.full_bw_reached = 1;
	assert_recovering(f, BBR_RECOVERING_CALM);
	ASSERT_RECOVERING_WITH(f->b.inflight_hi, 200, 0);
}

/* The BDP alone decides only if the whole target would decide the same. */
TEST(time_of_reno_is_what_it_is_by_the_whole_target)
{
	FIXTURE;

	for (u32 cwnd = 1; cwnd < 130; cwnd += 3)
		for (u32 min_rtt = 100; min_rtt < 10000; min_rtt += 300)
			for (u32 rounds = 0; rounds < 70; rounds++) {
				f->sk.cwnd = cwnd;
				f->b.min_rtt_us = min_rtt;
				f->b.rounds_since_probe = rounds;
				assert_int_equal(
					bbr_is_reno_probe_time(&f->b, &f->sk),
					rounds >= min_u32(63, bbr_target_inflight(&f->b, &f->sk)));
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(most_acks_are_ordinary),
		T(who_waits_waits_on),
		T(waiting_is_as_any_other),
		T(who_lowers_inflight_goes_on),
		T(startup_and_drain_are_lossless),
		T(who_starts_stays_in_startup),
		T(what_is_not),
		T(ack_is_clean_without_losses_and_marks),
		T(what_is_common_is_done_the_rest_is_left),
		T(out_of_order_means_a_recovery_unless_open),
		T(recovery_in_cruise_has_a_kind),
		T(end_of_a_loss_round_with_losses_is_calm),
		T(recovery_elsewhere_in_the_cycle_is_calm),
		T(recovery_in_startup_has_a_kind),
		T(time_of_reno_is_what_it_is_by_the_whole_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
