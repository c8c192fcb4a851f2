/* SPDX-License-Identifier: GPL-2.0-only */
/* Command lines of a program that exists only here: what its verbs get, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/privileges.h"
#include "cli/err.h"
#include "cli/options.h"

#define MAX_ARGS 16

struct inner {
	const char *where;
};

struct choices {
	bool json;
	const char *name;
	struct value_list set;
	int number;
	struct inner inner;
};

/* What the verb that ran was given. */
static struct {
	const char *verb;
	struct choices choices;
	char set[64]; /* joined by blanks */
	int argc;
	const char *args[MAX_ARGS];
	int status; /* what it returns */
} ran;

static char *out, *errors;

static bool option_number(const char *option, const char *value, void *to)
{
	char *end;

	*(int *)to = strtol(value, &end, 10);
	if (end != value && !*end)
		return true;
	err("%s %s: not a number", option, value);
	return false;
}

static const struct option_def every_verb[] = {
	{ "json", 'j', NULL, option_flag, offsetof(struct choices, json), "JSON" },
	{},
};

static const struct option_def common[] = {
	{ "name", 'n', "NAME", option_text, offsetof(struct choices, name), "the name" },
	{},
};

static const struct option_def own[] = {
	{ "set", 0, "KEY=VALUE", option_append, offsetof(struct choices, set),
	  "a value that fills a line of help;\nit may be given more than once" },
	{ "number", 'N', "N", option_number, offsetof(struct choices, number), "a number" },
	{},
};

static const struct option_def of_inner[] = {
	{ "where", 'w', "PLACE", option_text, offsetof(struct inner, where), "the place" },
	{},
};

static const struct option_group with_name[] = { { common, 0 }, {} };
static const struct option_group with_all[] = {
	{ own, 0 },
	{ of_inner, offsetof(struct choices, inner) },
	{ common, 0 },
	{},
};

static void init(void *options)
{
	struct choices *c = options;

	c->name = "unless told";
	c->number = 7;
}

static int run(void *options, int argc, char **argv)
{
	struct choices *c = options;

	assert_true(argc <= MAX_ARGS);
	ran.verb = argv[0];
	ran.choices = *c;
	ran.set[0] = 0;
	for (int i = 0; i < c->set.n; i++) {
		strcat(ran.set, i ? " " : "");
		strcat(ran.set, c->set.arg[i]);
	}
	ran.argc = argc;
	for (int i = 0; i < argc; i++)
		ran.args[i] = argv[i];
	return ran.status;
}

#undef VERB
#define VERB(verb_name, verb_groups, lowest, highest, needs)                                  \
	&(const struct verb)                                                                  \
	{                                                                                     \
		.name = verb_name, .args = "ARG", .brief = "does " verb_name,                 \
		.groups = verb_groups, .min_args = lowest, .max_args = highest, .init = init, \
		.size = sizeof(struct choices), .run = run, .privileges = needs               \
	}

static const struct verb *const verbs[] = {
	VERB("look", with_name, 0, 0, NEEDS(0)),
	VERB("load", with_all, 0, 1, NEEDS(CAP(NET_ADMIN))),
	VERB("rule add", with_all, 1, 2, NEEDS(0)),
	VERB("rule list", with_name, 0, 0, NEEDS(0)),
	VERB("ruler", NULL, 0, 0, NEEDS(0)),
	VERB("set size", NULL, 0, 0, NEEDS(0)),
	VERB("set speed", NULL, 0, 0, NEEDS(0)),
	NULL,
};

static void print_notes(FILE *to)
{
	fputs("Its notes.\n", to);
}

static const struct program program = {
	.name = "tool",
	.version = "1.2.3",
	.about = "About the tool.",
	.print_notes = print_notes,
	.options = every_verb,
	.verbs = verbs,
	.verbs_take_privileges = true,
};

static char *finish(FILE *file, char **text)
{
	fclose(file);
	return *text;
}

/* Runs the command line, whose words are separated by blanks. */
static int call(const char *line)
{
	FILE *real_out = stdout, *real_errors = stderr;
	char *copy = strdup(line), *rest = copy, *argv[MAX_ARGS + 1];
	int argc = 0, status;
	size_t len;

	free(out);
	free(errors);
	memset(&ran, 0, offsetof(__typeof__(ran), status));
	while (rest && argc < MAX_ARGS)
		argv[argc++] = strsep(&rest, " ");
	argv[argc] = NULL;
	stdout = open_memstream(&out, &len);
	stderr = open_memstream(&errors, &len);
	err_init("tool", false);
	status = program_run(&program, argc, argv);
	finish(stdout, &out);
	finish(stderr, &errors);
	stdout = real_out;
	stderr = real_errors;
	if (ran.verb) { /* its arguments point there */
		static char *last;

		free(last);
		last = copy;
	} else {
		free(copy);
	}
	return status;
}

static void expect_run(const char *line, const char *verb)
{
	assert_int_equal(call(line), EXIT_DONE);
	assert_non_null(ran.verb);
	assert_string_equal(ran.verb, verb);
	assert_string_equal(out, "");
	assert_string_equal(errors, "");
}

/* The verb does not run. The message is one line, and one with what to do. */
static void expect_refusal(const char *line, const char *message)
{
	assert_int_equal(call(line), EXIT_USAGE);
	assert_null(ran.verb);
	assert_string_equal(out, "");
	assert_string_equal(errors, message);
}

static void test_a_verb_alone(void **state)
{
	(void)state;
	expect_run("tool look", "look");
	assert_int_equal(ran.argc, 1);
	assert_string_equal(ran.choices.name, "unless told");
	assert_int_equal(ran.choices.number, 7);
	assert_false(ran.choices.json);
	expect_run("tool rule list", "rule list");
	assert_int_equal(ran.argc, 1);
	expect_run("tool ruler", "ruler");
}

static void test_options_anywhere(void **state)
{
	static const char *const lines[] = {
		"tool rule add --name x --number 5 -j arg",
		"tool --name x --number 5 -j rule add arg",
		"tool --name x rule --number 5 add -j arg",
		"tool rule add arg -j --number=5 --name=x",
		"tool -jn x -N5 rule add arg",
		"tool --na x rule --num 5 add arg --js",
		"tool -nx rule add -jN 5 -- arg",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		expect_run(lines[i], "rule add");
		assert_string_equal(ran.choices.name, "x");
		assert_int_equal(ran.choices.number, 5);
		assert_true(ran.choices.json);
		assert_int_equal(ran.argc, 2);
		assert_string_equal(ran.args[1], "arg");
	}
}

static void test_values_that_look_like_verbs(void **state)
{
	(void)state;
	expect_run("tool --name look rule list", "rule list");
	assert_string_equal(ran.choices.name, "look");
	expect_run("tool rule --name list list", "rule list");
	assert_string_equal(ran.choices.name, "list");
	expect_run("tool load rule", "load");
	assert_string_equal(ran.args[1], "rule");
	expect_run("tool load load", "load");
	assert_int_equal(ran.argc, 2);
	assert_string_equal(ran.args[1], "load");
	expect_run("tool rule add -- --json -n", "rule add");
	assert_false(ran.choices.json);
	assert_int_equal(ran.argc, 3);
	assert_string_equal(ran.args[1], "--json");
	assert_string_equal(ran.args[2], "-n");
}

static void test_an_option_several_times(void **state)
{
	(void)state;
	expect_run("tool --set a=1 -j load --set b=2 --name x --set=c=3 -j", "load");
	assert_string_equal(ran.set, "a=1 b=2 c=3");
	assert_string_equal(ran.choices.name, "x");
	expect_refusal("tool load --name x -n x", "tool: load: --name: appears twice\n"
						  "  tool load --help lists the options\n");
	expect_refusal("tool -N 1 load --number 2", "tool: load: --number: appears twice\n"
						    "  tool load --help lists the options\n");
}

static void test_a_struct_within_the_verbs(void **state)
{
	(void)state;
	expect_run("tool load -w there", "load");
	assert_string_equal(ran.choices.inner.where, "there");
}

static void test_what_the_verb_returns(void **state)
{
	(void)state;
	ran.status = EXIT_NOTHING;
	assert_int_equal(call("tool look"), EXIT_NOTHING);
	ran.status = EXIT_DONE;
}

static void test_wrong_options(void **state)
{
	(void)state;
	expect_refusal("tool look --no", "tool: look: --no: not an option\n"
					 "  tool look --help lists the options\n");
	expect_refusal("tool -x look", "tool: look: -x: not an option\n"
				       "  tool look --help lists the options\n");
	expect_refusal("tool look --number 5", "tool: look: --number: not an option\n"
					       "  tool look --help lists the options\n");
	expect_refusal("tool --number 5 rule list", "tool: rule list: --number: not an option\n"
						    "  tool rule list --help lists the options\n");
	expect_refusal("tool look -xj", "tool: look: -x: not an option\n"
					"  tool look --help lists the options\n");
	expect_refusal("tool load --name x -jxy", "tool: load: -x: not an option\n"
						  "  tool load --help lists the options\n");
	expect_refusal("tool load -jN", "tool: load: -N: its value is missing\n"
					"  tool load --help lists the options\n");
	expect_refusal("tool look --json=1", "tool: look: --json=1: this option takes no value\n"
					     "  tool look --help lists the options\n");
	expect_refusal("tool -jxy", "tool: -x: unknown option, or its value is missing\n"
				    "  tool --help lists verbs and options\n");
	expect_refusal("tool look --name", "tool: look: --name: its value is missing\n"
					   "  tool look --help lists the options\n");
	expect_refusal("tool load --number x --set a", "tool: --number x: not a number\n"
						       "  tool load --help lists the options\n");
	expect_refusal("tool load --set a --set b -N y",
		       "tool: --number y: not a number\n  tool load --help lists the options\n");
	expect_refusal("tool --no", "tool: --no: unknown option, or its value is missing\n"
				    "  tool --help lists verbs and options\n");
	expect_refusal("tool --name", "tool: --name: unknown option, or its value is missing\n"
				      "  tool --help lists verbs and options\n");
}

static void test_wrong_arguments(void **state)
{
	(void)state;
	expect_refusal("tool look a", "tool: look: a: this verb takes no arguments\n"
				      "  tool look --help lists the options\n");
	expect_refusal("tool rule add a b c d", "tool: rule add: c: unexpected argument\n"
						"  tool rule add --help lists the options\n");
	expect_refusal("tool -j rule add", "tool: rule add: ARG is missing\n"
					   "  tool rule add --help explains it\n");
}

static void test_wrong_verbs(void **state)
{
	(void)state;
	expect_refusal("tool -j looks look", "tool: looks: no such verb\n  did you mean look?\n");
	expect_refusal("tool laod", "tool: laod: no such verb\n  did you mean load?\n");
	expect_refusal("tool rule ladd",
		       "tool: rule ladd: no such verb\n  did you mean rule add?\n");
	expect_refusal("tool rules list", "tool: rules: no such verb\n  did you mean rule?\n");
	expect_refusal("tool add rule", "tool: add: no such verb\n  did you mean rule add?\n");
	expect_refusal("tool rule", "tool: rule: its second word is missing\n"
				    "  one of: rule add, rule list\n");
	expect_refusal("tool rule such", "tool: rule such: no such verb\n"
					 "  tool rule --help lists the verbs that begin with it\n");
	expect_refusal("tool ", "tool: : no such verb\n  tool --help lists them\n");
}

static void test_the_beginning_of_a_verb_will_do(void **state)
{
	(void)state;
	expect_run("tool loo", "look");
	expect_run("tool -n a loa x", "load");
	assert_int_equal(ran.argc, 2);
	assert_string_equal(ran.args[1], "x");
	expect_run("tool rule a x -N 3 y", "rule add");
	assert_int_equal(ran.argc, 3);
	expect_run("tool ruler", "ruler");
	expect_run("tool rul", "ruler");
	expect_refusal("tool lo", "tool: lo: which of look, load?\n");
	expect_refusal("tool ru l", "tool: ru: which of rule list, ruler?\n");
	expect_refusal("tool set s", "tool: set s: which of set size, set speed?\n");
	expect_refusal("tool se", "tool: se: its second word is missing\n"
				  "  one of: set size, set speed\n");
	assert_int_equal(call("tool loo --help"), EXIT_DONE);
	assert_non_null(strstr(out, "does look"));
	assert_int_equal(call("tool loo -V"), EXIT_DONE);
	assert_string_equal(out, "tool 1.2.3\n");
}

static void test_without_a_verb_all_are_listed(void **state)
{
	(void)state;
	assert_int_equal(call("tool"), EXIT_USAGE);
	assert_string_equal(out, "");
	for (const struct verb *const *v = verbs; *v; v++)
		assert_non_null(strstr(errors, (*v)->brief));
}

static void test_help_of_the_program(void **state)
{
	static const char *const lines[] = { "tool --help",	      "tool -h",   "tool x -h",
					     "tool --help rule such", "tool help", "tool help such",
					     "tool -j help" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(call(lines[i]), EXIT_DONE);
		assert_string_equal(errors, "");
		assert_string_equal(
			out, "usage: tool VERB [options]\n\nAbout the tool.\n\n"
			     "  look       does look\n"
			     "  load       does load\n"
			     "  rule add   does rule add\n"
			     "  rule list  does rule list\n"
			     "  ruler      does ruler\n"
			     "  set size   does set size\n"
			     "  set speed  does set speed\n"
			     "\nOptions of every verb; `tool VERB --help` lists its own:\n"
			     "  -j, --json          JSON\n"
			     "  -v, --verbose       show messages from libbpf and the verifier\n"
			     "  -h, --help          print this help\n"
			     "  -V, --version       print the version\n"
			     "\nIts notes.\n");
	}
}

static void test_help_of_a_group(void **state)
{
	static const char *const lines[] = { "tool rule --help", "tool help rule" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(call(lines[i]), EXIT_DONE);
		assert_string_equal(out, "usage: tool rule VERB [options]\n\n"
					 "  rule add   does rule add\n"
					 "  rule list  does rule list\n"
					 "\n`tool rule VERB --help` lists the options of a "
					 "verb.\n");
	}
}

static void test_help_of_a_verb(void **state)
{
	static const char *const lines[] = { "tool load --help", "tool -h load",
					     "tool -N 5 load a b c -h", "tool help load",
					     "tool help loa" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(call(lines[i]), EXIT_DONE);
		assert_null(ran.verb);
		assert_string_equal(
			out, "usage: tool load [options] ARG\n\ndoes load\n\n"
			     "      --set KEY=VALUE a value that fills a line of help; it may be "
			     "given more\n"
			     "                      than once\n"
			     "  -N, --number N      a number\n"
			     "  -w, --where PLACE   the place\n"
			     "  -n, --name NAME     the name\n"
			     "  -j, --json          JSON\n"
			     "  -v, --verbose       show messages from libbpf and the verifier\n"
			     "  -h, --help          print this help\n"
			     "  -V, --version       print the version\n"
			     "\nNeeds CAP_NET_ADMIN; gives up all others.\n");
	}
}

static void test_version(void **state)
{
	static const char *const lines[] = { "tool --version", "tool look --version",
					     "tool --vers nothing" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(call(lines[i]), EXIT_DONE);
		assert_string_equal(out, "tool 1.2.3\n");
		assert_null(ran.verb);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_verb_alone),
		cmocka_unit_test(test_options_anywhere),
		cmocka_unit_test(test_values_that_look_like_verbs),
		cmocka_unit_test(test_an_option_several_times),
		cmocka_unit_test(test_a_struct_within_the_verbs),
		cmocka_unit_test(test_what_the_verb_returns),
		cmocka_unit_test(test_wrong_options),
		cmocka_unit_test(test_wrong_arguments),
		cmocka_unit_test(test_wrong_verbs),
		cmocka_unit_test(test_the_beginning_of_a_verb_will_do),
		cmocka_unit_test(test_without_a_verb_all_are_listed),
		cmocka_unit_test(test_help_of_the_program),
		cmocka_unit_test(test_help_of_a_group),
		cmocka_unit_test(test_help_of_a_verb),
		cmocka_unit_test(test_version),
	};

	return cmocka_run_group_tests_name("command lines", tests, NULL, NULL);
}
