/* SPDX-License-Identifier: GPL-2.0-only */
/* Names: of algorithms, and which ones instances can have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "descriptor.h"
#include "kernel/instance.h"

static void an_algorithm_is_found_by_its_whole_name(void **state)
{
	(void)state;
	assert_true(n_algorithms >= 2);
	for (size_t i = 0; i < n_algorithms; i++) {
		assert_ptr_equal(algorithm_find(algorithms[i]->name), algorithms[i]);
		assert_int_equal(algorithm_index(algorithms[i]), i);
	}
	assert_string_equal(algorithms[0]->name, "bbr"); /* the default */
	assert_null(algorithm_find(""));
	assert_null(algorithm_find("bb"));
	assert_null(algorithm_find("bbr "));
	assert_null(algorithm_find("BBR"));
	assert_null(algorithm_find("bpf_bbr"));
}

static void all_names_in_a_row(void **state)
{
	char buf[ALGORITHM_NAMES_LEN];

	(void)state;
	algorithm_names(buf, sizeof(buf), " or ");
	assert_string_equal(buf, "bbr or bbr3");
	algorithm_names(buf, sizeof(buf), " ");
	assert_string_equal(buf, "bbr bbr3");
}

/* Whatever the size, it is a string that fits. */
static void too_little_room_cuts_the_names(void **state)
{
	static const char whole[] = "bbr or bbr3";
	char buf[sizeof(whole) + 4];

	(void)state;
	for (size_t size = 1; size <= sizeof(whole) + 1; size++) {
		size_t len = size > sizeof(whole) ? sizeof(whole) - 1 : size - 1;

		memset(buf, 'x', sizeof(buf));
		algorithm_names(buf, size, " or ");
		assert_int_equal(strlen(buf), len);
		assert_memory_equal(buf, whole, len);
		assert_int_equal(buf[size], 'x');
	}
}

static void which_names_an_instance_can_have(void **state)
{
	static const char *const good[] = { "a", "bpf_bbr", "A.b_9", "abcdefghijklmno", ".", "_" };
	static const char *const bad[] = {
		"", "abcdefghijklmnop", "a-b", "a b", "a/b", "a\n", "\xe4", "a:b", "a=b", "*"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!instance_name_is_valid(good[i]))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (instance_name_is_valid(bad[i]))
			fail_msg("taken: %s", bad[i]);
}

static void usual_names_belong_to_their_algorithm(void **state)
{
	static const char *const of_nobody[] = { "",	       "bpf_bb",	"bpf_bbr_",
						 "bpf_bbr2",   "bpf_bbr_ec",	"bpf_bbr_ecn1",
						 "bpf_bbr_x",  "bpf_bbr3_ecnx", "my_bpf_bbr",
						 "bbr",	       "Bpf_bbr",	"bpf_bbr33",
						 "bpf_bbr_bbr" };

	(void)state;
	for (size_t i = 0; i < n_algorithms; i++) {
		char ecn[64];

		snprintf(ecn, sizeof(ecn), "%s" INSTANCE_ECN_SUFFIX, algorithms[i]->instance);
		assert_ptr_equal(instance_name_owner(algorithms[i]->instance), algorithms[i]);
		assert_ptr_equal(instance_name_owner(ecn), algorithms[i]);
		assert_true(instance_name_is_valid(ecn));
	}
	for (size_t i = 0; i < sizeof(of_nobody) / sizeof(of_nobody[0]); i++)
		if (instance_name_owner(of_nobody[i]))
			fail_msg("has an owner: %s", of_nobody[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_algorithm_is_found_by_its_whole_name),
		cmocka_unit_test(all_names_in_a_row),
		cmocka_unit_test(too_little_room_cuts_the_names),
		cmocka_unit_test(which_names_an_instance_can_have),
		cmocka_unit_test(usual_names_belong_to_their_algorithm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
