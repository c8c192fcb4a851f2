/* SPDX-License-Identifier: GPL-2.0-only */
/* Names that others chose: what is printed of them, and that it can be read back. */
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
#include "../capture.h"
#include "cli/text.h"

static void what_can_be_printed_stays(void **state)
{
	static const char *const plain[] = {
		"/system.slice/x.service",
		"/system.slice/dev-disk-by\\x2dlabel.swap",
		"/a b/c;d#e=f[g]'h'",
		"/a\"b",
		"/f\xc3\xbcr/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x90\xa7",
		"#",
		"a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_ptr_equal(text_shown(plain[i]), plain[i]);
}

static void anything_else_is_quoted(void **state)
{
	static const char *const texts[][2] = {
		{ "", "\"\"" },
		{ "/a ", "\"/a \"" },
		{ " a", "\" a\"" },
		{ "\"a\"", "\"\\\"a\\\"\"" },
		{ "/a ;b", "\"/a \\x3bb\"" },
		{ ";", "\"\\x3b\"" },
		{ "/a\x1b[2J\\", "\"/a\\x1b[2J\\\\\"" },
		{ "/a\xff\xc3\xbc", "\"/a\\xff\xc3\xbc\"" },
		{ "a\nb\tc\rd\x7f", "\"a\\x0ab\\x09c\\x0dd\\x7f\"" },
		{ "\xc2\x9b", "\"\\xc2\\x9b\"" }, /* the CSI of eight bits */
		{ "\xe2\x80\xae", "\"\\xe2\\x80\\xae\"" }, /* from right to left */
		{ "a\xe2\x80\xa8z", "\"a\\xe2\\x80\\xa8z\"" }, /* U+2028, another end of line */
		{ "a\xc2\xa0z", "\"a\\xc2\\xa0z\"" }, /* U+00A0, another blank */
		{ "a\xe3\x85\xa4z", "\"a\\xe3\\x85\\xa4z\"" }, /* U+3164, a letter without ink */
		{ "a\xf3\xa0\x81\x81z", "\"a\\xf3\\xa0\\x81\\x81z\"" }, /* U+E0041, a tag */
		{ "\xc0\xaf", "\"\\xc0\\xaf\"" }, /* an overlong / */
		{ "\xed\xa0\x80", "\"\\xed\\xa0\\x80\"" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\"" }, /* above U+10FFFF */
		{ "\xe6\x97", "\"\\xe6\\x97\"" }, /* cut off */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_string_equal(text_shown(texts[i][0]), texts[i][1]);
}

static void four_results_live_at_once(void **state)
{
	const char *first = text_shown(" a"), *second = text_shown(" b"), *third = text_shown(" c");

	(void)state;
	assert_string_equal(text_shown(" d"), "\" d\"");
	assert_string_equal(first, "\" a\"");
	assert_string_equal(second, "\" b\"");
	assert_string_equal(third, "\" c\"");
}

/* Bytes that are special somewhere come more often. */
static void make_name(unsigned int *seed, char *name, size_t most)
{
	static const char special[] = " \";\\#=[]'x\x1b\xff\xc3\xbc\n\t";
	size_t len = rand_r(seed) % most;

	for (size_t i = 0; i < len; i++)
		name[i] = rand_r(seed) % 2 ? special[rand_r(seed) % (sizeof(special) - 1)] :
					     1 + rand_r(seed) % 255;
	name[len] = 0;
}

static void whatever_is_shown_is_read_back(void **state)
{
	static char name[256], quoted[TEXT_QUOTED_LEN(256)];
	unsigned int seed = 44;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		make_name(&seed, name, sizeof(name));
		snprintf(quoted, sizeof(quoted), "%s", text_shown(name));
		assert_true(text_is_utf8(quoted));
		for (const char *c = quoted; *c; c++)
			assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
		assert_null(strstr(quoted, " ;"));
		assert_null(text_unquote(quoted));
		assert_string_equal(quoted, name);
		/* In quotes, whatever it is. */
		assert_true(text_quote(quoted, sizeof(quoted), name) >= strlen(name) + 2);
		assert_null(text_unquote(quoted));
		assert_string_equal(quoted, name);
	}
}

#define NAMES 3000

/* As words of a command that is wrapped at 40 characters, so that lines end between them. */
static void a_shell_takes_a_name_as_one_word(void **state)
{
	static char names[NAMES][64], command[512];
	char script[] = "/tmp/test_text_XXXXXX", run[64], *said = NULL;
	unsigned int seed = 44;
	size_t size = 0;
	FILE *f;

	(void)state;
	f = fdopen(mkstemp(script), "w");
	capture_begin();
	for (int i = 0; i < NAMES; i++) {
		make_name(&seed, names[i], sizeof(names[i]));
		snprintf(command, sizeof(command), "printf '%%s\\0' %s", text_shell_word(names[i]));
		text_print_wrapped(stdout, command, 0, 2, 40, true);
	}
	capture_end();
	fputs(captured_output(), f);
	fclose(f);
	capture_free();
	snprintf(run, sizeof(run), "LC_ALL=C bash %s", script);
	f = popen(run, "r");
	for (int i = 0; i < NAMES; i++) {
		assert_true(getdelim(&said, &size, 0, f) > 0);
		assert_string_equal(said, names[i]);
	}
	assert_int_equal(pclose(f), 0);
	free(said);
	unlink(script);
}

static void what_does_not_fit_is_cut(void **state)
{
	char small[16];

	(void)state;
	for (size_t size = 3; size <= sizeof(small); size++) {
		memset(small, 'x', sizeof(small));
		assert_true(text_quote(small, size, "\xff\xff\xff\xff\xff\xff") < size);
		assert_null(text_unquote(small));
	}
	assert_int_equal(text_quote(small, 2, "a"), 0);
}

static void wrong_quotes_are_refused(void **state)
{
	static const char *const wrong[] = {
		"\"",	     "\"a",	 "\"a\" b",   "\"a\\\"",    "\"\\n\"",	 "\"\\x\"",
		"\"\\xg0\"", "\"\\x0\"", "\"\\x00\"", "\"a\"\"b\"", "\"\\x 1\"",
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "%s", wrong[i]);
		if (!text_unquote(text))
			fail_msg("taken: %s", wrong[i]);
	}
}

static void no_control_character_of_a_message_is_printed(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	err_init("tool", false);
	err_to(out);
	err("%s: not f\xc3\xbcr", "a\x1b]0;title\x07\nb\xff\xc2\x9b");
	remedy("%s", "c\rd");
	err("%s: no\n%s", "e\nf", "g");
	err_to(NULL);
	fclose(out);
	assert_string_equal(text, "tool: a\\x1b]0;title\\x07\\x0ab\\xff\\xc2\\x9b: not f\xc3\xbcr\n"
				  "  c\\x0dd\n"
				  "tool: e\\x0af: no\n"
				  "  g\n");
	free(text);
}

static void expect_wrapped(const char *text, bool is_command, const char *expected)
{
	capture_begin();
	fputs("  ", stdout);
	text_print_wrapped(stdout, text, 2, 4, 20, is_command);
	capture_end();
	assert_string_equal(captured_output(), expected);
}

/* Only a command has quotes: elsewhere it is an apostrophe. */
static void words_are_wrapped(void **state)
{
	(void)state;
	expect_wrapped("one two", false, "  one two\n");
	expect_wrapped("the machine's default is another", false,
		       "  the machine's\n    default is\n    another\n");
	expect_wrapped("a_word_of_more_than_twenty columns", false,
		       "  a_word_of_more_than_twenty\n    columns\n");
	expect_wrapped("sysctl -w key='4096 16384 8388608' now", true,
		       "  sysctl -w \\\n    key='4096 16384 8388608' \\\n    now\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_printed_stays),
		cmocka_unit_test(anything_else_is_quoted),
		cmocka_unit_test(four_results_live_at_once),
		cmocka_unit_test(a_shell_takes_a_name_as_one_word),
		cmocka_unit_test(whatever_is_shown_is_read_back),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(wrong_quotes_are_refused),
		cmocka_unit_test(no_control_character_of_a_message_is_printed),
		cmocka_unit_test(words_are_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
