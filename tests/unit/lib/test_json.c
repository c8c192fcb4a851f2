/* SPDX-License-Identifier: GPL-2.0-only */
/* The writer writes what json-c would print for a tree, and json-c reads it back. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "cli/json.h"

#define PRETTY (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)
#define PLAIN (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

static struct json json;
static char *text;
static size_t len;

static FILE *open_text(void)
{
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	return out;
}

/* Reads all of it with json-c, strictly and to its end. */
static struct json_object *end_and_read(void)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *o;

	json_end(&json);
	fclose(json.to.out);
	assert_int_equal(text[len - 1], '\n');
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tokener, text, len - 1);
	assert_non_null(o);
	assert_int_equal(json_tokener_get_parse_end(tokener), len - 1);
	json_tokener_free(tokener);
	return o;
}

/* json-c prints it as it was written. */
static void end_and_compare(int how)
{
	struct json_object *o = end_and_read();

	text[len - 1] = 0;
	assert_string_equal(text, json_object_to_json_string_ext(o, how));
	json_object_put(o);
	free(text);
}

static void test_numbers(void **state)
{
	static const double numbers[] = { 0, -1.5, 1e-9, 123456789, 1.23456789e20 };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct json_object *o, *value;

		json_begin(&json, open_text());
		json_add_number(&json, "a", numbers[i]);
		json_add_number(&json, "nan", 0 * INFINITY);
		json_add_number(&json, "inf", INFINITY);
		o = end_and_read();
		assert_true(json_object_object_get_ex(o, "a", &value));
		assert_true(json_object_get_double(value) == numbers[i]);
		assert_true(json_object_object_get_ex(o, "nan", &value) && !value);
		assert_true(json_object_object_get_ex(o, "inf", &value) && !value);
		json_object_put(o);
		free(text);
	}
}

static void add_all_kinds(void)
{
	json_add_int(&json, "zero", 0);
	json_add_int(&json, "largest", LLONG_MAX);
	json_add_signed(&json, "lowest", LLONG_MIN);
	json_add_signed(&json, "minus", -1);
	json_add_bool(&json, "true", true);
	json_add_bool(&json, "false", false);
	json_add_null(&json, "null");
	json_add_string(&json, "text",
			"a/b \"c\" \\ \b\f\n\r\t \x01\x1f\x7f \xc3\xa4 \xe2\x86\x92");
	json_add_string(&json, "empty", "");
	json_add_string(&json, "none", NULL);
	json_add_gain(&json, "gain", 739);
	json_add_raw(&json, "raw", "-1.5");
}

static void add_nested(void)
{
	json_open_object(&json, "object");
	add_all_kinds();
	json_open_array(&json, "list");
	for (int i = 0; i < 3; i++)
		json_add_int(&json, NULL, i);
	json_open_array(&json, NULL);
	json_close(&json);
	json_open_object(&json, NULL);
	json_close(&json);
	json_add_string(&json, NULL, "after");
	json_close(&json);
	json_close(&json);
	json_open_array(&json, "last");
	json_close(&json);
	json_add_bool(&json, "end", true);
}

static void test_one_line(void **state)
{
	(void)state;
	json_begin(&json, open_text());
	add_all_kinds();
	add_nested();
	end_and_compare(PLAIN);
}

static void test_pretty(void **state)
{
	(void)state;
	json_begin_pretty(&json, open_text());
	add_nested();
	add_all_kinds();
	end_and_compare(PRETTY);
}

static void test_pretty_array(void **state)
{
	(void)state;
	json_begin_pretty_array(&json, open_text());
	json_open_object(&json, NULL);
	add_nested();
	json_close(&json);
	json_open_object(&json, NULL);
	json_close(&json);
	end_and_compare(PRETTY);
}

static void test_nothing_in_it(void **state)
{
	(void)state;
	json_begin(&json, open_text());
	end_and_compare(PLAIN);
	json_begin_pretty(&json, open_text());
	end_and_compare(PRETTY);
	json_begin_pretty_array(&json, open_text());
	end_and_compare(PRETTY);
}

/* json-c's parser stops at the largest signed number; its trees do not. */
static void test_largest_number(void **state)
{
	(void)state;
	json_begin(&json, open_text());
	json_add_int(&json, "n", ULLONG_MAX);
	json_object_put(end_and_read());
	assert_string_equal(text, "{\"n\":18446744073709551615}\n");
	free(text);
}

static void test_each_character(void **state)
{
	(void)state;
	for (int c = 1; c < 128; c++) {
		const char string[] = { 'a', c, c, 'b', 0 };

		json_begin(&json, open_text());
		json_add_string(&json, "s", string);
		end_and_compare(PLAIN);
	}
}

/* json-c takes any bytes; what it makes of them is no JSON. */
static void test_other_than_utf8(void **state)
{
	struct json_object *o;

	(void)state;
	json_begin(&json, open_text());
	json_add_string(&json, "bytes", "/a\xff\xc3\xbc\"\x1b");
	json_add_string(&json, "unseen", "a\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81");
	json_add_string(&json, "quotes", "\"/a\\xff\"");
	o = end_and_read();
	assert_string_equal(text, "{\"bytes\":\"\\\"/a\\\\xff\xc3\xbc\\\\\\\"\\\\x1b\\\"\","
				  "\"unseen\":\"a\\u009b\\u202e\\udb40\\udc41\","
				  "\"quotes\":\"\\\"\\\\\\\"/a\\\\\\\\xff\\\\\\\"\\\"\"}\n");
	assert_string_equal(json_object_get_string(json_object_object_get(o, "unseen")),
			    "a\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81");
	assert_string_equal(json_object_get_string(json_object_object_get(o, "bytes")),
			    "\"/a\\xff\xc3\xbc\\\"\\x1b\"");
	/* Text that looks like it is another. */
	assert_string_equal(json_object_get_string(json_object_object_get(o, "quotes")),
			    "\"\\\"/a\\\\xff\\\"\"");
	json_object_put(o);
	free(text);
}

/* A gain is exact: 256ths have at most eight digits. */
static void test_each_gain(void **state)
{
	(void)state;
	json_begin(&json, open_text());
	json_open_array(&json, "gains");
	for (int gain = 0; gain <= UINT16_MAX; gain++)
		json_add_gain(&json, NULL, gain);
	json_close(&json);

	struct json_object *o = end_and_read(), *list = json_object_object_get(o, "gains");

	assert_int_equal(json_object_array_length(list), UINT16_MAX + 1);
	for (int gain = 0; gain <= UINT16_MAX; gain++) {
		struct json_object *value = json_object_array_get_idx(list, gain);

		assert_true(json_object_is_type(value, json_type_double));
		assert_true(json_object_get_double(value) == gain / 256.0);
	}
	json_object_put(o);
	free(text);
}

/*
 * Strings that end just before, at and after the end of the buffer, and one that is longer than it.
 */
static void test_around_the_buffers_end(void **state)
{
	const size_t size = sizeof(json.to.buf);
	char *string = malloc(2 * size + 1);

	(void)state;
	for (size_t n = size - 20; n < size + 20; n++) {
		memset(string, 'x', n);
		string[n] = 0;
		json_begin(&json, open_text());
		json_add_string(&json, "first", string);
		json_add_string(&json, "second", string);
		json_add_int(&json, "third", 1);
		end_and_compare(PLAIN);
	}
	memset(string, '"', 2 * size);
	string[0] = 'x';
	string[2 * size] = 0;
	json_begin_pretty(&json, open_text());
	json_add_string(&json, "quotes", string);
	end_and_compare(PRETTY);
	free(string);
}

/* What json-c escapes, and "<" as well. People see the text: what is invisible comes in quotes. */
static void test_in_a_script(void **state)
{
	struct json_object *o;

	(void)state;
	json_begin_in_script(&json, open_text());
	json_add_string(&json, "text", "</script><!-- \"a/b\" \\ >");
	json_add_string(&json, "plain", "abc");
	json_add_string(&json, "unseen", "a\xe2\x80\xae\n");
	o = end_and_read();
	assert_string_equal(text, "{\"text\":\"\\u003c\\/script>\\u003c!-- \\\"a\\/b\\\" "
				  "\\\\ >\",\"plain\":\"abc\","
				  "\"unseen\":\"\\\"a\\\\xe2\\\\x80\\\\xae\\\\x0a\\\"\"}\n");
	assert_string_equal(json_object_get_string(json_object_object_get(o, "text")),
			    "</script><!-- \"a/b\" \\ >");
	assert_string_equal(json_object_get_string(json_object_object_get(o, "unseen")),
			    "\"a\\xe2\\x80\\xae\\x0a\"");
	json_object_put(o);
	free(text);
}

/* A new line comes only after a comma, and once. */
static void test_new_lines(void **state)
{
	(void)state;
	json_begin(&json, open_text());
	json_new_line(&json);
	json_open_array(&json, "a");
	json_add_int(&json, NULL, 1);
	json_new_line(&json);
	json_add_int(&json, NULL, 2);
	json_add_int(&json, NULL, 3);
	json_close(&json);
	json_new_line(&json);
	json_add_int(&json, "b", 4);
	json_object_put(end_and_read());
	assert_string_equal(text, "{\"a\":[1,\n2,3],\n\"b\":4}\n");
	free(text);
}

static void test_as_deep_as_it_goes(void **state)
{
	(void)state;
	json_begin_pretty(&json, open_text());
	for (int i = 1; i < JSON_DEPTH_MAX; i++) {
		if (i % 3)
			json_open_array(&json, json.arrays >> (json.depth - 1) & 1 ? NULL : "k");
		else
			json_open_object(&json, json.arrays >> (json.depth - 1) & 1 ? NULL : "k");
	}
	for (int i = 1; i < JSON_DEPTH_MAX; i++)
		json_close(&json);
	json_end(&json);
	fclose(json.to.out);

	struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH_MAX + 1);
	struct json_object *o = json_tokener_parse_ex(tokener, text, len - 1);

	assert_non_null(o);
	text[len - 1] = 0;
	assert_string_equal(text, json_object_to_json_string_ext(o, PRETTY));
	json_object_put(o);
	json_tokener_free(tokener);
	free(text);
}

/* Any tree: random kinds, randomly nested. */
static void add_by_chance(unsigned int *seed, int depth)
{
	bool in_array = json.arrays >> (json.depth - 1) & 1;

	for (int n = rand_r(seed) % 6; n > 0; n--) {
		char key[] = "key0";

		key[3] += n;
		switch (rand_r(seed) % (depth < 8 ? 6 : 4)) {
		case 0:
			json_add_int(&json, in_array ? NULL : key, rand_r(seed));
			break;
		case 1:
			json_add_signed(&json, in_array ? NULL : key, -(__s64)rand_r(seed));
			break;
		case 2:
			json_add_null(&json, in_array ? NULL : key);
			break;
		case 3:
			json_add_string(&json, in_array ? NULL : key, "x\"\n");
			break;
		case 4:
			json_open_object(&json, in_array ? NULL : key);
			add_by_chance(seed, depth + 1);
			json_close(&json);
			break;
		case 5:
			json_open_array(&json, in_array ? NULL : key);
			add_by_chance(seed, depth + 1);
			json_close(&json);
			break;
		}
	}
}

static void test_trees_by_chance(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2000; i++) {
		unsigned int seed = i;

		if (i % 2)
			json_begin_pretty(&json, open_text());
		else
			json_begin(&json, open_text());
		add_by_chance(&seed, 0);
		end_and_compare(i % 2 ? PRETTY : PLAIN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_one_line),
		cmocka_unit_test(test_pretty),
		cmocka_unit_test(test_pretty_array),
		cmocka_unit_test(test_nothing_in_it),
		cmocka_unit_test(test_largest_number),
		cmocka_unit_test(test_each_character),
		cmocka_unit_test(test_other_than_utf8),
		cmocka_unit_test(test_each_gain),
		cmocka_unit_test(test_around_the_buffers_end),
		cmocka_unit_test(test_in_a_script),
		cmocka_unit_test(test_new_lines),
		cmocka_unit_test(test_as_deep_as_it_goes),
		cmocka_unit_test(test_trees_by_chance),
	};

	return cmocka_run_group_tests_name("the writer of JSON", tests, NULL, NULL);
}
