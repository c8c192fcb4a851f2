// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order of a snapshot: keys of any algorithm, the common ones and the socket's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "made_up.h"
#include "snapshot/snapshot.h"

#define TEST(f) cmocka_unit_test(f)

/* An algorithm that has nothing of its own. */
static const struct algorithm bare = { .name = "bare" };

static struct origin origins[2] = { { .name = "b", .id = 1 },
				    { .name = "a", .id = 2, .algorithm = &bare } };

static struct kept_snapshot list[4];
static struct kept_snapshots kept = { .list = list, .n = 4 };

static int set_up(void **state)
{
	static const struct {
		int origin;
		__u32 bw, cwnd, send_q, rtt;
	} rows[] = {
		{ 0, 5 << 20, 30, 1, 7 },
		{ 1, 9 << 20, 10, 3, BBR_RTT_NONE },
		{ 0, 7 << 20, 20, 2, 5 },
		{ 0, 6 << 20, 20, 0, 9 },
	};

	(void)state;
	origins[0].algorithm = algorithm_find("bbr");
	for (size_t i = 0; i < kept.n; i++) {
		list[i] = (struct kept_snapshot){ .origin = &origins[rows[i].origin] };
		list[i].state.send_q = rows[i].send_q;
		list[i].state.event = (struct bbr_event){ .size = sizeof(struct bbr_event),
							  .kind = BBR_EV_STATE,
							  .mss = 1000,
							  .bw = rows[i].bw,
							  .cwnd = rows[i].cwnd,
							  .rtt_us = rows[i].rtt };
	}
	return 0;
}

static void check_order(const char *keys, bool reverse, const char *expected)
{
	struct sort_order order = { .reverse = reverse };
	char digits[5] = "";
	__u32 *sorted;

	assert_true(sort_parse(&order, keys, NULL));
	sorted = kept_sort(&kept, &order);
	assert_non_null(sorted);
	for (size_t i = 0; i < kept.n; i++)
		digits[i] = '0' + sorted[i];
	free(sorted);
	assert_string_equal(digits, expected);
}

static void by_common_and_socket_keys(void **state)
{
	(void)state;
	check_order("cwnd", false, "1230"); /* equal ones as they came */
	check_order("-cwnd", false, "0231");
	check_order("cwnd,send-q", false, "1320");
	check_order("send_q_bytes", true, "1203");
	check_order("instance", false, "1023");
}

static void what_is_not_known_comes_last(void **state)
{
	(void)state;
	check_order("rtt_us", false, "2031");
	check_order("-rtt_us", false, "3021");
	check_order("bw_bps", false, "0321"); /* a key that one algorithm lacks */
	check_order("-bw_bps", false, "2301");
	check_order("bw_bps", true, "2301");
	check_order("seq", false, "0123");
}

static void other_keys_are_refused(void **state)
{
	struct sort_order order = {};

	(void)state;
	assert_false(sort_parse(&order, "bw", NULL));
	assert_false(sort_parse(&order, "cwnd,", NULL));
	assert_false(sort_parse(&order, "bw_bpss", NULL));
}

/* A key that only a recording knows, of connections of which one has it. */
static void by_a_key_of_a_recording(void **state)
{
	const struct known known = { "made up", describe_made_up };
	struct sort_order order = {};
	__u32 *sorted;

	(void)state;
	for (int i = 1; i < 3; i++) {
		list[i].origin = &made_up_origin;
		list[i].state.event = made_up_event(i, RUN, 10 - i, 0);
	}
	assert_true(sort_parse(&order, "stamina", &known));
	sorted = kept_sort(&kept, &order);
	assert_int_equal(sorted[0], 2);
	assert_int_equal(sorted[1], 1);
	free(sorted);
	assert_false(sort_parse(&order, "staminas", &known));
	assert_false(sort_parse(&order, "stamina", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_common_and_socket_keys),
		TEST(what_is_not_known_comes_last),
		TEST(other_keys_are_refused),
		TEST(by_a_key_of_a_recording),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
