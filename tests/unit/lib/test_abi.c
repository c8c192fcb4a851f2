/* SPDX-License-Identifier: GPL-2.0-only */
/* The ABI record of any version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/instance.h"

/* As a program of this version writes it. */
static struct bbr_abi record(void)
{
	return (struct bbr_abi){
		.magic = BBR_ABI_MAGIC,
		.major = BBR_ABI_MAJOR,
		.params_size = 8,
		.watch_size = sizeof(struct bbr_watch),
		.event_size = BBR_EVENT_BASE + 16,
		.version = "1.2.3",
		.algorithm = "toy",
		.tail_size = 16,
	};
}

static void a_record_is_read(void **state)
{
	struct bbr_abi in = record(), out;

	(void)state;
	assert_true(abi_read(&in, sizeof(in), &out));
	assert_memory_equal(&in, &out, sizeof(in));
	assert_true(abi_is_sound(&out));
}

/* What a later version adds comes after what we know. */
static void a_longer_record_is_read(void **state)
{
	struct {
		struct bbr_abi abi;
		char more[32];
	} longer = { .abi = record() };
	struct bbr_abi out;

	(void)state;
	assert_true(abi_read(&longer, sizeof(longer), &out));
	assert_string_equal(out.algorithm, "toy");
}

static void what_is_no_record_is_not_read(void **state)
{
	struct bbr_abi in = record(), out;

	(void)state;
	assert_false(abi_read(&in, sizeof(in) - 1, &out));
	in.magic++;
	assert_false(abi_read(&in, sizeof(in), &out));
}

/* Anybody can write such a map. */
static void text_can_be_printed(void **state)
{
	struct bbr_abi in = record(), out;

	(void)state;
	memset(in.version, 'v', sizeof(in.version));
	memcpy(in.algorithm, "\033[1m\"\\\n", 8);
	assert_true(abi_read(&in, sizeof(in), &out));
	assert_int_equal(strlen(out.version), sizeof(out.version) - 1);
	assert_string_equal(out.algorithm, "?[1m???");
}

static void sizes_that_make_no_sense_are_not_sound(void **state)
{
	struct bbr_abi abi = record();

	(void)state;
	abi.params_size = 0;
	assert_false(abi_is_sound(&abi));
	abi.params_size = 6;
	assert_false(abi_is_sound(&abi));
	abi = record();
	abi.watch_size--;
	assert_false(abi_is_sound(&abi));
	abi = record();
	abi.event_size++;
	assert_false(abi_is_sound(&abi));
	abi = record();
	abi.tail_size = BBR_EVENT_TAIL_MAX + 8;
	abi.event_size = BBR_EVENT_BASE + abi.tail_size;
	assert_false(abi_is_sound(&abi));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_read),
		cmocka_unit_test(a_longer_record_is_read),
		cmocka_unit_test(what_is_no_record_is_not_read),
		cmocka_unit_test(text_can_be_printed),
		cmocka_unit_test(sizes_that_make_no_sense_are_not_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
