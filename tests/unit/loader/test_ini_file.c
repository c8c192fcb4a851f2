/* SPDX-License-Identifier: GPL-2.0-only */
/* INI files as bbrctl reads them: what is passed on, and at which line a mistake is. */
#include <stdlib.h>

#include "fixture.h"

#include "cli/text.h"
#include "tuning/ini_file.h"

#include "../capture.h"

static bool is_quoted; /* values may be in quotes */
static char seen[8192];
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
	if (is_quoted && text_unquote((char *)value))
		return EXIT_REFUSED;
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s:%s=%s;", in, key, value);
	return EXIT_DONE;
}

static int read_text(const char *text)
{
	static const char *const lists[] = { "rule", NULL };
	static const struct ini_reader_ops ops = { section, pair, lists };
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
	assert_int_equal(read_text("\xef\xbb\xbf \t[one]\na=1"), EXIT_DONE);
	assert_string_equal(seen, "[one]one:a=1;");
	assert_int_equal(read_text(""), EXIT_DONE);
	assert_string_equal(seen, "");
}

static void a_key_is_there_once(void **state)
{
	(void)state;
	assert_int_equal(read_text("ab=1\n[one]\nab=1\na=1\nb=1\nabc=1\n[two]\na=2\n"), EXIT_DONE);
	assert_int_equal(read_text("[one]\nrule=1\nrule = 2\na=1\nrule=1\n"), EXIT_DONE);
	assert_int_equal(read_text("[one]\na=1\nb=1\n a : 1\n"), EXIT_USAGE);
	assert_string_equal(seen, "[one]one:a=1;one:b=1;one:a=1;");
	assert_int_equal(read_text("a=1\na=2\n"), EXIT_USAGE);
}

static void what_is_neither_is_refused(void **state)
{
	static const char *const wrong[] = { "[one\n",
					     "[]\n",
					     "[one] two\n",
					     "[one]\nword\n",
					     "\xef\xbb\xbf\xef\xbb\xbf[one]\na=1\n",
					     "[one]\na =; why?\n",
					     "\xef\xbb\xbf\xef\xbb\xbf[one]\na=1\n" };

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

static void only_the_blank_before_it_makes_a_comment(void **state)
{
	(void)state;
	assert_int_equal(
		read_text("[one] # why\r\na = b;c#d ; why\r\n\t# why\nc: d=e:f\ng = ; why\n"
			  "h=\xc3\xbc\t;\n[two];\nlast=1"),
		EXIT_DONE);
	assert_string_equal(seen,
			    "[one]one:a=b;c#d;one:c=d=e:f;one:g=;one:h=\xc3\xbc;[two]two:last=1;");
}

/* Of any cgroup, below any other. */
static void a_name_of_any_length_and_bytes_is_read_back(void **state)
{
	static char name[4096], text[TEXT_QUOTED_LEN(4096) + 16];
	unsigned int seed = 44;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t len = i < 2000 ? 1 + rand_r(&seed) % 300 : 4095;

		for (size_t k = 0; k < len; k++)
			name[k] = rand_r(&seed) % 2 ? " \"\\;#=[]:\t\n\r"[rand_r(&seed) % 12] :
						      1 + rand_r(&seed) % 255;
		name[len] = 0;
		snprintf(text, sizeof(text), "[one]\na = %s\nb = 2\n", text_shown(name));
		is_quoted = true;
		assert_int_equal(read_text(text), EXIT_DONE);
		is_quoted = false;
		assert_memory_equal(seen, "[one]one:a=", 11);
		assert_memory_equal(seen + 11, name, len);
		assert_string_equal(seen + 11 + len, ";one:b=2;");
	}
}

static void the_line_of_a_mistake_is_named(void **state)
{
	static const struct {
		const char *text, *where;
	} wrong[] = {
		{ "word\n", "at line 1 of" },
		{ "[one]\n\n; x\na=1\nword", "at line 5 of" },
		{ "[one]\na=1\n[two", "at line 3 of" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int ret;

		capture_begin();
		ret = read_text(wrong[i].text);
		capture_end();
		assert_int_equal(ret, EXIT_USAGE);
		assert_non_null(strstr(captured_messages(), wrong[i].where));
	}
	capture_free();
}

static void lines_have_an_end(void **state)
{
	static char text[100000];

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
		cmocka_unit_test(a_key_is_there_once),
		cmocka_unit_test(what_is_neither_is_refused),
		cmocka_unit_test(what_the_reader_returns_is_returned),
		cmocka_unit_test(only_the_blank_before_it_makes_a_comment),
		cmocka_unit_test(a_name_of_any_length_and_bytes_is_read_back),
		cmocka_unit_test(the_line_of_a_mistake_is_named),
		cmocka_unit_test(lines_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
