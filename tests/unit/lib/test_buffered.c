/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that is gathered before it is written: nothing is lost, doubled or out of order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/text.h"

#define ROOM sizeof(((struct buffered *)0)->buf)

static struct buffered b;
static FILE *out;
static char *text;
static size_t len;

static int begin(void **state)
{
	(void)state;
	out = open_memstream(&text, &len);
	buffered_begin(&b, out);
	return 0;
}

/* What the file has by now. */
static size_t written(void)
{
	fflush(out);
	return len;
}

static int end(void **state)
{
	(void)state;
	fclose(out);
	free(text);
	return 0;
}

static void small_pieces_are_written_at_the_end(void **state)
{
	(void)state;
	buffered_text(&b, "one ");
	buffered_text(&b, "");
	buffered_put(&b, "two three", 3);
	buffered_count(&b, 0);
	buffered_text(&b, " ");
	buffered_count(&b, 18446744073709551615ull);
	assert_int_equal(written(), 0);
	buffered_end(&b);
	assert_int_equal(written(), strlen("one two0 18446744073709551615"));
	assert_string_equal(text, "one two0 18446744073709551615");
	buffered_end(&b); /* nothing is left */
	assert_int_equal(written(), strlen("one two0 18446744073709551615"));
}

/* Pieces of all sizes around that of the buffer, each of its own letter, between two short ones. */
static void pieces_of_any_size_stay_in_order(void **state)
{
	static char piece[ROOM + 3];

	(void)state;
	for (size_t size = ROOM - 3; size <= ROOM + 3; size++) {
		size_t before = written();

		memset(piece, 'a' + size % 26, size);
		buffered_text(&b, "<<");
		buffered_put(&b, piece, size);
		buffered_text(&b, ">>");
		buffered_end(&b);
		assert_int_equal(written(), before + size + 4);
		assert_memory_equal(text + before, "<<", 2);
		assert_memory_equal(text + before + 2, piece, size);
		assert_memory_equal(text + before + 2 + size, ">>", 2);
	}
}

static void a_full_buffer_is_written_and_used_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3 * ROOM; i++)
		buffered_put(&b, &"0123456789"[i % 10], 1);
	buffered_end(&b);
	assert_int_equal(written(), 3 * ROOM);
	for (size_t i = 0; i < 3 * ROOM; i++)
		assert_int_equal(text[i], '0' + i % 10);
}

static void room_is_after_what_is_there(void **state)
{
	char *room;

	(void)state;
	buffered_text(&b, "ab");
	room = buffered_room(&b, 2);
	memcpy(room, "cd", 2);
	b.n += 2;
	/* More than is left: what was there is written first. */
	room = buffered_room(&b, ROOM);
	assert_ptr_equal(room, b.buf);
	assert_int_equal(written(), 4);
	memset(room, 'e', ROOM);
	b.n += ROOM;
	buffered_end(&b);
	assert_int_equal(written(), 4 + ROOM);
	assert_memory_equal(text, "abcde", 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(small_pieces_are_written_at_the_end),
		TEST(pieces_of_any_size_stay_in_order),
		TEST(a_full_buffer_is_written_and_used_again),
		TEST(room_is_after_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
