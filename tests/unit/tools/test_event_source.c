// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which connections a command line asks for: options are short forms of conditions, and the BPF
 * program gets those that it can check.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "cli/err.h"
#include "stream/event_source.h"

static struct watch_config config;

static int set_up(void **state)
{
	(void)state;
	memset(&config, 0, sizeof(config));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	watch_config_free(&config);
	free(config.names.arg); /* in a tool, the option parser does this */
	return 0;
}

static bool give(const char *name, const char *value)
{
	const struct option_def *d = connection_options;

	while (strcmp(d->name, name))
		d++;
	return d->parse(name, value, (char *)&config + d->member);
}

static int filter(const char *text)
{
	char *words[] = { (char *)text };

	return watch_filter(&config, *text ? 1 : 0, words);
}

/* An IPv4 connection from 10.0.0.1:5000 to 10.0.0.2:443. */
static bool matches(const char *name, __u16 lport)
{
	struct origin origin = { .algorithm = algorithm_find("bbr") };
	struct bbr_event e = {
		.family = AF_INET,
		.laddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.raddr = { 0, 0, htonl(0xffff), htonl(0x0a000002) },
		.lport = htons(lport),
		.rport = htons(443),
		.cwnd = 10,
	};

	strcpy(origin.name, name);
	return is_wanted(&config, &origin, &e);
}

static void nothing_given_is_all(void **state)
{
	static const struct bbr_filter all;

	(void)state;
	assert_int_equal(filter(""), -1);
	assert_null(config.filter);
	assert_false(config.has_rest);
	assert_memory_equal(&config.request.filter, &all, sizeof(all));
	assert_true(matches("any", 1));
}

static void options_are_conditions_that_the_program_does(void **state)
{
	const struct bbr_filter *k = &config.request.filter;

	(void)state;
	assert_true(give("remote", "10.0.0.0/8") && give("local", "10.0.0.1"));
	assert_true(give("rport", "443") && give("lport", "5000"));
	assert_int_equal(filter(""), -1);
	assert_false(config.has_rest);
	assert_int_equal(k->raddr[3], htonl(0x0a000000));
	assert_int_equal(k->rmask[3], htonl(0xff000000));
	assert_int_equal(k->laddr[3], htonl(0x0a000001));
	assert_int_equal(k->lmask[3], 0xffffffff);
	assert_int_equal(k->rport, htons(443));
	assert_int_equal(k->lport, htons(5000));
	/* And elsewhere, in a recording, they say the same. */
	assert_true(matches("any", 5000));
	assert_false(matches("any", 5001));
}

/* IPv6 contains IPv4: only the prefix counts, so the program checks all of it. */
static void a_remote_of_ipv6_is_left_to_the_program(void **state)
{
	(void)state;
	assert_true(give("remote", "::ffff:10.0.0.0/104"));
	assert_int_equal(filter(""), -1);
	assert_false(config.has_rest);
	assert_true(matches("any", 1));
}

/* Instances are chosen before there are events from them. */
static void any_of_the_names(void **state)
{
	(void)state;
	assert_true(give("name", "a") && give("name", "b") && give("name", "c"));
	assert_int_equal(filter(""), -1);
	assert_false(config.has_rest);
	assert_true(matches("a", 1) && matches("b", 1) && matches("c", 1));
	assert_false(matches("d", 1) || matches("", 1));
}

static void options_and_expression_must_both_match(void **state)
{
	(void)state;
	assert_true(give("lport", "1") && give("name", "a") && give("name", "b"));
	assert_int_equal(filter("cwnd > 20 or dport = 443"), -1);
	assert_true(config.has_rest);
	assert_int_equal(config.request.filter.lport, htons(1));
	assert_int_equal(config.request.filter.rport, 0);
	assert_true(matches("a", 1) && matches("b", 1));
	assert_false(matches("a", 2) || matches("c", 1));
}

static void an_expression_that_says_otherwise_matches_nothing(void **state)
{
	(void)state;
	assert_true(give("lport", "1"));
	assert_int_equal(filter("sport = 2"), -1);
	assert_true(config.has_rest);
	assert_false(matches("any", 1) || matches("any", 2));
}

static void wrong_values_are_refused(void **state)
{
	(void)state;
	assert_false(give("remote", "300.1.1.1") || give("local", "x"));
	assert_false(give("rport", "0") || give("lport", "65536"));
	assert_int_equal(filter("cwnd >"), EXIT_USAGE);
}

static void too_many_names_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < FILTER_NODES; i++)
		assert_true(give("name", "a"));
	assert_int_equal(filter(""), EXIT_USAGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(nothing_given_is_all),
		TEST(options_are_conditions_that_the_program_does),
		TEST(a_remote_of_ipv6_is_left_to_the_program),
		TEST(any_of_the_names),
		TEST(options_and_expression_must_both_match),
		TEST(an_expression_that_says_otherwise_matches_nothing),
		TEST(wrong_values_are_refused),
		TEST(too_many_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
