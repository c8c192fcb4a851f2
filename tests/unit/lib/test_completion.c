/* SPDX-License-Identifier: GPL-2.0-only */
/* The candidates that a shell gets for each place of a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/completion.h"
#include "cli/err.h"
#include "cli/options.h"

#include "../capture.h"

static const struct option_def every_verb[] = {
	{ "json", 'j', NULL, NULL, 0, "JSON" },
	{},
};

static const struct option_def common[] = {
	{ "name", 'n', "NAME", NULL, 0, "the name" },
	{},
};

static const struct option_def of_load[] = {
	{ "set", 0, "KEY=VALUE", NULL, 0, "a value;\nmay be given more than once" },
	{ "to", 0, "NAME", NULL, 0, "where to" },
	{},
};

/* The same name as an option of load, but another value. */
static const struct option_def of_rules[] = {
	{ "to", 't', "PLACE", NULL, 0, "which place" },
	{},
};

static const struct option_group with_name[] = { { common, 0 }, {} };
static const struct option_group with_load[] = { { of_load, 0 }, { common, 0 }, {} };
static const struct option_group with_rules[] = { { of_rules, 0 }, { common, 0 }, {} };

#undef VERB
#define VERB(verb_name, arguments, verb_groups, most)     \
	&(const struct verb){ .name = verb_name,          \
			      .args = arguments,          \
			      .brief = "does " verb_name, \
			      .groups = verb_groups,      \
			      .max_args = most,           \
			      .size = 1 }

static const struct verb *const verbs[] = {
	VERB("look", "", with_name, 0),
	VERB("load", "FILE [KEY=VALUE]...", with_load, 3),
	VERB("rule add", "PLACE", with_rules, 1),
	VERB("rule list", "", with_name, 0),
	VERB("ruler", "", NULL, 0),
	NULL,
};

static void complete_names(const struct completion *c)
{
	completion_add(c, "north", "up");
	completion_add(c, "south", "down\nnot this line");
}

static void complete_places(const struct completion *c)
{
	completion_add(c, "place1", "");
}

/* Shows what a completer can find out. */
static void complete_keys(const struct completion *c)
{
	const char *name = completion_option(c, "name");

	completion_add(c, name ? name : "none", completion_verb(c));
	completion_add(c, c->current, "typed");
}

static void complete_set(const struct completion *c)
{
	completion_add(c, "of the option", "");
}

static const struct completer completers[] = {
	{ "NAME", complete_names },	  { "PLACE", complete_places },
	{ "KEY=VALUE", complete_keys },	  { "--set", complete_set },
	{ "FILE", completion_add_files }, {},
};

static struct program program = {
	.name = "tool",
	.options = every_verb,
	.verbs = verbs,
	.completers = completers,
};

/* Expects these candidates for the last of the words, which blanks separate. */
static void expect(const char *line, const char *candidates)
{
	char copy[256], *rest = copy, *words[16];
	int n = 0, ret;

	snprintf(copy, sizeof(copy), "%s", line);
	while (rest)
		words[n++] = strsep(&rest, " ");
	capture_begin();
	ret = completion_run(&program, n, words);
	capture_end();
	assert_int_equal(ret, EXIT_DONE);
	assert_string_equal(captured_output(), candidates);
	assert_string_equal(captured_messages(), "");
}

#define ALL_VERBS "look\tdoes look\nload\tdoes load\nrule\t\nruler\tdoes ruler\n"
#define COMMON_OPTIONS                                            \
	"--json\tJSON\n"                                          \
	"--verbose\tshow messages from libbpf and the verifier\n" \
	"--help\tprint this help\n--version\tprint the version\n"

static void the_first_word_is_a_verb(void **state)
{
	(void)state;
	expect("", ALL_VERBS);
	expect("l", "look\tdoes look\nload\tdoes load\n");
	expect("rule", "rule\t\nruler\tdoes ruler\n");
	expect("x", "");
	/* No word at all is an empty one. */
	capture_begin();
	completion_run(&program, 0, NULL);
	capture_end();
	assert_string_equal(captured_output(), ALL_VERBS);
}

static void the_second_word_of_a_verb(void **state)
{
	(void)state;
	expect("rule ", "add\tdoes rule add\nlist\tdoes rule list\n");
	expect("rule l", "list\tdoes rule list\n");
	expect("rule x", "");
	expect("ruler ", "");
	expect("-j rule -n north ", "add\tdoes rule add\nlist\tdoes rule list\n");
}

static void after_a_wrong_verb_there_is_nothing(void **state)
{
	(void)state;
	expect("no ", "");
	expect("rule no ", "");
	expect("rule no a", "");
}

static void options_of_the_verb_and_of_all(void **state)
{
	(void)state;
	expect("look -", "--name\tthe name\n" COMMON_OPTIONS);
	expect("load --", "--set\ta value;\n--to\twhere to\n--name\tthe name\n" COMMON_OPTIONS);
	expect("load --s", "--set\ta value;\n");
	expect("rule add --t", "--to\twhich place\n");
	/* Before there is a verb, only those of all verbs. */
	expect("--", COMMON_OPTIONS);
	expect("rule --", COMMON_OPTIONS);
	expect("look --no", "");
}

static void values_of_options(void **state)
{
	(void)state;
	expect("look --name ", "north\tup\nsouth\tdown\n");
	expect("look --name s", "south\tdown\n");
	expect("--name ", "north\tup\nsouth\tdown\n");
	/* A letter, alone or behind others. */
	expect("look -n n", "north\tup\n");
	expect("look -jn n", "north\tup\n");
	/* A flag has no value: the next word is something else. */
	expect("-j ", ALL_VERBS);
	/* What completes one option comes before what completes all values of its kind. */
	expect("load --set ", "of the option\t\n");
}

static void options_of_one_name_in_two_verbs(void **state)
{
	(void)state;
	expect("load --to ", "north\tup\nsouth\tdown\n");
	expect("rule add --to ", "place1\t\n");
	/* Verb and option in the other order. */
	expect("--to x rule add -t ", "place1\t\n");
}

static void a_value_is_no_verb(void **state)
{
	(void)state;
	expect("--name look ", ALL_VERBS);
	expect("--name look rule --name list ", "add\tdoes rule add\nlist\tdoes rule list\n");
}

static void arguments_by_their_place(void **state)
{
	(void)state;
	expect("load ", ":files\n");
	expect("load file ", "none\tload\n\ttyped\n");
	expect("load file a=1 ", "none\tload\n\ttyped\n");
	expect("load file a=1 b=2 ", ""); /* no more are allowed */
	expect("load --name north file n", "north\tload\nn\ttyped\n");
	/* The last one counts, as when the verb runs. */
	expect("load --name north --name south file s", "south\tload\ns\ttyped\n");
	expect("load --set a=1 file k", "k\ttyped\n");
	expect("rule add ", "place1\t\n");
	expect("rule add x ", "");
	expect("look ", "");
	/* A dash alone is an argument. */
	expect("load - ", "none\tload\n\ttyped\n");
}

static void a_program_without_completers_has_verbs_and_options(void **state)
{
	(void)state;
	program.completers = NULL;
	expect("load ", "");
	expect("load --name ", "");
	expect("lo", "look\tdoes look\nload\tdoes load\n");
	program.options = NULL;
	expect("look --j", "");
	program.completers = completers;
	program.options = every_verb;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_word_is_a_verb),
		cmocka_unit_test(the_second_word_of_a_verb),
		cmocka_unit_test(after_a_wrong_verb_there_is_nothing),
		cmocka_unit_test(options_of_the_verb_and_of_all),
		cmocka_unit_test(values_of_options),
		cmocka_unit_test(options_of_one_name_in_two_verbs),
		cmocka_unit_test(a_value_is_no_verb),
		cmocka_unit_test(arguments_by_their_place),
		cmocka_unit_test(a_program_without_completers_has_verbs_and_options),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
