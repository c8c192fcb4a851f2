/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrmon top writes into its columns, which columns fit a width, the order and the filter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "bpf/bbr/event.h"
#include "top/top.h"

#define LONGEST "2001:db8:1111:2222:3333:4444:5555:6666"

extern const struct algorithm algorithm_bbr;

static const struct origin origin = { .name = "fifteen_letters",
				      .id = 1,
				      .algorithm = &algorithm_bbr };

static struct conn_table table;
static struct view view;

static int set_up(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	memset(&view, 0, sizeof(view));
	view.sort = COL_CWND;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	view_free(&view);
	conn_table_free(&table);
	return 0;
}

static void add(const char *remote, __u16 rport, __u32 cwnd)
{
	struct bbr_event e = {
		.conn = table.n + 1,
		.time_ns = NS_PER_S,
		.laddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.lport = htons(5000 + table.n),
		.rport = htons(rport),
		.cwnd = cwnd,
		.inflight = 4000000000,
		.lost = 4000000000,
		.bytes_retrans = ~0ull,
		.bw = ~0u,
		.mss = 65535,
		.min_rtt_us = 4000000000,
		.srtt_us = 4000000000,
		.pacing_rate = ~0ull - 1,
		.mode = BBR_PROBE_BW,
		.phase = 255,
		.ca_state = 3,
		.netns = ~0u,
	};

	inet_pton(AF_INET6, remote, e.raddr);
	e.family = strchr(remote, '.') ? AF_INET : AF_INET6;
	conn_table_note(&table, &origin, &e);
}

static void assert_short(double value, const char *text)
{
	char buf[16];

	format_short(buf, sizeof(buf), value);
	assert_string_equal(buf, text);
}

static void numbers_have_three_digits(void **state)
{
	(void)state;
	assert_short(NAN, "-");
	assert_short(0, "0");
	assert_short(7, "7");
	assert_short(999.4, "999");
	assert_short(999.5, "1.00k");
	assert_short(9994, "9.99k");
	assert_short(9996, "10.0k");
	assert_short(99960, "100k");
	assert_short(94.5e6, "94.5M");
	assert_short(1.5e18, "1.50E");
	assert_short(1e30, "999E");
}

static void assert_ms(double us, const char *text)
{
	char buf[16];

	format_ms(buf, sizeof(buf), us);
	assert_string_equal(buf, text);
}

static void rtts_are_milliseconds(void **state)
{
	(void)state;
	assert_ms(NAN, "-");
	assert_ms(0, "0.000");
	assert_ms(45, "0.045");
	assert_ms(999.6, "1.00");
	assert_ms(12345, "12.3");
	assert_ms(100000, "100");
	assert_ms(4294967295.0, "4295s");
}

static void assert_age(__u64 ns, const char *text)
{
	char buf[16];

	format_age(buf, sizeof(buf), ns);
	assert_string_equal(buf, text);
}

static void ages_have_five_columns(void **state)
{
	(void)state;
	assert_age(0, "0.0s");
	assert_age(59990 * NS_PER_MS, "59.9s");
	assert_age(60 * NS_PER_S, "1m00");
	assert_age(3599 * NS_PER_S, "59m59");
	assert_age(86399 * NS_PER_S, "23h59");
	assert_age(86400 * NS_PER_S, "1d");
	assert_age(~0ull, "9999d");
}

static void assert_endpoint(const char *addr, int width, const char *text)
{
	char buf[64];
	__u32 raw[4];

	inet_pton(AF_INET6, addr, raw);
	format_endpoint_in(buf, sizeof(buf), raw, htons(65535), width, false);
	assert_string_equal(buf, text);
}

/* The port and as many whole groups of both ends as fit stay. */
static void long_addresses_lose_groups_in_their_middle(void **state)
{
	(void)state;
	assert_endpoint("::ffff:255.255.255.255", 21, "255.255.255.255:65535");
	assert_endpoint("2001:db8::1", 21, "[2001:db8::1]:65535");
	assert_endpoint(LONGEST, 47, "[" LONGEST "]:65535");
	assert_endpoint(LONGEST, 45, "[2001:~:1111:2222:3333:4444:5555:6666]:65535");
	assert_endpoint(LONGEST, 33, "[2001:db8:1111:~:5555:6666]:65535");
	assert_endpoint(LONGEST, 21, "[2001:~:6666]:65535");
	assert_endpoint("2001:db8:1:2:3:4:5:6", 21, "[2001:~:4:5:6]:65535");
}

static void names_hold_nothing_for_a_terminal(void **state)
{
	char buf[32];

	(void)state;
	format_name(buf, sizeof(buf), "a\033[2Jb\xff c");
	assert_string_equal(buf, "a?[2Jb??c");
	format_name(buf, sizeof(buf), "");
	assert_string_equal(buf, "-");
}

static int columns_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* From the beginning, for the rows of the view. */
static void choose(struct top_layout *l, int width, enum column sort,
		   const struct column_choice *choice)
{
	const enum column sort_before = view.sort;

	view.layout = (struct top_layout){};
	view.choice = choice ? *choice : (struct column_choice){};
	view.sort = sort;
	view_layout(&view, width, view.rows, view.n);
	view.sort = sort_before;
	*l = view.layout;
}

/* Even with the longest values, in each column, sorted by any of them, at any width. */
static void no_row_is_wider_than_the_screen(void **state)
{
	(void)state;
	add(LONGEST, 65535, 4000000000);
	view_build(&view, &table);
	for (int width = 40; width <= 400; width++) {
		const int first = column_next(COL_NETNS, 1, false);
		int sort = first;

		do { /* each column that there is */
			struct top_layout l;
			struct cell_style style = { .now_ns = 100 * NS_PER_S, .utf8 = width % 2 };
			bool has_sort = false;
			int end = 0;

			choose(&l, width, sort, NULL);
			for (int i = 0; i < l.n; i++) {
				char cell[CELL_BYTES];

				has_sort |= (int)l.place[i].column == sort;
				assert_int_equal(l.place[i].x, i ? end + 1 : 0);
				cell_format(cell, &l, i, &style, &view.rows[0]);
				assert_int_equal(columns_of(cell), l.place[i].width);
				cell_format(cell, &l, i, &style, NULL);
				assert_int_equal(columns_of(cell), l.place[i].width);
				end = l.place[i].x + l.place[i].width;
			}
			assert_true(has_sort);
			assert_true(end <= width);
			sort = column_next(sort, 1, false);
		} while (sort != first);
	}
}

static bool has(const struct top_layout *l, enum column column)
{
	for (int i = 0; i < l->n; i++)
		if (l->place[i].column == column)
			return true;
	return false;
}

static void wider_screens_have_more_columns(void **state)
{
	static const enum column at_80[] = { COL_REMOTE,  COL_MODE,	COL_RATE, COL_BW,   COL_RTT,
					     COL_MIN_RTT, COL_INFLIGHT, COL_LOST, COL_SPARK };
	struct top_layout l;

	(void)state;
	choose(&l, 80, COL_RATE, NULL);
	assert_int_equal(l.n, sizeof(at_80) / sizeof(at_80[0]));
	for (int i = 0; i < l.n; i++)
		assert_true(has(&l, at_80[i]));
	choose(&l, 120, COL_RATE, NULL);
	assert_true(has(&l, COL_CWND) && has(&l, COL_INSTANCE) && has(&l, COL_RECOVERY));
	choose(&l, 200, COL_RATE, NULL);
	assert_int_equal(l.n, COLUMNS - OWN_COLUMNS + 1 - 7);
	choose(&l, 0, COL_RATE, NULL);
	assert_int_equal(l.n, COLUMNS - OWN_COLUMNS + 1 - 7);
}

static void assert_order(const __u32 *cwnds, size_t n)
{
	view_build(&view, &table);
	assert_int_equal(view.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(view.rows[i].conn->e.cwnd, cwnds[i]);
}

static void numbers_are_sorted_from_the_highest(void **state)
{
	(void)state;
	add("::1", 1, 20);
	add("::1", 1, 30);
	add("::1", 1, 20);
	add("::1", 1, 10);
	assert_order((__u32[]){ 30, 20, 20, 10 }, 4);
	assert_true(view.rows[1].conn->serial < view.rows[2].conn->serial);
	view.reverse = true;
	assert_order((__u32[]){ 10, 20, 20, 30 }, 4);
	assert_true(view.rows[1].conn->serial < view.rows[2].conn->serial);
}

static void addresses_are_sorted_as_numbers(void **state)
{
	(void)state;
	add("::ffff:10.0.0.9", 1, 2);
	add("::ffff:10.0.0.10", 80, 3);
	add("::ffff:10.0.0.9", 443, 1);
	view.sort = COL_REMOTE;
	assert_order((__u32[]){ 2, 1, 3 }, 3);
}

static bool filter(const char *text)
{
	static const struct known known;

	return view_filter(&view, text, &known);
}

static void a_filter_is_that_of_all_verbs(void **state)
{
	(void)state;
	add("::ffff:10.0.0.9", 443, 1);
	add("::ffff:10.0.0.9", 80, 2);
	add("fd00::9", 443, 3);
	assert_true(filter("10.0.0.9 and :443"));
	assert_order((__u32[]){ 1 }, 1);
	assert_true(filter("mode = probe_bw and name fifteen_letters and dst [fd00::/16]"));
	assert_order((__u32[]){ 3 }, 1);
	assert_true(filter("cwnd >= 2"));
	assert_order((__u32[]){ 3, 2 }, 2);
	assert_true(filter("mode PROBE_RTT"));
	assert_order(NULL, 0);
	assert_null(view_chosen(&view));
	view_move(&view, 1);
	assert_true(filter(""));
	assert_order((__u32[]){ 3, 2, 1 }, 3);
}

static void a_wrong_filter_leaves_the_one_before(void **state)
{
	char text[FILTER_LEN + 1];

	(void)state;
	add("::1", 1, 20);
	add("::1", 1, 10);
	assert_true(filter("cwnd = 20"));
	assert_false(filter("cwnd = twenty"));
	assert_false(filter("no_such_field > 1"));
	assert_false(filter("fwmark 1")); /* of a socket */
	assert_false(filter("losses > 1")); /* of a sample: rows have none */
	assert_false(filter("reason full_bw"));
	memset(text, ' ', FILTER_LEN);
	text[FILTER_LEN] = 0;
	assert_false(filter(text));
	assert_string_equal(view.filter_text, "cwnd = 20");
	assert_order((__u32[]){ 20 }, 1);
}

static void a_filter_knows_profiles(void **state)
{
	static const char profiles[BBR_PROFILES][BBR_PROFILE_NAME_LEN] = { "default", "bulk" };
	struct origin with = origin;
	struct bbr_event e;

	(void)state;
	add("::1", 1, 20);
	e = table.all[0]->e;
	with.profiles = profiles;
	for (int i = 0; i < 2; i++) {
		e.conn = 7 + i;
		e.lport = htons(7 + i);
		e.cwnd = 1 + i;
		e.profile = i;
		conn_table_note(&table, &with, &e);
	}
	assert_true(filter("profile bulk"));
	assert_order((__u32[]){ 2 }, 1);
	assert_true(filter("profile != bulk"));
	assert_order((__u32[]){ 20, 1 }, 2);
}

/* The titles and the cells of the columns that algorithms have, for all rows. */
static const char *own_columns(void)
{
	static char text[512];
	const struct cell_style style = {};
	char cell[CELL_BYTES];
	struct top_layout l;

	text[0] = 0;
	view_build(&view, &table);
	view.n = 0;
	for (__u32 i = 0; i < table.n; i++) /* in the order of the table */
		view.rows[view.n++].conn = table.all[i];
	choose(&l, 0, COL_RATE, NULL);
	for (int i = 0; i < l.n; i++) {
		if (!column_def(l.place[i].column)->own)
			continue;
		cell_format(cell, &l, i, &style, NULL);
		strcat(strcat(text, cell), ":");
		for (__u32 k = 0; k < table.n; k++) {
			cell_format(cell, &l, i, &style, &view.rows[k]);
			strcat(strcat(text, cell),
			       column_has_finding(l.place[i].column, table.all[k]) ? "!|" : "|");
		}
	}
	return text;
}

static void add_own(const struct origin *of, const char *key, __u32 value)
{
	const struct field *f = field_find(of->algorithm, key);
	struct bbr_event e = {
		.size = sizeof(e), .conn = table.n + 1, .lport = table.n + 1, .pacing_gain = 256
	};

	memset(e.tail, 0xff, sizeof(e.tail)); /* no bounds */
	memcpy((char *)&e + f->offset, &value, f->width);
	conn_table_note(&table, of, &e);
}

static void an_algorithm_says_which_columns_it_has(void **state)
{
	const struct origin v3 = { .name = "v3", .id = 3, .algorithm = algorithm_find("bbr3") };

	(void)state;
	assert_string_equal(own_columns(), "POL:"); /* without rows, of the first algorithm */
	add_own(&v3, "inflight_hi", 12345);
	assert_string_equal(own_columns(), "  HI: 12k|  LO:   -|");
	for (__u32 i = 0; i < 4; i++)
		add_own(&origin, "policer", i);
	assert_string_equal(own_columns(), "POL:-  |-  |?  |yes!|-  |  HI: 12k|   -|   -|   -|   -|"
					   "  LO:   -|   -|   -|   -|   -|");
	assert_int_equal(column_by_name("policer"), COL_OWN);
	assert_int_equal(column_next(COL_NETNS, -1, false), column_by_name("inflight_lo"));
	assert_int_equal(column_next(column_by_name("inflight_lo"), 1, false), COL_NETNS);
	assert_true(column_compare(COL_OWN, &view.rows[3], &view.rows[1], false) < 0);
	assert_true(column_compare(COL_OWN, &view.rows[3], &view.rows[1], true) > 0);
	/* not known: last, in both directions */
	assert_true(column_compare(COL_OWN, &view.rows[1], &view.rows[0], false) < 0);
	assert_true(column_compare(COL_OWN, &view.rows[1], &view.rows[0], true) < 0);
}

static void the_cursor_stays_on_its_connection(void **state)
{
	(void)state;
	add("::1", 1, 20);
	add("::1", 2, 10);
	view_build(&view, &table);
	view_move(&view, 1);
	assert_int_equal(view_chosen(&view)->conn->e.cwnd, 10);
	add("::1", 3, 15);
	add("::1", 4, 5);
	view_build(&view, &table);
	assert_int_equal(view_chosen(&view)->conn->e.cwnd, 10);
	assert_int_equal(view.cursor, 2);
	view_home(&view);
	add("::1", 5, 50);
	view_build(&view, &table);
	assert_int_equal(view_chosen(&view)->conn->e.cwnd, 50);
	view_move(&view, 100);
	assert_int_equal(view_chosen(&view)->conn->e.cwnd, 5);
	view_move(&view, -100);
	assert_int_equal(view.cursor, 0);
}

static void the_cursor_is_always_seen(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++)
		add("::1", 1, 100 - i);
	view_build(&view, &table);
	view_move(&view, 30);
	view_scroll(&view, 10);
	assert_int_equal(view.top, 21);
	view_move(&view, -5);
	view_scroll(&view, 10);
	assert_int_equal(view.top, 21);
	view_move(&view, -10);
	view_scroll(&view, 10);
	assert_int_equal(view.top, 15);
	view_move(&view, 100);
	view_scroll(&view, 10);
	assert_int_equal(view.top, 40);
	view_scroll(&view, 100);
	assert_int_equal(view.top, 0);
}

static void columns_that_were_asked_for(void **state)
{
	const struct cell_style style = {};
	struct column_choice choice;
	char cell[CELL_BYTES];
	struct top_layout l;

	(void)state;
	add("::1", 1, 20);
	view_build(&view, &table);
	assert_true(option_columns("--columns", "rate,remote,srtt,cwnd", &choice) == false);
	assert_true(option_columns("--columns", "rate,remote,rate,cwnd,bw_bps", &choice));
	choose(&l, 0, COL_RTT, &choice);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.place[0].column, COL_RATE);
	assert_int_equal(l.place[1].column, COL_REMOTE);
	assert_int_equal(l.place[2].column, COL_CWND);
	assert_int_equal(l.place[3].column, COL_BW);
	choose(&l, 40, COL_RTT, &choice); /* what has no room is left out */
	assert_int_equal(l.place[l.n - 1].x + l.place[l.n - 1].width, 5 + 1 + 21 + 1 + 4 + 1 + 5);
	assert_true(option_columns("--columns", "+process,sndbuf", &choice));
	choose(&l, 80, COL_RATE, &choice);
	assert_true(has(&l, COL_PROCESS) && has(&l, COL_SNDBUF) && has(&l, COL_REMOTE));
	choose(&l, 0, COL_RATE, NULL);
	assert_false(has(&l, COL_PROCESS)); /* it costs something */
	assert_false(has(&l, COL_SERVICE) || has(&l, COL_RWND)); /* no socket was read */
	strcpy(table.all[0]->service, "web");
	table.all[0]->rwnd_share = 0;
	choose(&l, 0, COL_RATE, NULL);
	assert_true(has(&l, COL_SERVICE) && has(&l, COL_RWND) && !has(&l, COL_SNDBUF));
	assert_false(has(&l, COL_MPTCP));
	table.all[0]->places = BBR_PLACE_MPTCP;
	table.all[0]->mptcp_token = 0xa1b2c3d4;
	table.all[0]->mptcp_local_id = 3;
	choose(&l, 0, COL_RATE, NULL);
	assert_true(has(&l, COL_MPTCP));
	cell_text(COL_MPTCP, cell, sizeof(cell), 12, &style, &view.rows[0]);
	assert_string_equal(cell, "a1b2c3d4/3");
	table.all[0]->places = BBR_PLACE_SOCKMAP;
	cell_text(COL_MPTCP, cell, sizeof(cell), 12, &style, &view.rows[0]);
	assert_string_equal(cell, "-");
	choose(&l, 80, COL_PROCESS, NULL);
	assert_true(has(&l, COL_PROCESS));
}

/* Rows that come and go, or are scrolled, leave the columns where they are. */
static void columns_stay(void **state)
{
	struct top_layout before;

	(void)state;
	add("::1", 1, 20);
	add(LONGEST, 1, 10);
	view_build(&view, &table);
	view.sort = COL_RATE;
	view_layout(&view, 140, view.rows, 2);
	before = view.layout;
	view_layout(&view, 140, view.rows, 1); /* the one with the long address is out of sight */
	assert_memory_equal(&view.layout, &before, sizeof(before));
	view_layout(&view, 140, view.rows, 0);
	assert_memory_equal(&view.layout, &before, sizeof(before));
	view_layout(&view, 141, view.rows, 0);
	assert_memory_not_equal(&view.layout, &before, sizeof(before));
}

static const char *cell_of(int row, enum column column)
{
	static char cell[CELL_BYTES];
	const struct cell_style style = {};
	struct top_layout l;

	choose(&l, 0, COL_CWND, NULL);
	for (int i = 0; i < l.n; i++) {
		if (l.place[i].column != column)
			continue;
		cell_format(cell, &l, i, &style, &view.rows[row]);
		return cell + strspn(cell, " ");
	}
	fail();
	return NULL;
}

static void groups_have_sums_and_means(void **state)
{
	(void)state;
	add("::ffff:10.0.0.1", 1, 20);
	add("::ffff:10.0.0.2", 1, 40);
	add("::ffff:10.0.1.2", 1, 50);
	add("::ffff:10.0.2.2", 1, 5);
	for (int i = 0; i < 4; i++) {
		table.all[i]->e.srtt_us = 1000 * (i + 1);
		table.all[i]->rwnd_share = i ? 0.25 * i : NAN;
		table.all[i]->lost = 7;
	}
	view_group_by(&view, BY_PREFIX);
	view.largest = 2;
	view_build(&view, &table);
	assert_int_equal(view.n, 3);
	assert_string_equal(cell_of(0, COL_GROUP), "10.0.0.0/24       "); /* 60 packets */
	assert_string_equal(cell_of(0, COL_CONNS), "2");
	assert_string_equal(cell_of(0, COL_RTT), "1.50");
	assert_string_equal(cell_of(0, COL_RWND), "25%"); /* one is not known */
	assert_string_equal(cell_of(0, COL_LOST_NOW), "14");
	assert_string_equal(cell_of(0, COL_RATE), "-");
	assert_string_equal(cell_of(2, COL_GROUP), "1 other           ");
	view.largest = 0;
	view.sort = COL_RTT;
	view.reverse = true;
	view_build(&view, &table);
	assert_string_equal(cell_of(1, COL_GROUP), "10.0.1.0/24       ");
	/* The cursor stays on its group; then its connections alone are shown. */
	view_move(&view, 1);
	view.reverse = false;
	view_build(&view, &table);
	assert_int_equal(view.cursor, 1);
	view_move(&view, 1);
	assert_string_equal(view_chosen(&view)->group->group.label, "10.0.0.0/24");
	view_enter(&view, view_chosen(&view)->group);
	view_build(&view, &table);
	assert_int_equal(view.n, 2);
	assert_int_equal(view.rows[0].conn->e.cwnd, 40);
	view_enter(&view, NULL);
	view_build(&view, &table);
	assert_int_equal(view.n, 3);
}

/* Until a socket is read, its service and process are not known. */
static void groups_of_what_only_events_told(void **state)
{
	(void)state;
	add("::1", 1, 20);
	view_group_by(&view, BY_CGROUP);
	view_build(&view, &table);
	assert_int_equal(view.n, 1);
	assert_string_equal(view.rows[0].group->group.label, "unknown");
}

/* One peak does not make all else flat; a rise is no peak. */
static void a_scale_leaves_out_peaks(void **state)
{
	float values[20], rise[20];

	(void)state;
	for (int i = 0; i < 20; i++) {
		values[i] = 10 + i % 3;
		rise[i] = i;
	}
	assert_float_equal(scale_top(values, 20), 12, 0.001);
	values[3] = 1000;
	assert_float_equal(scale_top(values, 20), 1.5 * 12, 0.001);
	assert_float_equal(scale_top(values, 5), 1000, 0.001);
	values[4] = NAN;
	assert_float_equal(scale_top(values, 20), 1.5 * 12, 0.001);
	assert_float_equal(scale_top(rise, 20), 19, 0.001);
	assert_float_equal(scale_top(values, 0), 0, 0);
}

static void a_sparkline_has_a_column_for_each_value(void **state)
{
	const float values[] = { 0, 1, 4, 8, NAN, 8 };
	char buf[64];

	(void)state;
	sparkline(buf, values, 6, 0, 8, true);
	assert_string_equal(buf, "▁▁▄█ █");
	sparkline(buf, values, 6, 0, 8, false);
	assert_string_equal(buf, "__-# #");
	sparkline(buf, values, 1, 0, 0, false);
	assert_string_equal(buf, "_");
	sparkline(buf, values, 4, 0, 4, true);
	assert_string_equal(buf, "▁▂█▲");
	sparkline(buf, values, 4, 0, 4, false);
	assert_string_equal(buf, "_.#^");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(numbers_have_three_digits),
		TEST(rtts_are_milliseconds),
		TEST(ages_have_five_columns),
		TEST(long_addresses_lose_groups_in_their_middle),
		TEST(names_hold_nothing_for_a_terminal),
		TEST(no_row_is_wider_than_the_screen),
		TEST(wider_screens_have_more_columns),
		TEST(numbers_are_sorted_from_the_highest),
		TEST(addresses_are_sorted_as_numbers),
		TEST(a_filter_is_that_of_all_verbs),
		TEST(a_wrong_filter_leaves_the_one_before),
		TEST(a_filter_knows_profiles),
		TEST(an_algorithm_says_which_columns_it_has),
		TEST(the_cursor_stays_on_its_connection),
		TEST(the_cursor_is_always_seen),
		TEST(columns_that_were_asked_for),
		TEST(columns_stay),
		TEST(groups_have_sums_and_means),
		TEST(groups_of_what_only_events_told),
		TEST(a_scale_leaves_out_peaks),
		TEST(a_sparkline_has_a_column_for_each_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
