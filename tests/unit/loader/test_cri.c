/* SPDX-License-Identifier: GPL-2.0-only */
/* The labels of pods in the answer of a container runtime, and how a selector chooses by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/err.h"
#include "machine/machine.h"

/* Two sandboxes of uid "a", whose later one has app=front and an empty "x"; and one of "c". */
static const char answer[] = "\x0a\x1e\x12\x03\x12\x01"
			     "a\x20\x02\x2a\x0e\x0a\x03"
			     "app\x12\x05"
			     "front\x18\x01\x2a\x05\x0a\x01"
			     "x\x12\x00"
			     "\x0a\x0f\x12\x03\x12\x01"
			     "a\x20\x01\x2a\x06\x0a\x01"
			     "y\x12\x01"
			     "z"
			     "\x0a\x05\x12\x03\x12\x01"
			     "c";
#define SIZE (sizeof(answer) - 1)
#define PODS 3

static struct pod *pods(void)
{
	static const char *const names[PODS] = { "web/front-0", "web/back-0", "db/front-0" };
	struct pod *list = mem_new(PODS, sizeof(*list));

	for (int i = 0; i < PODS; i++) {
		strcpy(list[i].name, names[i]);
		list[i].uid[0] = 'a' + i;
	}
	return list;
}

static void takes_labels(void **state)
{
	struct pod *list = pods();

	(void)state;
	assert_true(cri_take_labels(answer, SIZE, list, PODS));
	assert_int_equal(list[0].n_labels, 2);
	assert_string_equal(list[0].label[0], "app=front");
	assert_string_equal(list[0].label[1], "x=");
	assert_true(list[0].has_labels && !list[1].has_labels && list[2].has_labels);
	assert_int_equal(list[2].n_labels, 0);
	pods_free(list, PODS);
}

/* Cut anywhere, and with any bytes changed: it ends, and reads and writes nothing that is not its own. */
static void malformed(void **state)
{
	unsigned int n_good = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < 200000; i++) {
		size_t size = i < (int)SIZE ? (size_t)i : SIZE;
		char *copy = mem_new(1, size + 1);
		struct pod *list = pods();

		copy = memcpy(copy, answer, size);
		for (int k = i < (int)SIZE ? 0 : 1 + rand() % 4; k > 0; k--)
			copy[rand() % size] = rand();
		copy = mem_need(realloc(copy, size + !size)); /* a byte after it is nobody's */
		n_good += cri_take_labels(copy, size, list, PODS);
		pods_free(list, PODS);
		free(copy);
	}
	assert_in_range(n_good, 1000, 199000);
}

static void expect(const char *selector, const char *chosen)
{
	struct pod *list = pods();
	char found[PODS + 1] = "";

	assert_true(cri_take_labels(answer, SIZE, list, PODS));
	assert_true(pod_selector_is_valid("--pod", selector));
	for (int i = 0; i < PODS; i++)
		if (pod_selected(selector, &list[i]))
			strcat(found, (const char[]){ list[i].uid[0], 0 });
	assert_string_equal(found, chosen);
	pods_free(list, PODS);
}

/* Pod b is unknown to the runtime, c has no labels. */
static void selectors(void **state)
{
	(void)state;
	expect("*/*", "abc");
	expect("web/*", "ab");
	expect("web/*-0,app=front", "a");
	expect("*/*,app==front", "a");
	expect("*/*,app=fron", "");
	expect("*/*,app=frontal", "");
	expect("*/*,ap=front", "");
	expect("*/*,app", "a");
	expect("*/*,!app", "c");
	expect("*/*,app!=front", "c");
	expect("*/*,app!=back", "ac");
	expect("*/*,x=", "a");
	expect("*/*,x,app=front", "a");
	expect("*/*,x,!app", "");
	expect("db/*,app", "");
}

static void what_is_no_selector(void **state)
{
	static const char *const wrong[] = {
		"",	     "web",	 "/a",		 "web/",   "web/,a",
		"web/a/b",   "w b/a",	 "w/a,",	 "w/a,,a", "w/a,=b",
		"w/a,a=b c", "w/a,!a=b", "w/a,a in (b)", "w/a,a!", "a,b/c"
	};
	char *long_one = mem_format("w/a,%*s", POD_SELECTOR_LEN, "x");

	(void)state;
	err_mute(true);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(pod_selector_is_valid("--pod", wrong[i]));
	memset(long_one + 4, 'x', POD_SELECTOR_LEN);
	assert_false(pod_selector_is_valid("--pod", long_one));
	err_mute(false);
	free(long_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_labels),
		cmocka_unit_test(malformed),
		cmocka_unit_test(selectors),
		cmocka_unit_test(what_is_no_selector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
