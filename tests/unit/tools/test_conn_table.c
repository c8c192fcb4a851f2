/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connections of bbrmon top: which is which, and what is known about the last interval and the
 * last minute.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "bpf/bbr/event.h"
#include "conns/conn_table.h"

#define START (1000 * NS_PER_S)
#define MS NS_PER_MS
#define RECOVERY 3

extern const struct algorithm algorithm_bbr;

static const struct origin ours = { .name = "ours", .id = 7, .algorithm = &algorithm_bbr };
static const struct origin as_socket = { .name = "ours", .id = 4711, .algorithm = &algorithm_bbr };

static struct conn_table table;

static int set_up(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	conn_table_free(&table);
	return 0;
}

static struct bbr_event event(__u64 conn, __u16 port, __u64 ms)
{
	return (struct bbr_event){
		.kind = BBR_EV_ACK,
		.conn = conn,
		.time_ns = START + ms * MS,
		.netns = 1,
		.laddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.raddr = { 0, 0, htonl(0xffff), htonl(0x0a000002) },
		.lport = htons(port),
		.rport = htons(80),
		.mode = BBR_PROBE_BW,
		.mss = 1000,
		.min_rtt_us = 10000,
		.srtt_us = 12000,
		.rtt_us = BBR_RTT_NONE,
		.pacing_rate = 125000,
		.bw = 1 << 14, /* a packet in 1024 us */
		.cwnd = 20,
		.inflight = 10,
	};
}

static void note(struct bbr_event e)
{
	conn_table_note(&table, &ours, &e);
}

static void note_socket(struct bbr_event e, __u64 cookie)
{
	struct bbr_snapshot snap = { .event = e, .cookie = cookie };

	snap.event.conn = 0;
	snap.event.kind = BBR_EV_STATE;
	conn_table_note_snapshot(&table, &as_socket, &snap);
}

static void tick(__u64 ms)
{
	conn_table_tick(&table, START + ms * MS);
}

static __u32 alive(void)
{
	struct conn_totals totals;

	conn_table_totals(&table, &totals);
	return totals.live;
}

static const struct conn *only(void)
{
	assert_int_equal(table.n, 1);
	return table.all[0];
}

static void a_row_for_each_connection(void **state)
{
	struct origin other = { .name = "other", .id = 8 };
	struct bbr_event e = event(1, 1000, 2);

	(void)state;
	note(event(1, 1000, 0));
	note(event(2, 1001, 0));
	note(event(1, 1000, 1));
	assert_int_equal(table.n, 2);
	conn_table_note(&table, &other, &e);
	assert_int_equal(table.n, 3);
}

static void the_rate_is_what_was_delivered_in_the_interval(void **state)
{
	struct bbr_event e = event(1, 1000, 0);

	(void)state;
	e.delivered = 0xffffff00; /* it wraps */
	note(e);
	tick(0);
	assert_true(isnan(only()->rate));
	e.time_ns += 500 * MS;
	e.delivered += 1000;
	e.lost += 3;
	e.bytes_retrans += 3000;
	note(e);
	tick(500);
	assert_float_equal(only()->rate, 16e6, 1);
	assert_int_equal(only()->lost, 3);
	assert_int_equal(only()->retrans, 3000);
	e.time_ns += 500 * MS;
	note(e);
	tick(1000);
	assert_float_equal(only()->rate, 0, 0);
	assert_int_equal(only()->lost, 0);
}

/* Not 0, because nothing was measured; nor, when events come again, the mean over the pause. */
static void of_a_quiet_connection_the_rate_is_unknown(void **state)
{
	struct bbr_event e = event(1, 1000, 0);

	(void)state;
	note(e);
	tick(1000);
	tick(10000);
	assert_true(isnan(only()->rate));
	tick(11000);
	e.time_ns = START + 60000 * MS;
	e.delivered = 100;
	note(e);
	tick(60100);
	assert_true(isnan(only()->rate));
	e.time_ns += 1000 * MS;
	e.delivered += 125;
	note(e);
	tick(61100);
	assert_float_equal(only()->rate, 1e6, 1);
}

static void inflight_is_the_most_in_the_interval(void **state)
{
	struct bbr_event e = event(1, 1000, 0);

	(void)state;
	e.flags = BBR_F_SAMPLE;
	e.rs_prior_inflight = 30;
	note(e);
	e.rs_prior_inflight = 5;
	e.time_ns += 10 * MS;
	note(e);
	tick(20);
	assert_int_equal(only()->inflight, 30);
	tick(1000);
	assert_int_equal(only()->inflight, 10);
}

static void what_ended_stays_for_a_moment(void **state)
{
	struct bbr_event e = event(1, 1000, 10);

	(void)state;
	note(event(1, 1000, 0));
	e.kind = BBR_EV_END;
	note(e);
	tick(4000);
	assert_int_equal(only()->ended_ns, START + 10 * MS);
	assert_int_equal(alive(), 0);
	tick(6000);
	assert_int_equal(table.n, 0);
	assert_int_equal(table.n_histories, 0);
}

static void addresses_that_are_used_again_are_another_row(void **state)
{
	(void)state;
	note(event(1, 1000, 0));
	note(event(2, 1000, 10)); /* the first one's end was dropped */
	assert_int_equal(table.n, 2);
	assert_int_equal(alive(), 1);
	assert_int_not_equal(table.all[0]->serial, table.all[1]->serial);
	note(event(2, 1000, 20));
	assert_int_equal(table.n, 2);
}

static void a_socket_and_its_events_are_one_row(void **state)
{
	(void)state;
	note_socket(event(0, 1000, 0), 99);
	note(event(1, 1000, 10));
	note_socket(event(0, 1000, 20), 99);
	note(event(1, 1000, 30));
	assert_int_equal(only()->cookie, 99);
	assert_int_equal(only()->e.conn, 1);
	assert_int_equal(only()->e.time_ns, START + 30 * MS);
}

static void a_socket_with_another_cookie_is_another_row(void **state)
{
	(void)state;
	note_socket(event(0, 1000, 0), 99);
	note_socket(event(0, 1000, 10), 100);
	assert_int_equal(table.n, 2);
	assert_int_equal(alive(), 1);
}

/* The socket was read before the connection ended: it does not bring the connection back. */
static void an_old_state_of_a_socket_does_not_bring_it_back(void **state)
{
	struct bbr_event e = event(1, 1000, 10);

	(void)state;
	note(event(1, 1000, 0));
	e.kind = BBR_EV_END;
	note(e);
	note_socket(event(0, 1000, 9), 99);
	assert_int_equal(table.n, 1);
	assert_int_equal(alive(), 0);
}

static void a_socket_that_is_gone_has_ended(void **state)
{
	(void)state;
	conn_table_begin_snapshot(&table, START);
	note_socket(event(0, 1000, 0), 99);
	note_socket(event(0, 1001, 0), 100);
	conn_table_end_snapshot(&table);
	conn_table_begin_snapshot(&table, START + 5000 * MS);
	note_socket(event(0, 1000, 5000), 99);
	assert_int_equal(alive(), 2); /* not before the snapshot ends */
	conn_table_end_snapshot(&table);
	assert_int_equal(alive(), 1);
}

/* Where sockets cannot be read, only events show that a connection goes on. */
static void one_that_no_reading_has_goes_on_while_it_has_events(void **state)
{
	(void)state;
	note(event(1, 1000, 0));
	conn_table_begin_snapshot(&table, START + 30000 * MS);
	conn_table_end_snapshot(&table);
	assert_int_equal(alive(), 1);
	conn_table_begin_snapshot(&table, START + 70000 * MS);
	conn_table_end_snapshot(&table);
	assert_int_equal(alive(), 0);
}

static void the_time_in_a_mode_is_known_from_its_start_only(void **state)
{
	struct bbr_event e = event(1, 1000, 0);

	(void)state;
	note(e);
	assert_int_equal(only()->mode_since_ns, 0);
	e = event(1, 1000, 10);
	e.kind = BBR_EV_MODE;
	e.from = BBR_PROBE_BW;
	e.to = e.mode = BBR_PROBE_RTT;
	note(e);
	assert_int_equal(only()->mode_since_ns, START + 10 * MS);
	e = event(1, 1000, 20);
	e.mode = BBR_STARTUP; /* the event that says so was dropped */
	note(e);
	assert_int_equal(only()->mode_since_ns, 0);
}

static void while_nothing_changes_only_ends_are_kept(void **state)
{
	struct bbr_event e = event(1, 1000, 10);

	(void)state;
	note(event(1, 1000, 0));
	e.kind = BBR_EV_END;
	conn_table_note_unseen(&table, &ours, &e);
	e = event(2, 1001, 10);
	conn_table_note_unseen(&table, &ours, &e);
	assert_int_equal(alive(), 1);
	conn_table_go_on(&table);
	assert_int_equal(alive(), 0);
	assert_int_equal(only()->ended_ns, START + 10 * MS);
}

static void no_recording_can_change_a_connections_addresses(void **state)
{
	struct bbr_event e = event(1, 2000, 10);

	(void)state;
	note(event(1, 1000, 0));
	note(e);
	assert_int_equal(only()->e.lport, htons(1000));
	note(event(3, 2000, 20));
	assert_int_equal(alive(), 2);
}

static struct sample slot(__u64 ms)
{
	struct sample s = { .rate = NAN };

	if (!only()->history || !history_get(only()->history, (START + ms * MS) / SLOT_NS, 1, &s))
		s.modes = 0;
	return s;
}

static void a_slot_has_the_rate_since_the_slot_before(void **state)
{
	struct bbr_event e = event(1, 1000, 100);

	(void)state;
	note(e);
	assert_true(isnan(slot(0).rate));
	for (int i = 0; i < 4; i++) {
		e.time_ns += 500 * MS;
		e.delivered += 500;
		note(e);
	}
	assert_float_equal(slot(1000).rate, 8e6, 1);
	assert_float_equal(slot(2000).rate, 8e6, 1);
	assert_int_equal(slot(2000).bdp, 9);
	assert_int_equal(slot(2000).modes, 1 << BBR_PROBE_BW);
	assert_int_equal(slot(2500).modes, 0);
}

static void slots_between_two_events_hold_what_was(void **state)
{
	struct bbr_event e = event(1, 1000, 100);

	(void)state;
	e.mode = BBR_STARTUP;
	note(e);
	e = event(1, 1000, 2100);
	e.delivered = 250;
	e.lost = 4;
	e.ca_state = RECOVERY;
	note(e);
	assert_float_equal(slot(1000).rate, 1e6, 1);
	assert_int_equal(slot(1000).modes, 1 << BBR_STARTUP);
	assert_int_equal(slot(1000).lost, 0);
	assert_int_equal(slot(2000).modes, 1 << BBR_PROBE_BW);
	assert_int_equal(slot(2000).ca_states, 1 << RECOVERY);
	assert_int_equal(slot(2000).lost, 4);
}

static void a_long_gap_stays_a_gap(void **state)
{
	struct bbr_event e = event(1, 1000, 100);

	(void)state;
	note(e);
	e.time_ns += 20000 * MS;
	e.delivered = 250;
	note(e);
	assert_int_equal(slot(10000).modes, 0);
	assert_true(isnan(slot(20000).rate));
	assert_int_equal(slot(0).modes, 1 << BBR_PROBE_BW);
}

static void a_minute_is_kept(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++)
		note(event(1, 1000, i * 500));
	assert_int_equal(slot(499 * 500).modes, 1 << BBR_PROBE_BW);
	assert_int_equal(slot(380 * 500).modes, 1 << BBR_PROBE_BW);
	assert_int_equal(slot(379 * 500).modes, 0);
}

static void a_short_mode_is_not_lost_in_its_slot(void **state)
{
	struct bbr_event e = event(1, 1000, 100);

	(void)state;
	note(e);
	e.time_ns += 50 * MS;
	e.mode = BBR_PROBE_RTT;
	e.inflight = 25;
	note(e);
	e.inflight = 4;
	e.time_ns += 50 * MS;
	e.mode = BBR_PROBE_BW;
	note(e);
	assert_int_equal(slot(0).modes, 1 << BBR_PROBE_BW | 1 << BBR_PROBE_RTT);
	assert_int_equal(slot(0).inflight, 25);
}

/* A recording that spans two boots. */
static void time_that_goes_back_is_the_newest_slot(void **state)
{
	(void)state;
	note(event(1, 1000, 10000));
	note(event(1, 1000, 0));
	assert_int_equal(slot(10000).modes, 1 << BBR_PROBE_BW);
	assert_int_equal(slot(0).modes, 0);
}

static void transitions_are_kept_in_order(void **state)
{
	struct bbr_event e = event(1, 1000, 0);

	(void)state;
	note(e);
	for (int i = 0; i < 20; i++) {
		e = event(1, 1000, i + 1);
		e.kind = BBR_EV_MODE;
		e.reason = i % BBR_REASONS;
		note(e);
	}
	assert_int_equal(only()->history->n_transitions, 20);
	for (int i = 4; i < 20; i++)
		assert_int_equal(only()->history->transitions[i % TRANSITIONS].time_ns,
				 START + (i + 1) * MS);
}

static void histories_are_bounded(void **state)
{
	(void)state;
	struct conn_totals totals;

	for (__u32 i = 0; i < HISTORIES_MAX + 10; i++) {
		struct bbr_event e = event(i + 1, 1000 + i % 60000, 0);

		e.netns = i / 60000;
		note(e);
		assert_null(table.all[i]->history);
		note(e);
	}
	assert_int_equal(table.n, HISTORIES_MAX + 10);
	assert_int_equal(table.n_histories, HISTORIES_MAX);
	assert_null(table.all[HISTORIES_MAX]->history);
	conn_table_totals(&table, &totals);
	assert_int_equal(totals.without_history, 10);
	/* A recording has a few bytes for each, and nobody looks at all of them. */
	assert_true(sizeof(struct history) +
			    table.all[0]->history->n_slots * sizeof(struct sample) <
		    700);
}

/* One that is read by and by, and one that is read at once, have the same slots. */
static void a_history_grows_with_its_age(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++) {
		struct bbr_event e = event(1, 1000, i * 500);
		__u32 n;

		e.delivered = i * i;
		note(e);
		if (!i)
			continue;
		n = only()->history->n_slots;
		assert_in_range(n, i < HISTORY_SLOTS ? i + 1 : HISTORY_SLOTS, 2 * (i + 8));
		assert_in_range(n, 8, HISTORY_SLOTS);
		for (int k = i < HISTORY_SLOTS ? 1 : i - HISTORY_SLOTS + 1; k <= i; k++)
			assert_float_equal(slot(k * 500).rate, (2 * k - 1) * 16e3, 1);
		assert_int_equal(slot((i + 1) * 500).modes, 0);
		assert_int_equal(slot((i - HISTORY_SLOTS) * 500).modes, 0);
	}
}

static void take_reading(struct bbr_event e)
{
	struct bbr_snapshot snap = { .cookie = 7, .event = e };

	snap.event.kind = BBR_EV_STATE;
	snap.event.conn = 0;
	conn_table_begin_snapshot(&table, e.time_ns);
	conn_table_note_snapshot(&table, &ours, &snap);
	conn_table_end_snapshot(&table);
}

/* Its memory is a tenth of a busy one's. Once something happens, the reading before is in the history. */
static void an_idle_connection_has_no_history(void **state)
{
	struct bbr_event e = event(1, 1000, 0);

	(void)state;
	for (int i = 0; i < 5; i++) {
		take_reading(e);
		assert_null(only()->history);
		e.time_ns += 1000 * MS;
	}
	assert_int_equal(table.n_histories, 0);
	e.delivered += 1000;
	take_reading(e);
	assert_int_equal(table.n_histories, 1);
	assert_true(slot(4000).modes);
	assert_float_equal(slot(5000).rate, 1000 * 8.0 * e.mss, 1e-3);
	assert_true(sizeof(struct conn) < 800);
}

/* Opened and closed fast: no histories, rows up to a bound, and few of them after the interval. */
static void short_connections_are_bounded(void **state)
{
	(void)state;
	for (__u32 i = 0; i < CONNS_MAX + 10; i++) {
		struct bbr_event e = event(i + 1, 1, 1);

		e.raddr[3] = i;
		e.kind = BBR_EV_START;
		conn_table_note(&table, &ours, &e);
		assert_in_range(table.n_histories, 0, 1);
		e.kind = BBR_EV_END;
		conn_table_note(&table, &ours, &e);
	}
	assert_int_equal(table.n, CONNS_MAX);
	assert_int_equal(table.no_row, 10);
	assert_int_equal(table.n_histories, 0);
	conn_table_tick(&table, START + 1000 * MS);
	assert_int_equal(table.n, ENDED_MAX);
	conn_table_tick(&table, START + 7000 * MS);
	assert_int_equal(table.n, 0);
}

static void leave_out(struct bbr_event e)
{
	conn_table_leave_out(&table, &ours, &e);
}

/* A connection that is left out disappears at the end of the interval, and may come back. */
static void what_is_left_out_is_gone(void **state)
{
	(void)state;
	note(event(1, 1000, 0));
	note(event(2, 1001, 0));
	leave_out(event(1, 1000, 10));
	leave_out(event(3, 1002, 10)); /* has no row, and gets none */
	assert_int_equal(table.n, 2);
	tick(100);
	assert_int_equal(only()->e.conn, 2);
	note(event(1, 1000, 200));
	assert_int_equal(table.n, 2);
	leave_out(event(1, 1000, 210));
	note(event(1, 1000, 220));
	tick(300);
	assert_int_equal(table.n, 2);
}

static void a_socket_that_is_left_out_is_its_row(void **state)
{
	struct bbr_event e = event(0, 1000, 10);

	(void)state;
	note(event(1, 1000, 0));
	leave_out(e);
	tick(100);
	assert_int_equal(table.n, 0);
	note_socket(event(1, 1000, 200), 5);
	leave_out(event(1, 1000, 210));
	tick(300);
	assert_int_equal(table.n, 0);
}

static void nothing_old_and_nobody_else_leaves_a_row_out(void **state)
{
	(void)state;
	note(event(2, 1000, 100));
	leave_out(event(0, 1000, 99)); /* was read before */
	leave_out(event(1, 1000, 110)); /* had the addresses before */
	tick(200);
	assert_int_equal(only()->e.conn, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_row_for_each_connection),
		TEST(the_rate_is_what_was_delivered_in_the_interval),
		TEST(of_a_quiet_connection_the_rate_is_unknown),
		TEST(inflight_is_the_most_in_the_interval),
		TEST(what_ended_stays_for_a_moment),
		TEST(addresses_that_are_used_again_are_another_row),
		TEST(a_socket_and_its_events_are_one_row),
		TEST(a_socket_with_another_cookie_is_another_row),
		TEST(an_old_state_of_a_socket_does_not_bring_it_back),
		TEST(a_socket_that_is_gone_has_ended),
		TEST(one_that_no_reading_has_goes_on_while_it_has_events),
		TEST(the_time_in_a_mode_is_known_from_its_start_only),
		TEST(while_nothing_changes_only_ends_are_kept),
		TEST(no_recording_can_change_a_connections_addresses),
		TEST(a_slot_has_the_rate_since_the_slot_before),
		TEST(slots_between_two_events_hold_what_was),
		TEST(a_long_gap_stays_a_gap),
		TEST(a_minute_is_kept),
		TEST(a_short_mode_is_not_lost_in_its_slot),
		TEST(time_that_goes_back_is_the_newest_slot),
		TEST(transitions_are_kept_in_order),
		TEST(histories_are_bounded),
		TEST(a_history_grows_with_its_age),
		TEST(an_idle_connection_has_no_history),
		TEST(short_connections_are_bounded),
		TEST(what_is_left_out_is_gone),
		TEST(a_socket_that_is_left_out_is_its_row),
		TEST(nothing_old_and_nobody_else_leaves_a_row_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
