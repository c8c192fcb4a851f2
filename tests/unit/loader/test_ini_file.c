/* SPDX-License-Identifier: GPL-2.0-only */
/* INI files as bbrctl reads them: what is passed on, and at which line a mistake is. */
#include "fixture.h"

#include "tuning/ini_file.h"

static char seen[4096];
static const char *refused; /* a key that the reader does not want */

static int section(void *user, const char *name)
{
	(void)user;
	strcat(strcat(strcat(seen, "["), name), "]");
	return EXIT_DONE;
}

static int pair(void *user, const char *in, const char *key, const char *value)
{
	(void)user;
	if (refused && !strcmp(key, refused)) {
		err("%s: not wanted", key);
		return EXIT_REFUSED;
	}
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s:%s=%s;", in, key, value);
	return EXIT_DONE;
}

static int read_text(const char *text)
{
	static const struct ini_reader_ops ops = { section, pair };
	FILE *f = file_of(text);
	int ret;

	seen[0] = 0;
	ret = ini_file_read(f, "the file", &ops, NULL);
	fclose(f);
	return ret;
}

static void sections_and_pairs_are_passed_on(void **state)
{
	(void)state;
	assert_int_equal(
		read_text(
			"head = 1\n; a comment\n[one]\na = b c \n\n[none]\n[two] ; why\n  x=1,2\n"),
		EXIT_DONE);
	assert_string_equal(seen, ":head=1;[one]one:a=b c;[none][two]two:x=1,2;");
}

static void a_byte_order_mark_and_no_last_newline_do_not_matter(void **state)
{
	(void)state;
	assert_int_equal(read_text("\xef\xbb\xbf[one]\na=1"), EXIT_DONE);
	assert_string_equal(seen, "[one]one:a=1;");
	assert_int_equal(read_text(""), EXIT_DONE);
	assert_string_equal(seen, "");
}

static void what_is_neither_is_refused(void **state)
{
	static const char *const wrong[] = { "[one\n", "[]\n", "[one] two\n", "[one]\nword\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (read_text(wrong[i]) != EXIT_USAGE)
			fail_msg("taken: %s", wrong[i]);
}

static void what_the_reader_returns_is_returned(void **state)
{
	(void)state;
	refused = "b";
	assert_int_equal(read_text("[one]\na=1\nb=2\nc=3\n"), EXIT_REFUSED);
	assert_string_equal(seen, "[one]one:a=1;");
	refused = NULL;
}

static void lines_have_an_end(void **state)
{
	static char text[20000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "[one]\nkey=", 10);
	assert_int_equal(read_text(text), EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_and_pairs_are_passed_on),
		cmocka_unit_test(a_byte_order_mark_and_no_last_newline_do_not_matter),
		cmocka_unit_test(what_is_neither_is_refused),
		cmocka_unit_test(what_the_reader_returns_is_returned),
		cmocka_unit_test(lines_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
