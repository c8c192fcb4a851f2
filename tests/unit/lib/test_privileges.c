/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a verb and its options need, by a table, and that what is missing is named. The test runs
 * without any capability, so nobody needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/err.h"
#include "cli/privileges.h"

static const struct privileges_change changes[] = {
	{ "more", .more = CAP(SYS_PTRACE) | CAP(CHOWN) },
	{ "here", .spares = CAP(SYS_PTRACE) },
	{ "read", .spares = PRIVILEGES_ALL, .may = CAP(DAC_READ_SEARCH) },
	{ "none", .spares = PRIVILEGES_ALL },
	{},
};
static const struct privileges watch = NEEDS(CAP(SYS_ADMIN) | CAP(SYS_PTRACE), .changes = changes);
static const struct privileges draw = NEEDS(0, .may = CAP(KILL), .changes = changes);
static const struct privileges much =
	NEEDS(CAP(CHOWN) | CAP(KILL) | CAP(SYS_PTRACE) | CAP(SYS_ADMIN), .may = CAP(NET_ADMIN));
static const struct privileges nothing = NEEDS(0);

/* Takes what a verb needs with these options; *text is what it prints. */
static int take(const struct privileges *verb, const char *const *options, char **text)
{
	FILE *real = stderr;
	size_t len;
	int status;

	stderr = open_memstream(text, &len);
	privileges_begin("verb", verb);
	for (; options && *options; options++)
		privileges_add_option(*options);
	status = privileges_take();
	fclose(stderr);
	stderr = real;
	return status;
}

static void expect_missing(const struct privileges *verb, const char *const *options,
			   const char *missing)
{
	char expected[512], *text;

	snprintf(expected, sizeof(expected),
		 "tool: verb: missing %s\n"
		 "  run it as root, or give it only %s, with setcap(8) or systemd's "
		 "AmbientCapabilities=\n",
		 missing, missing);
	assert_int_equal(take(verb, options, &text), EXIT_REFUSED);
	assert_string_equal(text, expected);
	free(text);
}

static void expect_none_missing(const struct privileges *verb, const char *const *options)
{
	char *text;

	assert_int_equal(take(verb, options, &text), EXIT_DONE);
	assert_string_equal(text, "");
	free(text);
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_what_is_missing(void **state)
{
	(void)state;
	expect_missing(&watch, NULL, "CAP_SYS_PTRACE, CAP_SYS_ADMIN");
	expect_missing(&watch, OPTIONS("other"), "CAP_SYS_PTRACE, CAP_SYS_ADMIN");
	expect_missing(&watch, OPTIONS("here"), "CAP_SYS_ADMIN");
	/* An option does not spare what another option needs. */
	expect_missing(&watch, OPTIONS("here", "more"), "CAP_CHOWN, CAP_SYS_PTRACE, CAP_SYS_ADMIN");
}

static void test_nothing_is_needed(void **state)
{
	(void)state;
	expect_none_missing(&draw, NULL);
	expect_none_missing(&draw, OPTIONS("other"));
	expect_none_missing(&watch, OPTIONS("read"));
	expect_none_missing(&watch, OPTIONS("more", "none"));
	expect_none_missing(&nothing, NULL);
}

static void expect_help(const struct privileges *verb, const char *option, const char *expected)
{
	FILE *real = stdout;
	char *text;
	size_t len;

	stdout = open_memstream(&text, &len);
	if (option)
		privileges_print_option(verb, option);
	else
		privileges_print(verb);
	fclose(stdout);
	stdout = real;
	assert_string_equal(text, expected);
	free(text);
}

static void test_help(void **state)
{
	(void)state;
	expect_help(&watch, NULL, "\nNeeds CAP_SYS_PTRACE, CAP_SYS_ADMIN; gives up all others.\n");
	expect_help(&draw, NULL,
		    "\nNeeds no capabilities and uses, if it has them, CAP_KILL; gives up all "
		    "others.\n");
	expect_help(&much, NULL,
		    "\nNeeds CAP_CHOWN, CAP_KILL, CAP_SYS_PTRACE, CAP_SYS_ADMIN and uses, if it "
		    "has\n"
		    "them, CAP_NET_ADMIN; gives up all others.\n");
	expect_help(&nothing, NULL, "\nNeeds no capabilities; gives up all others.\n");
	expect_help(&watch, "more", "With --more it needs CAP_CHOWN as well.\n");
	expect_help(&draw, "other", "");
	expect_help(&draw, "here", "With --here it needs no CAP_SYS_PTRACE.\n");
	expect_help(&draw, "read",
		    "With --read it needs none, and uses, if it has them, CAP_DAC_READ_SEARCH.\n");
	expect_help(&draw, "none", "With --none it needs none.\n");
}

/* What a process without privileges says and how it ends, as this one tells it. */
static int look_aside(int (*look)(void *ctx), char **text)
{
	FILE *real = stderr;
	size_t len;
	int status;

	stderr = open_memstream(text, &len);
	status = privileges_aside("FILE", 0, look, NULL);
	fclose(stderr);
	stderr = real;
	return status;
}

static int finds_nothing(void *ctx)
{
	(void)ctx;
	err("nothing");
	return EXIT_NOTHING;
}

static int has_no_memory(void *ctx)
{
	(void)ctx;
	mem_check(false);
	return EXIT_DONE;
}

static int dies(void *ctx)
{
	(void)ctx;
	err("begins");
	_exit(EXIT_REFUSED); /* as a sanitizer does */
}

static void test_looking_aside(void **state)
{
	static const struct {
		int (*look)(void *ctx);
		int status;
		const char *text;
	} cases[] = {
		{ finds_nothing, EXIT_NOTHING, "tool: nothing\n" },
		{ has_no_memory, EXIT_REFUSED, "tool: out of memory\n" },
		{ dies, EXIT_REFUSED,
		  "tool: begins\ntool: FILE: cannot be read: the process without privileges that "
		  "looked at it died: it ended early\n  the file is damaged, or made to do "
		  "harm\n" },
	};
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(look_aside(cases[i].look, &text), cases[i].status);
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

static int give_up_all(void **state)
{
	(void)state;
	err_init("tool", false);
	privileges_narrow(0);
	return caps_of_process(CAP_PERMITTED) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_missing),
		cmocka_unit_test(test_nothing_is_needed),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_looking_aside),
	};

	return cmocka_run_group_tests_name("privileges", tests, give_up_all, NULL);
}
