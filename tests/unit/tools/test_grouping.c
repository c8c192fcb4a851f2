// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of connections: their labels, how many there are, and what a summary shows of them.
 */
#define _GNU_SOURCE /* open_memstream() */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "kernel/clock.h"
#include "made_up.h"
#include "snapshot/snapshot.h"

#define TEST(f) cmocka_unit_test(f)

static void services(void **state)
{
	static const struct {
		const char *path, *service;
	} of[] = {
		{ "/", "/" },
		{ "", "/" },
		{ "/system.slice/nginx.service", "nginx" },
		{ "/system.slice/a.service/payload/x", "a" },
		{ "/user.slice/user-0.slice/user@0.service/app.slice/b.scope", "b" },
		{ "/kubepods.slice/pod1.slice/cri-0123.scope", "cri-0123" },
		{ "/mine/web", "web" },
		{ "/.service", ".service" },
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		service_of(buf, sizeof(buf), of[i].path);
		assert_string_equal(buf, of[i].service);
	}
	service_of(buf, 4, "/system.slice/nginx.service"); /* cut, with its end */
	assert_string_equal(buf, "ngi");
}

static void check_label(struct grouping *g, const struct group_member *m, const char *expected)
{
	char label[GROUP_LABEL_LEN];

	group_label(label, g, m);
	assert_string_equal(label, expected);
}

static void labels(void **state)
{
	struct owner list[] = { { 5, 10, 3, "web" }, { 5, 11, 3, "web" }, { 7, 12, 4, "x" } };
	const __u32 v4[4] = { 0, 0, htonl(0xffff), htonl(0x0a010203) };
	const __u32 v6[4] = { htonl(0xfd000001), htonl(2), htonl(3), htonl(4) };
	struct group_member m = { .raddr = v4, .inode = 5, .netns = 42, .is_recorded = true };
	struct grouping g = { .by = BY_PROCESS, .owners = { list, 3 } };

	(void)state;
	check_label(&g, &m, "web[10]"); /* the first that has it open */
	g.has_no_pids = true;
	check_label(&g, &m, "web");
	m.inode = 6;
	check_label(&g, &m, "no process");
	m.inode = 0;
	check_label(&g, &m, "no process");
	g.by = BY_PREFIX;
	check_label(&g, &m, "10.1.2.0/24");
	m.raddr = v6;
	check_label(&g, &m, "fd00:1:0:2::/64");
	g.by = BY_NETNS;
	check_label(&g, &m, "42");
	m.is_recorded = false;
	check_label(&g, &m, "42"); /* no namespace has this number */
	g.by = BY_CGROUP;
	m.cgroup = ~0ull;
	check_label(&g, &m, "unreachable:ffffffffffffffff");
	g.owners = (struct owners){};
	grouping_free(&g);
}

static void options(void **state)
{
	enum group_by by = BY_NONE;
	__u64 largest = 0;

	(void)state;
	assert_true(option_group_by("--by", "netns", &by));
	assert_int_equal(by, BY_NETNS);
	assert_false(option_group_by("--by", "", &by));
	assert_false(option_group_by("--by", "host", &by));
	assert_true(option_largest("--largest", "1000", &largest));
	assert_int_equal(largest, 1000);
	assert_false(option_largest("--largest", "1001", &largest));
	assert_false(option_largest("--largest", "0", &largest));
}

/* ---- summaries */

static char *text;

static int tear_down(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

/* Connection n of the prefix 10.0.n.0/24 has sent n * 1000 bytes, and so on. */
static void add(struct summary *s, __u8 n, bool is_recorded)
{
	struct bbr_snapshot state = { .event = made_up_event(n, WALK, 0, 0),
				      .busy_ticks = 100 * n,
				      .rwnd_ticks = 50 * n,
				      .sndbuf_ticks = n };
	const struct snapshot c = { &made_up_origin, &state, is_recorded };

	state.event.raddr[3] = htonl(0x0a000001 | n << 8);
	state.event.bytes_sent = 1000 * n;
	state.event.bytes_retrans = 500;
	summary_add(s, &c);
}

static char *print(struct summary *s, bool json)
{
	size_t size;
	FILE *out = open_memstream(&text, &size);

	summary_print(out, s, json);
	fclose(out);
	summary_free(s);
	return text;
}

static void groups_are_bounded_and_sorted(void **state)
{
	struct summary s = { .grouping.by = BY_PREFIX, .largest = 2 };
	unsigned long long us = us_of_ticks(100);
	char line[256];

	(void)state;
	assert_true(summary_sort(&s, "-bytes_sent"));
	for (int n = 1; n <= 5; n++)
		add(&s, n, false);
	add(&s, 4, false);
	print(&s, true);
	/* 4 has 8000 bytes, 5 has 5000, the others 1000 + 2000 + 3000. */
	assert_non_null(
		strstr(text, "\"prefix\":\"10.0.4.0/24\",\"others\":null,\"connections\":2,"));
	assert_true(strstr(text, "10.0.4.0") < strstr(text, "10.0.5.0"));
	snprintf(line, sizeof(line),
		 "\"bytes_sent\":6000,\"bytes_acked\":0,\"bytes_retrans\":1500,\"busy_us\":%llu,",
		 6 * us);
	assert_non_null(strstr(text, "{\"by\":\"prefix\",\"prefix\":null,\"others\":3,"));
	assert_non_null(strstr(text, line));
}

static void groups_as_text(void **state)
{
	struct summary s = { .grouping.by = BY_PREFIX, .largest = 1, .ascending = true };

	(void)state;
	assert_true(summary_sort(&s, "bytes_sent"));
	for (int n = 1; n <= 2; n++)
		add(&s, n, false);
	print(&s, false);
	assert_string_equal(
		text,
		"Connections  Sum-of-bw Inflight     Bytes-sent Retrans   Rwnd Sndbuf Prefix\n"
		"          1   7.81Mbps       10           1000   50.0%  50.0%   1.0% 10.0.1.0/24\n"
		"          1   7.81Mbps       10           2000   25.0%  50.0%   1.0% 1 other\n");
}

/* A recording does not know how long a connection was limited. */
static void groups_of_a_recording(void **state)
{
	struct summary s = { .grouping.by = BY_NETNS };

	(void)state;
	add(&s, 0, true);
	print(&s, true);
	assert_non_null(strstr(text, "\"netns\":\"1\""));
	assert_non_null(strstr(text, "\"busy_us\":null,\"rwnd_limited_us\":null"));
}

static void a_key_that_groups_do_not_have(void **state)
{
	struct summary s = {};

	(void)state;
	assert_false(summary_sort(&s, "cwnd"));
	assert_false(summary_sort(&s, ""));
	assert_true(summary_sort(&s, "connections"));
	assert_true(s.ascending);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(services),
		TEST(labels),
		TEST(options),
		cmocka_unit_test_teardown(groups_are_bounded_and_sorted, tear_down),
		cmocka_unit_test_teardown(groups_as_text, tear_down),
		cmocka_unit_test_teardown(groups_of_a_recording, tear_down),
		TEST(a_key_that_groups_do_not_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
