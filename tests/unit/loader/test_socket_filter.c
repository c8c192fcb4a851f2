/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sockets a migration is about. */
#include <arpa/inet.h>

#include "fixture.h"
#include "tuning/rule_text.h"

static void nothing_asked_is_any_socket(void **state)
{
	static const struct migrate_config any;
	const struct socket_filter filter = {};
	struct migrate_config config = {};

	(void)state;
	assert_int_equal(socket_filter_parse(&filter, &config), EXIT_DONE);
	assert_memory_equal(&config, &any, sizeof(any));
}

static void all_that_is_asked_is_there(void **state)
{
	const struct socket_filter filter = {
		.dst = "10.1.2.3/8", .dport = "443", .sport = "80", .mark = "0"
	};
	struct migrate_config config = {};

	(void)state;
	assert_int_equal(socket_filter_parse(&filter, &config), EXIT_DONE);
	assert_int_equal(config.raddr[2], htonl(0xffff));
	assert_int_equal(config.raddr[3], htonl(0x0a000000));
	assert_int_equal(config.rmask[3], htonl(0xff000000));
	assert_int_equal(config.rport, htons(443));
	assert_int_equal(config.lport, htons(80));
	assert_int_equal(config.has_mark, 1); /* 0 is a mark, too */
	assert_int_equal(config.mark, 0);
}

static void mistakes_are_refused(void **state)
{
	static const struct socket_filter wrong[] = {
		{ .dst = "10.0.0.0/33" }, { .dst = "" },	{ .dport = "0" },
		{ .dport = "http" },	  { .sport = "65536" }, { .mark = "-1" },
		{ .mark = "4294967296" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct migrate_config config = {};

		assert_int_equal(socket_filter_parse(&wrong[i], &config), EXIT_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_asked_is_any_socket),
		cmocka_unit_test(all_that_is_asked_is_there),
		cmocka_unit_test(mistakes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
