/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles in files: what they contain, and which algorithm they belong to. */
#include "fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "tuning/profile_definitions.h"

/* Reads a file with this text. The caller frees *defs. */
static int read_text(const struct algorithm *algorithm, const char *text,
		     struct profile_definitions *defs)
{
	char path[] = "/tmp/test_profile_definitions.XXXXXX";
	int ret, fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
	ret = profile_definitions_file(path, algorithm, defs);
	unlink(path);
	return ret;
}

static void assert_refused(const struct algorithm *algorithm, const char *text)
{
	struct profile_definitions defs;

	if (read_text(algorithm, text, &defs) != EXIT_USAGE)
		fail_msg("taken: %s", text);
	profile_definitions_free(&defs);
}

static void what_a_file_names_is_set_and_the_rest_at_its_default(void **state)
{
	const struct profile_definition *def;
	struct profile_definitions defs;

	(void)state;
	assert_int_equal(
		read_text(&made_up,
			  "algorithm = made_up\n[fast]\nabout = a test\nneeds = rate krate\n"
			  "gain = 2\n[slow]\ncount = 7\n",
			  &defs),
		EXIT_DONE);
	assert_int_equal(defs.n, 2);
	def = profile_definitions_find(&defs, "fast");
	assert_non_null(def);
	assert_string_equal(def->about, "a test");
	assert_string_equal(def->needs, "rate krate");
	assert_int_equal(def->params.value[0], 512);
	assert_int_equal(param_set_changed(&def->params), 1);
	assert_ptr_equal(def->params.algorithm, &made_up);
	def = profile_definitions_find(&defs, "slow");
	assert_int_equal(def->params.value[5], 7);
	assert_null(profile_definitions_find(&defs, "none"));
	profile_definitions_free(&defs);
}

/* A file from before there were several algorithms names none: it belongs to the first. */
static void a_file_is_of_one_algorithm(void **state)
{
	struct profile_definitions defs;
	char text[128];

	(void)state;
	assert_int_equal(read_text(algorithms[0], "[empty]\n", &defs), EXIT_DONE);
	assert_int_equal(defs.n, 1);
	profile_definitions_free(&defs);
	snprintf(text, sizeof(text), "algorithm = %s\n[empty]\n", algorithms[0]->name);
	assert_int_equal(read_text(algorithms[0], text, &defs), EXIT_DONE);
	profile_definitions_free(&defs);
	assert_refused(&made_up, text);
	assert_refused(&made_up, "[empty]\n");
	assert_refused(algorithms[0], "algorithm = made_up\n[empty]\ngain = 2\n");
}

static void mistakes_are_refused(void **state)
{
	static const char *const wrong[] = {
		"gain = 1\n[a]\n",
		"[a]\ngain = fast\n",
		"[a]\nno_such_key = 1\n",
		"[a]\n[a]\n",
		"[a]\nneeds = gai\n",
		"[-a]\n",
		"[a b]\n",
		"[rules]\n",
		"[a]\ngain = 1000\n",
		"[sixteen_letters_]\n",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "algorithm = made_up\n%s", wrong[i]);
		assert_refused(&made_up, text);
	}
}

static void what_it_needs_has_to_be_given(void **state)
{
	const char *const given[] = { "rate=1mbit", "gain=2" };
	const struct profile_definition *def;
	struct profile_definitions defs;
	struct param_set set;

	(void)state;
	assert_int_equal(
		read_text(&made_up, "algorithm = made_up\n[a]\nneeds = rate\ncount = 2\n", &defs),
		EXIT_DONE);
	def = profile_definitions_find(&defs, "a");
	assert_int_equal(profile_definition_params(&made_up, def, 0, NULL, &set), EXIT_USAGE);
	assert_int_equal(profile_definition_params(&made_up, def, 2, given, &set), EXIT_DONE);
	assert_int_equal(param_set_changed(&set), 3);
	assert_int_equal(profile_definition_params(&made_up, NULL, 1, given + 1, &set), EXIT_DONE);
	assert_int_equal(param_set_changed(&set), 1);
	profile_definitions_free(&defs);
}

/* Whatever else is in the machine's own directory. */
static void the_built_in_ones_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_algorithms; i++) {
		struct profile_definitions defs;

		assert_int_equal(profile_definitions_known(algorithms[i], &defs), EXIT_DONE);
		for (size_t k = 0; k < defs.n; k++) {
			struct param_set clamped = defs.def[k].params;

			assert_true(defs.def[k].name[0]);
			assert_ptr_equal(clamped.algorithm, algorithms[i]);
			param_set_clamp(&clamped);
			assert_true(param_set_equal(&clamped, &defs.def[k].params));
		}
		profile_definitions_free(&defs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_file_names_is_set_and_the_rest_at_its_default),
		cmocka_unit_test(a_file_is_of_one_algorithm),
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(what_it_needs_has_to_be_given),
		cmocka_unit_test(the_built_in_ones_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
