/* SPDX-License-Identifier: GPL-2.0-only */
/* Which connection an event belongs to, and the map of connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "event/conn_map.h"

static const struct origin first = { .name = "first", .id = 1 };
static const struct origin second = { .name = "second", .id = 2 };

static struct bbr_event event(__u64 conn, __u16 port)
{
	return (struct bbr_event){
		.conn = conn,
		.netns = 1,
		.laddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.raddr = { 0, 0, htonl(0xffff), htonl(0x0a000002) },
		.lport = htons(port),
		.rport = htons(80),
	};
}

static bool same(struct conn_key a, struct conn_key b)
{
	return !memcmp(&a, &b, sizeof(a));
}

static void an_id_is_unique_within_its_origin(void **state)
{
	struct bbr_event a = event(7, 1000), b = event(7, 2000), c = event(8, 1000);

	(void)state;
	assert_true(same(conn_key_of(&first, &a), conn_key_of(&first, &b)));
	assert_true(same(conn_key_of(&first, &a), conn_key_of_id(1, 7)));
	assert_false(same(conn_key_of(&first, &a), conn_key_of(&first, &c)));
	assert_false(same(conn_key_of(&first, &a), conn_key_of(&second, &a)));
}

static void without_an_id_addresses_tell_connections_apart(void **state)
{
	struct bbr_event a = event(0, 1000), b = event(0, 1000), c = event(0, 1001);

	(void)state;
	b.cwnd = 99;
	b.time_ns = 5;
	assert_true(same(conn_key_of(&first, &a), conn_key_of(&first, &b)));
	assert_false(same(conn_key_of(&first, &a), conn_key_of(&first, &c)));
	assert_false(same(conn_key_of(&first, &a), conn_key_of(&second, &a)));
}

static void a_tuple_has_both_ends_and_the_namespace(void **state)
{
	struct bbr_event e = event(3, 1000);
	const struct conn_key key = conn_key_of_tuple(&e);

	(void)state;
	e.conn = 4;
	assert_true(same(key, conn_key_of_tuple(&e)));
	e.rport++;
	assert_false(same(key, conn_key_of_tuple(&e)));
	e = event(3, 1000);
	e.lport++;
	assert_false(same(key, conn_key_of_tuple(&e)));
	e = event(3, 1000);
	e.netns++;
	assert_false(same(key, conn_key_of_tuple(&e)));
	e = event(3, 1000);
	e.laddr[0]++;
	assert_false(same(key, conn_key_of_tuple(&e)));
	e = event(3, 1000);
	e.raddr[3]++;
	assert_false(same(key, conn_key_of_tuple(&e)));
}

static void what_was_added_is_found_until_it_is_removed(void **state)
{
	struct conn_map map = {};
	struct conn_key keys[1000], none = conn_key_of_id(1, 1000);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		keys[i] = conn_key_of_id(1, i * 7919 % 1000);
		assert_true(conn_map_add(&map, &keys[i]));
	}
	assert_null(conn_map_find(&map, &none));
	for (int i = 0; i < 1000; i++) {
		struct conn_key like = conn_key_of_id(1, i * 7919 % 1000);

		assert_ptr_equal(conn_map_find(&map, &like), &keys[i]);
		conn_map_remove(&map, &keys[i]);
		assert_null(conn_map_find(&map, &like));
	}
	assert_int_equal(map.n, 0);
	assert_null(map.slots);
}

static void an_equal_key_of_another_is_not_removed(void **state)
{
	struct conn_map map = {};
	struct conn_key mine = conn_key_of_id(1, 7), other = mine;

	(void)state;
	assert_true(conn_map_add(&map, &mine));
	conn_map_remove(&map, &other);
	assert_ptr_equal(conn_map_find(&map, &other), &mine);
	conn_map_remove(&map, &mine);
	assert_null(conn_map_find(&map, &mine));
}

/* At random, against a list of what must be there. */
static void adding_and_removing_in_any_order(void **state)
{
	enum {
		KEYS = 300,
		STEPS = 200000
	};
	struct conn_map map = {};
	struct conn_key keys[KEYS];
	bool is_there[KEYS] = {};
	unsigned int seed = 1, n = 0;

	(void)state;
	for (int i = 0; i < KEYS; i++)
		keys[i] = conn_key_of_id(1, i);
	for (int step = 0; step < STEPS; step++) {
		/* Few and many in turn, so that holes close over whole runs of slots. */
		int i = rand_r(&seed) % KEYS, more = step / 1000 % 2;

		if (is_there[i] && rand_r(&seed) % 4 > (more ? 2 : 0)) {
			conn_map_remove(&map, &keys[i]);
			is_there[i] = false;
			n--;
		} else if (!is_there[i] && more) {
			assert_true(conn_map_add(&map, &keys[i]));
			is_there[i] = true;
			n++;
		}
		assert_int_equal(map.n, n);
		i = rand_r(&seed) % KEYS;
		assert_ptr_equal(conn_map_find(&map, &keys[i]), is_there[i] ? &keys[i] : NULL);
	}
	for (int i = 0; i < KEYS; i++)
		conn_map_remove(&map, &keys[i]);
	assert_int_equal(map.n, 0);
	assert_null(map.slots);
}

static void a_list_is_in_order(void **state)
{
	struct conn_map map = {};
	struct conn_key keys[100], **list;

	(void)state;
	for (int i = 0; i < 100; i++) {
		keys[i] = conn_key_of_id(1, i * 37 % 100);
		assert_true(conn_map_add(&map, &keys[i]));
	}
	list = conn_map_sorted(&map);
	for (int i = 0; i < 100; i++)
		assert_int_equal(list[i]->conn, i);
	assert_null(list[100]);
	free(list);
	for (int i = 0; i < 100; i++)
		conn_map_remove(&map, &keys[i]);
}

static void free_frees_each_key(void **state)
{
	struct conn_map map = {};

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct conn_key *key = malloc(sizeof(*key));

		*key = conn_key_of_id(2, i);
		assert_true(conn_map_add(&map, key));
	}
	conn_map_free(&map); /* or the sanitizer finds a leak */
	assert_int_equal(map.n, 0);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_id_is_unique_within_its_origin),
		TEST(without_an_id_addresses_tell_connections_apart),
		TEST(a_tuple_has_both_ends_and_the_namespace),
		TEST(what_was_added_is_found_until_it_is_removed),
		TEST(an_equal_key_of_another_is_not_removed),
		TEST(adding_and_removing_in_any_order),
		TEST(a_list_is_in_order),
		TEST(free_frees_each_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
