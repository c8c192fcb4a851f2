/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules as text, as a list, and as the trie in which a program looks them up. Here the trie is in
 * this file, not in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "fixture.h"
#include "kernel/instance.h"
#include "tuning/rule_list.h"
#include "tuning/rule_text.h"

#define OUTER_ID 1
#define INNER_ID 2
#define MAX_RULES 64

static struct {
	struct bbr_rule_key key;
	unsigned char value[BBR_RULE_SIZE];
} trie[3 * MAX_RULES + 1];
static int trie_len;
static bool has_trie;
static int outer_fd;

static int any_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int bpf_map_get_fd_by_id(__u32 id)
{
	int fd = any_fd();

	if (id == OUTER_ID)
		outer_fd = fd;
	return fd;
}

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	(void)name;
	(void)opts;
	assert_int_equal(type, BPF_MAP_TYPE_LPM_TRIE);
	assert_int_equal(key_size, sizeof(trie->key));
	assert_int_equal(value_size, sizeof(trie->value));
	assert_true(max_entries > BBR_MAX_RULES);
	trie_len = 0;
	return any_fd();
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	int i = 0;

	assert_int_equal(flags, BPF_ANY);
	if (fd == outer_fd) {
		has_trie = true;
		return 0;
	}
	while (i < trie_len && memcmp(&trie[i].key, key, sizeof(trie->key)))
		i++;
	assert_true(i < 3 * MAX_RULES + 1);
	trie_len += i == trie_len;
	memcpy(&trie[i].key, key, sizeof(trie->key));
	memcpy(&trie[i].value, value, sizeof(trie->value));
	return 0;
}

static bool begins_with(const struct bbr_rule_key *key, const struct bbr_rule_key *prefix)
{
	const unsigned char *a = (const void *)&key->fields, *b = (const void *)&prefix->fields;
	__u32 bytes = prefix->prefixlen / 8, bits = prefix->prefixlen % 8;

	return !memcmp(a, b, bytes) && (!bits || !((a[bytes] ^ b[bytes]) >> (8 - bits)));
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	static const __u32 inner = INNER_ID;
	int best = -1;

	if (fd == outer_fd && has_trie) {
		memcpy(value, &inner, sizeof(inner));
		return 0;
	}
	for (int i = 0; fd != outer_fd && i < trie_len; i++)
		if (begins_with(key, &trie[i].key) &&
		    (best < 0 || trie[i].key.prefixlen > trie[best].key.prefixlen))
			best = i;
	if (best < 0) {
		errno = ENOENT;
		return -1;
	}
	memcpy(value, &trie[best].value, sizeof(trie->value));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	(void)key;
	assert_int_equal(fd, outer_fd);
	if (has_trie) {
		has_trie = false;
		return 0;
	}
	errno = ENOENT;
	return -1;
}

static const struct instance instance = { .rules_id = OUTER_ID };

static struct bbr_rule parse(const char *text)
{
	struct rule_line parsed;
	char line[256];

	snprintf(line, sizeof(line), "--profile p %s", text);
	if (rule_parse_line(line, &parsed) != EXIT_DONE)
		fail_msg("%s: refused", text);
	assert_string_equal(parsed.profile, "p");
	return parsed.rule;
}

static void rules_come_back_from_text(void **state)
{
	static const char *const texts[] = {
		"",
		"--dst 10.0.0.0/8",
		"--dst 192.0.2.1",
		"--dst 0.0.0.0/0",
		"--dst 2001:db8::/32",
		"--dst ::1",
		"--dport 443",
		"--sport 1 --mark 0",
		"--dst 10.1.0.0/16 --dport 80 --sport 65535 --mark 4294967295",
		"--src 192.0.2.0/24 --dev eth0",
		"--dport 443 --not-dst fd00::/8 --not-dst 10.0.0.0/8 --not-src 192.0.2.1",
		"--not-dport 22 --not-sport 22 --not-mark 7 --not-dev wg0",
		"--dev \"a\\x1bb\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bbr_rule rule = parse(texts[i]);
		char text[RULE_TEXT_LEN];

		rule_format(&rule, text, sizeof(text));
		assert_string_equal(text, texts[i]);
	}
}

static void what_is_no_rule_is_refused(void **state)
{
	static const char *const wrong[] = {
		"--dst 10.0.0.0/8",
		"--profile p --dst 10.0.0.0/33",
		"--profile p --dst ten",
		"--profile p --dport 0",
		"--profile p --dport 65536",
		"--profile p --mark -1",
		"--profile p --dport",
		"--profile p nonsense",
		"--profile",
		"--profile p --colour 1",
		"--profile p --src ten",
		"--profile p --not-dst 10.0.0.0/33",
		"--profile p --not-p p",
		"--profile p --dev a/b",
		"--profile p --dev 0123456789abcdef",
		"--profile p --src ::1 --src ::2",
		"--profile p --not-dport 1 --not-dport 1",
		"--profile p --dst 10.0.0.0/8 --dst 192.0.2.0/24",
		"--profile p --dport 80 --sport 1 --dport 443",
		"--profile p --mark 1 --mark 1",
		"--profile p --profile q",
		"--profile p --pod web/front-0 --pod web/front-1",
		"--profile p --not-mark 1 --not-mark 2 --not-mark 3 --not-mark 4 --not-mark 5 "
		"--not-mark 6 --not-mark 7 --not-mark 8 --not-mark 9",
		"--profile p --pod front-0",
		"--profile p --pod /front-0",
		"--profile p --pod web/",
		"--profile p --pod web/front/0",
		"--profile p --pod web/front-0 --cgroup /",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct rule_line parsed;
		char line[256];

		strcpy(line, wrong[i]);
		if (rule_parse_line(line, &parsed) != EXIT_USAGE)
			fail_msg("taken: %s", wrong[i]);
	}
}

static void add(struct rule_list *rules, const char *text)
{
	struct bbr_rule rule = parse(text);

	rule.profile = rules->n + 1;
	assert_int_equal(rule_list_insert(rules, rules->n, &rule), EXIT_DONE);
}

static void a_list_keeps_its_order(void **state)
{
	struct rule_list rules = {};
	struct bbr_rule rule = parse("--dport 3");
	__u32 first, second;

	(void)state;
	add(&rules, "--dport 1");
	add(&rules, "--dport 2");
	assert_int_equal(rule_list_insert(&rules, 1, &rule), EXIT_DONE);
	assert_int_equal(ntohs(rules.rule[1].dport), 3);
	assert_int_equal(rule_list_find(&rules, &rule), 1);
	rule_list_remove(&rules, 0);
	assert_int_equal(rule_list_find(&rules, &rule), 0);
	assert_int_equal(rule_list_count(&rules, 2), 1);
	rule_list_find_twins(&rules, &first, &second);
	assert_int_equal(first, second);
	add(&rules, "--dport 3");
	rule_list_find_twins(&rules, &first, &second);
	assert_int_equal(first, 0);
	assert_int_equal(second, 2);
	rule_list_free(&rules);
}

static void what_is_written_is_read(void **state)
{
	struct rule_list rules = {}, back, none = {};

	(void)state;
	add(&rules, "--dst 10.0.0.0/8 --dport 80");
	add(&rules, "--not-dst 10.0.0.0/8 --dport 80 --mark 3");
	add(&rules, "--src ::1 --dev lo");
	add(&rules, "");
	assert_int_equal(rule_list_write(&instance, &rules), EXIT_DONE);
	assert_int_equal(rule_list_read(&instance, &back), EXIT_DONE);
	assert_int_equal(back.n, 4);
	for (__u32 i = 0; i < 4; i++) {
		assert_int_equal(back.rule[i].order, i);
		back.rule[i].order = 0;
		assert_memory_equal(&back.rule[i], &rules.rule[i], sizeof(*back.rule));
	}
	rule_list_free(&back);
	assert_int_equal(rule_list_write(&instance, &none), EXIT_DONE);
	assert_int_equal(rule_list_read(&instance, &back), EXIT_DONE);
	assert_int_equal(back.n, 0);
	rule_list_free(&back);
	rule_list_free(&rules);
}

/* A rule that bbrctl did not write. */
static void a_rule_that_makes_no_sense_is_not_read(void **state)
{
	struct rule_list rules = {}, back;

	(void)state;
	add(&rules, "--dport 80");
	rules.rule[0].dst_len = 129;
	assert_int_equal(rule_list_write(&instance, &rules), EXIT_DONE);
	assert_int_equal(rule_list_try_read(&instance, &back), -EINVAL);
	rule_list_free(&rules);
}

/* All their conditions are tried one by one, so their number is bounded. */
static void too_many_terms_are_refused(void **state)
{
	struct rule_list rules = {};
	char text[64];

	(void)state;
	for (int i = 0; i < BBR_TERM_ENTRIES; i++) {
		snprintf(text, sizeof(text), "--not-dport %d --sport 1", i + 1);
		add(&rules, text);
	}
	memset(trie, 0, sizeof(trie));
	assert_int_equal(rule_list_error(-E2BIG), EXIT_REFUSED);
	add(&rules, "--not-dport 1");
	assert_int_equal(rule_trie_make(&rules), -E2BIG);
	rule_list_free(&rules);
}

static int looked_up(const struct rule_test *test)
{
	struct rule_lookup lookup;
	struct bbr_rule rule;
	int place;

	assert_int_equal(rule_lookup_open(&lookup, &instance), 0);
	place = rule_lookup_match(&lookup, test, &rule) ? (int)rule.order : -1;
	rule_lookup_close(&lookup);
	return place;
}

/* Few values, so that many rules meet. */
static struct bbr_rule any_rule(void)
{
	struct bbr_rule rule = { .fields = rand() % BBR_RULE_COMBINATIONS,
				 .profile = rand() % BBR_MAX_RULES };

	rule.dst_len = rand() % 2 ? 0 : 96 + 8 * (rand() % 5);
	if (rule.dst_len) {
		rule.dst[2] = htonl(0xffff);
		rule.dst[3] = htonl(0x0a000000 | rand() % 2 << 16 | rand() % 2 << 8 | rand() % 2);
		if (rule.dst_len < 128)
			rule.dst[3] &= htonl(~0ull << (128 - rule.dst_len));
	}
	rule.dport = rule.fields & BBR_RULE_DPORT ? 1 + rand() % 2 : 0;
	rule.sport = rule.fields & BBR_RULE_SPORT ? 1 + rand() % 2 : 0;
	rule.mark = rule.fields & BBR_RULE_MARK ? rand() % 2 : 0;
	rule.cgroup = rule.fields & BBR_RULE_CGROUP ? 1 + rand() % 3 : 0;
	for (int n = rand() % 2 ? 0 : rand() % 3; n > 0; n--) {
		struct bbr_term *term = &rule.more[rule.n_more++];

		*term = (struct bbr_term){ .kind = BBR_TERM_DST + rand() % 7,
					   .is_not = rand() % 2 };
		term->len = 96 + 8 * (rand() % 5);
		term->value[0] = rand() % 3;
		if (term->kind == BBR_TERM_DST || term->kind == BBR_TERM_SRC) {
			term->value[0] = 0;
			term->value[2] = htonl(0xffff);
			term->value[3] = htonl(0x0a000000 | rand() % 2 << 16 | rand() % 2);
		} else if (term->kind == BBR_TERM_DEV) {
			memcpy(term->value, rand() % 2 ? "a" : "ab", 2);
		} else {
			term->is_not = 1;
		}
		if (term->kind == BBR_TERM_DST)
			term->is_not = 1;
	}
	return rule;
}

static void the_trie_finds_what_the_list_does(void **state)
{
	int found = 0, not_found = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < 200; round++) {
		struct rule_list rules = {};
		int n = rand() % 12;

		for (int i = 0; i < n; i++) {
			struct bbr_rule rule = any_rule();

			if (rule_list_find(&rules, &rule) < 0)
				assert_int_equal(
					rule_list_insert(&rules, rand() % (rules.n + 1), &rule),
					EXIT_DONE);
		}
		assert_int_equal(rule_list_write(&instance, &rules), EXIT_DONE);
		for (int i = 0; i < 50; i++) {
			const __u64 cgroups[] = { 1 + rand() % 3, 7 };
			struct rule_test test = {
				.addr = { 0, 0, htonl(0xffff),
					  htonl(0x0a000000 | rand() % 2 << 16 | rand() % 2 << 8 |
						rand() % 2) },
				.dport = 1 + rand() % 2,
				.sport = 1 + rand() % 2,
				.mark = rand() % 2,
				.cgroups = cgroups,
				.nr_cgroups = 2,
				.src = { 0, 0, htonl(0xffff),
					 htonl(0x0a000000 | rand() % 2 << 16 | rand() % 2) },
				.dev = "a",
			};
			int place = rule_list_match(&rules, &test);

			assert_int_equal(looked_up(&test), place);
			*(place < 0 ? &not_found : &found) += 1;
		}
		rule_list_free(&rules);
	}
	assert_true(found > 1000 && not_found > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_come_back_from_text),
		cmocka_unit_test(what_is_no_rule_is_refused),
		cmocka_unit_test(a_list_keeps_its_order),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_rule_that_makes_no_sense_is_not_read),
		cmocka_unit_test(too_many_terms_are_refused),
		cmocka_unit_test(the_trie_finds_what_the_list_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
