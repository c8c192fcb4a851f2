/* SPDX-License-Identifier: GPL-2.0-only */
/* A file for a machine that gets the lines of an instance, and keeps its own. */
#include "fixture.h"

#include <stdlib.h>

#include "machine/machine.h"

#define WINNER                                                                          \
	"[instance one]\nalgorithm = bbr\nattach = /a\n\n[gentle]\ncwnd_gain = 1.5\n\n" \
	"[rules]\nrule = --dport 443 --profile gentle\n"

/* What the file is after it, which is also what it stays when it is done again. */
static void expect(const char *file, const char *expected)
{
	char *text = machine_edit(file, WINNER), *again = machine_edit(text, WINNER);

	assert_string_equal(text, expected);
	assert_string_equal(again, expected);
	free(again);
	free(text);
}

static void a_file_without_the_instance(void **state)
{
	(void)state;
	expect("", WINNER);
	expect("; mine\n[instance two]", "; mine\n[instance two]\n\n" WINNER);
}

static void an_instance_without_sections(void **state)
{
	(void)state;
	expect("# mine\n[instance one] ; the first\nalgorithm = bbr\n\n; next\n[instance two]\n",
	       "# mine\n[instance one] ; the first\nalgorithm = bbr\nattach = /a\n\n"
	       "[gentle]\ncwnd_gain = 1.5\n\n[rules]\nrule = --dport 443 --profile gentle\n\n"
	       "; next\n[instance two]\n");
}

static void profiles_and_rules_are_replaced(void **state)
{
	(void)state;
	expect("[instance two]\n[gentle]\ncwnd_gain = 4\n"
	       "[instance one]\n  attach=/a ; as it is\n\n"
	       "[gentle]\n; why\nfrom = tsunami\ncwnd_gain = 2 ; here\n\n"
	       "; the rules\n[rules]\n; first\nrule = --dport 80 --profile gentle\n"
	       "rule = --profile default --dport 443\n",
	       "[instance two]\n[gentle]\ncwnd_gain = 4\n"
	       "[instance one]\n  attach=/a ; as it is\n\n"
	       "[gentle]\ncwnd_gain = 1.5\n; why\n\n"
	       "; the rules\n[rules]\nrule = --dport 443 --profile gentle\n; first\n"
	       "rule = --dport 80 --profile gentle\n");
}

static void profiles_come_before_rules(void **state)
{
	(void)state;
	expect("[instance one]\nattach = /a\n[rules]\nrule = --dport 1 --profile default\n",
	       "[instance one]\nattach = /a\n\n[gentle]\ncwnd_gain = 1.5\n[rules]\n"
	       "rule = --dport 443 --profile gentle\nrule = --dport 1 --profile default\n");
}

/* Also a file that is written as its reader allows, and others write it. */
static void lines_are_as_the_reader_takes_them(void **state)
{
	(void)state;
	expect("\xef\xbb\xbf[instance one]\r\nattach: /a\r\n\f[gentle]\nbw_win = 9\n \v[p]\nbw_win "
	       "= 9\n"
	       "[rules]\nrule : --dport 443 --profile p\nrule:--dport 80 --profile p\n",
	       "\xef\xbb\xbf[instance one]\r\nattach: /a\r\n\f[gentle]\ncwnd_gain = 1.5\n \v[p]\n"
	       "bw_win = 9\n[rules]\nrule = --dport 443 --profile gentle\n"
	       "rule:--dport 80 --profile p\n");
}

/* Blanks in a name are part of it; between options they are not. */
static void lines_that_differ_in_blanks(void **state)
{
	static const char one[] =
		"[instance one]\nattach = a b\nattach = --mark 1 --not-dst ::/0 --cgroup c d\n";
	char *text = machine_edit("[instance one]\nattach = ab\nattach = a  b\n"
				  "attach = --mark  1  --not-dst ::/0 --cgroup c d\n",
				  one);

	(void)state;
	assert_string_equal(text, "[instance one]\nattach = ab\nattach = a  b\n"
				  "attach = --mark  1  --not-dst ::/0 --cgroup c d\n"
				  "attach = a b\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_the_instance),
		cmocka_unit_test(an_instance_without_sections),
		cmocka_unit_test(profiles_and_rules_are_replaced),
		cmocka_unit_test(profiles_come_before_rules),
		cmocka_unit_test(lines_are_as_the_reader_takes_them),
		cmocka_unit_test(lines_that_differ_in_blanks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
