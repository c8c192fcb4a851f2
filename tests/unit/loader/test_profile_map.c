/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Profiles in the maps of an instance: names, values, and what happens when others write there. The
 * maps are files in memory; the kernel's functions below stand for the rest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include <sys/mman.h>

#include <bpf/bpf.h>

#include "fixture.h"

#include "kernel/instance.h"
#include "tuning/tuning_switch.h"
#include "tuning/profile_map.h"

#include "../capture.h"

#define PARAMS_ID 1
#define CLAMPED_ID 2
#define CLAMPED_PART (sizeof(struct bbr_clamped_head) + 2 * sizeof(made_up_defaults))

static int params_fd = -1;
static struct bbr_profiles_head *head;
static long long connections[BBR_PROFILES];
static int waits; /* for programs that run */
static __u32 during_wait; /* the first value of the other bank of profile 0 */
static int refuse_map, refuse_info, refuse_lookup, refuse_wait; /* errno, 0: none */

static __u32 *bank(int profile, int which)
{
	return (__u32 *)(head + 1) + (2 * profile + which) * 12;
}

static int refused(int error)
{
	errno = error;
	return -1;
}

int bpf_map_get_fd_by_id(__u32 id)
{
	if (refuse_map == (int)id)
		return refused(EPERM);
	return dup(params_fd);
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *len)
{
	(void)fd;
	(void)len;
	if (refuse_info)
		return refused(refuse_info);
	((struct bpf_map_info *)info)->value_size = BBR_PROFILES * CLAMPED_PART;
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	(void)fd;
	assert_int_equal(*(const int *)key, 0);
	if (refuse_lookup)
		return refused(refuse_lookup);
	memset(value, 0xff, BBR_PROFILES * CLAMPED_PART);
	for (int i = 0; i < BBR_PROFILES; i++) {
		const struct bbr_clamped_head part = { .connections = connections[i] };

		memcpy((char *)value + i * CLAMPED_PART, &part, sizeof(part));
	}
	return 0;
}

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	(void)type;
	(void)name;
	(void)key_size;
	(void)value_size;
	(void)max_entries;
	(void)opts;
	return refuse_wait ? refused(refuse_wait) : dup(params_fd);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)fd;
	(void)key;
	(void)value;
	(void)flags;
	waits++;
	during_wait = bank(0, 1)[0];
	return 0;
}

/* ---- */

static struct instance instance = { .algorithm = &made_up,
				    .params_id = PARAMS_ID,
				    .clamped_id = CLAMPED_ID };
static struct profile_map map;

static int begin(void **state)
{
	size_t size = sizeof(*head) + 2 * BBR_PROFILES * sizeof(made_up_defaults);

	(void)state;
	refuse_map = refuse_info = refuse_lookup = refuse_wait = waits = 0;
	memset(connections, 0, sizeof(connections));
	params_fd = memfd_create("params", MFD_CLOEXEC);
	if (params_fd < 0 || ftruncate(params_fd, size))
		return -1;
	head = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, params_fd, 0);
	instance.abi.params_size = sizeof(made_up_defaults);
	return head == MAP_FAILED || profile_map_open(&instance, &map);
}

static int end(void **state)
{
	(void)state;
	profile_map_close(&map);
	munmap(head, sizeof(*head) + 2 * BBR_PROFILES * sizeof(made_up_defaults));
	close(params_fd);
	return 0;
}

static struct param_set with(const char *assignment)
{
	struct param_set p = param_set_default(&made_up);

	assert_int_equal(param_assign(assignment, &p), EXIT_DONE);
	return p;
}

static const char *name_of(int index)
{
	static char name[BBR_PROFILE_NAME_LEN];

	profile_name(&map, index, name);
	return name;
}

static void a_new_profile_gets_the_first_free_place(void **state)
{
	struct param_set fast = with("gain=2"), read;
	int index;

	(void)state;
	assert_int_equal(profile_find(&map, "fast"), -1);
	index = profile_add(&map, "fast", &fast);
	assert_int_equal(index, 1);
	assert_int_equal(profile_find(&map, "fast"), 1);
	assert_string_equal(name_of(1), "fast");
	profile_read(&map, 1, &read);
	assert_true(param_set_equal(&read, &fast));
	assert_int_equal(profile_add(&map, "other", &fast), 2);
	profile_delete(&map, 1);
	assert_int_equal(profile_find(&map, "fast"), -1);
	assert_int_equal(profile_add(&map, "third", &fast), 1);
}

static void connections_keep_a_deleted_profiles_place(void **state)
{
	struct param_set p = with("gain=2"), read;

	(void)state;
	assert_int_equal(profile_add(&map, "fast", &p), 1);
	connections[1] = 1;
	profile_delete(&map, 1);
	assert_int_equal(profile_add(&map, "other", &p), 2);
	profile_read(&map, 1, &read); /* for those connections */
	assert_true(param_set_equal(&read, &p));
	connections[1] = 0;
	assert_int_equal(profile_add(&map, "third", &p), 1);
}

static void all_places_are_taken(void **state)
{
	struct param_set p = with("gain=2");
	char name[16];

	(void)state;
	for (int i = 1; i < BBR_PROFILES; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		assert_int_equal(profile_add(&map, name, &p), i);
	}
	assert_int_equal(profile_add(&map, "one", &p), -ENOSPC);
	profile_delete(&map, 40);
	assert_int_equal(profile_add(&map, "one", &p), 40);
}

/* Programs may still read the bank that was in force before: it waits for them, then writes it. */
static void a_change_is_made_in_the_bank_that_nobody_reads(void **state)
{
	struct param_set first = with("gain=2"), second = with("gain=3"), read;

	(void)state;
	profile_init(&map, 0, BBR_PROFILE_DEFAULT, &first);
	assert_int_equal(waits, 0);
	assert_int_equal(profile_write(&map, 0, &second), 0);
	assert_int_equal(waits, 1);
	assert_int_equal(during_wait, 0);
	assert_int_equal(head->gen[0], 1);
	assert_int_equal(bank(0, 0)[0], 512);
	assert_int_equal(bank(0, 1)[0], 768);
	profile_read(&map, 0, &read);
	assert_true(param_set_equal(&read, &second));
	/* The generation may overflow. */
	head->gen[0] = ~0u;
	assert_int_equal(profile_write(&map, 0, &first), 0);
	assert_int_equal(head->gen[0], 0);
	profile_read(&map, 0, &read);
	assert_true(param_set_equal(&read, &first));
}

static void without_waiting_nothing_changes(void **state)
{
	struct param_set first = with("gain=2"), second = with("gain=3"), read;

	(void)state;
	profile_init(&map, 0, BBR_PROFILE_DEFAULT, &first);
	refuse_wait = EPERM;
	assert_int_equal(profile_write(&map, 0, &second), -EPERM);
	assert_int_equal(profile_add(&map, "fast", &second), -EPERM);
	assert_int_equal(head->gen[0], 0);
	assert_int_equal(profile_find(&map, "fast"), -1);
	profile_read(&map, 0, &read);
	assert_true(param_set_equal(&read, &first));
}

static void what_others_write_is_clamped(void **state)
{
	struct param_set read;

	(void)state;
	for (int i = 0; i < 12; i++)
		bank(0, 0)[i] = i % 2 ? 0 : ~0u;
	profile_read(&map, 0, &read);
	param_for_each (param, &made_up)
		for (__u32 i = 0; i < param->n; i++)
			assert_in_range(read.value[param->first + i], param->lo, param->hi);
	assert_int_equal(read.value[0], 4095);
	assert_int_equal(read.value[1], 64);
}

/* It must not reach a terminal, or JSON. */
static void what_others_write_as_a_name_can_be_printed(void **state)
{
	(void)state;
	memcpy(head->name[1], "\033[31m red", 10);
	assert_string_equal(name_of(1), "??31m?red");
	memset(head->name[2], 'x', BBR_PROFILE_NAME_LEN); /* no 0 at its end */
	head->name[3][0] = 0;
	assert_string_equal(name_of(2), "xxxxxxxxxxxxxxx");
	assert_string_equal(name_of(3), "");
	memcpy(head->name[0], "mine", 5); /* the first is always called so */
	assert_string_equal(name_of(0), BBR_PROFILE_DEFAULT);
	assert_int_equal(profile_find(&map, "mine"), -1);
	assert_int_equal(profile_find(&map, ""), -1);
}

static void a_missing_profile_is_reported_with_the_existing_ones(void **state)
{
	struct param_set p = with("gain=2");
	int index = 7, ret;

	(void)state;
	assert_int_equal(profile_add(&map, "fast", &p), 1);
	assert_int_equal(profile_get(&map, "fast", &index), EXIT_DONE);
	assert_int_equal(index, 1);
	capture_begin();
	ret = profile_get(&map, "fas", &index);
	capture_end();
	assert_int_equal(ret, EXIT_NOTHING);
	assert_non_null(strstr(captured_messages(), "fas: the instance has no profile"));
	assert_non_null(strstr(captured_messages(), "it has: default fast; add one"));
}

static void connections_of_a_profile(void **state)
{
	long long counted[BBR_PROFILES];

	(void)state;
	connections[0] = 5;
	connections[63] = 7;
	assert_int_equal(profile_connections(&map, counted), 0);
	assert_int_equal(counted[0], 5);
	assert_int_equal(counted[1], 0);
	assert_int_equal(counted[63], 7);
	refuse_lookup = EPERM;
	assert_int_equal(profile_connections(&map, counted), -EPERM);
}

/* An older program has fewer parameters: only their values are in its map. */
static void an_older_program_lacks_the_newest(void **state)
{
	struct param_set old = with("gain=2"), new = with("krate=20mbit"), read;
	int ret;

	(void)state;
	profile_map_close(&map);
	instance.abi.params_size = 4 * 11; /* without krate */
	assert_int_equal(profile_map_open(&instance, &map), EXIT_DONE);
	assert_int_equal(profile_check_known(&map, &old), EXIT_DONE);
	capture_begin();
	ret = profile_check_known(&map, &new);
	capture_end();
	assert_int_equal(ret, EXIT_REFUSED);
	assert_non_null(strstr(captured_messages(), "krate: the loaded program is older"));
	memset((__u32 *)(head + 1), 0xff, 3 * 44);
	profile_init(&map, 0, BBR_PROFILE_DEFAULT, &old);
	assert_int_equal(((__u32 *)(head + 1))[11], ~0u); /* not beyond its own */
	profile_read(&map, 0, &read);
	assert_true(param_set_equal(&read, &old)); /* krate at its default */
}

/* A later program has more parameters: they stay as they are. */
static void a_later_program_keeps_what_is_not_known(void **state)
{
	struct param_set p = with("gain=2");
	__u32 *value = (__u32 *)(head + 1);

	(void)state;
	profile_map_close(&map);
	instance.abi.params_size = 4 * 13;
	assert_int_equal(ftruncate(params_fd, 1 << 20), 0);
	assert_int_equal(profile_map_open(&instance, &map), EXIT_DONE);
	assert_int_equal(profile_check_known(&map, &p), EXIT_DONE);
	value[12] = 99;
	profile_init(&map, 0, BBR_PROFILE_DEFAULT, &p);
	assert_int_equal(value[0], 512);
	assert_int_equal(value[12], 99);
}

static void what_the_kernel_refuses_is_reported(void **state)
{
	struct profile_map other;
	int ret;

	(void)state;
	for (int id = PARAMS_ID; id <= CLAMPED_ID; id++) {
		refuse_map = id;
		capture_begin();
		ret = profile_map_open(&instance, &other);
		capture_end();
		assert_int_equal(ret, EXIT_REFUSED);
		assert_non_null(strstr(captured_messages(), "cannot open the instance's profiles"));
	}
	refuse_map = 0;
	refuse_info = EPERM;
	capture_begin();
	ret = profile_map_open(&instance, &other);
	capture_end();
	assert_int_equal(ret, EXIT_REFUSED);
	assert_non_null(strstr(captured_messages(), "cannot get the size"));
}

static void which_names_a_profile_can_have(void **state)
{
	static const char *const good[] = {
		"default", "a", "fast-1.x", "_", "abcdefghijklmno", "9"
	};
	static const char *const bad[] = { "",	  "-a",	   "abcdefghijklmnop", "a b",
					   "a/b", "rules", "instance",	       "a]",
					   "a\n", "\xe4" };

	(void)state;
	capture_begin();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!profile_name_is_valid(good[i]))
			printf("refused: %s\n", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (profile_name_is_valid(bad[i]))
			printf("taken: %s\n", bad[i]);
	capture_end();
	assert_string_equal(captured_output(), "");
}

/* As the program does: a rule whose profile is gone, or was never there, gives the default. */
static void the_name_of_a_rules_profile(void **state)
{
	struct tuning t = { .profiles = map };
	struct param_set p = with("gain=2");
	struct bbr_rule rule = { .profile = 1 };
	char name[BBR_PROFILE_NAME_LEN];

	(void)state;
	assert_int_equal(profile_add(&map, "fast", &p), 1);
	tuning_rule_profile(&t, &rule, name);
	assert_string_equal(name, "fast");
	for (__u32 profile = 2; profile; profile = profile < 1u << 31 ? profile * 8 : 0) {
		rule.profile = profile;
		tuning_rule_profile(&t, &rule, name);
		assert_string_equal(name, BBR_PROFILE_DEFAULT);
	}
	profile_delete(&map, 1);
	rule.profile = 1;
	tuning_rule_profile(&t, &rule, name);
	assert_string_equal(name, BBR_PROFILE_DEFAULT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_profile_gets_the_first_free_place),
		TEST(connections_keep_a_deleted_profiles_place),
		TEST(all_places_are_taken),
		TEST(a_change_is_made_in_the_bank_that_nobody_reads),
		TEST(without_waiting_nothing_changes),
		TEST(what_others_write_is_clamped),
		TEST(what_others_write_as_a_name_can_be_printed),
		TEST(a_missing_profile_is_reported_with_the_existing_ones),
		TEST(connections_of_a_profile),
		TEST(an_older_program_lacks_the_newest),
		TEST(a_later_program_keeps_what_is_not_known),
		TEST(what_the_kernel_refuses_is_reported),
		TEST(which_names_a_profile_can_have),
		TEST(the_name_of_a_rules_profile),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
