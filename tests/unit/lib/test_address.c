/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses, ports and prefixes as text. The expected addresses are what inet_ntop() writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "address.h"
#include "cli/err.h"
#include "cli/json.h"

struct address {
	__u32 part[4];
};

/* IPv4 is mapped, as in an event. */
static struct address address(const char *text)
{
	struct address a = { { 0, 0, htonl(0xffff), 0 } };

	if (strchr(text, ':'))
		assert_int_equal(inet_pton(AF_INET6, text, a.part), 1);
	else
		assert_int_equal(inet_pton(AF_INET, text, &a.part[3]), 1);
	return a;
}

static void addresses_are_those_of_inet_ntop(void **state)
{
	static const char *const texts[] = { "0.0.0.0",	     "10.0.0.1", "255.255.255.255",
					     "192.168.7.90", "::",	 "::1",
					     "::1.2.3.4",    "fd00::1",	 "2001:db8:1:2:3:4:5:6" };
	char buf[ADDRESS_TEXT_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		format_address(buf, sizeof(buf), address(texts[i]).part);
		assert_string_equal(buf, texts[i]);
	}
	for (__u32 last = 0; last < 256; last++) {
		struct address a = address("9.99.100.0");
		char expected[INET_ADDRSTRLEN];

		a.part[3] |= htonl(last);
		inet_ntop(AF_INET, &a.part[3], expected, sizeof(expected));
		format_address(buf, INET_ADDRSTRLEN, a.part);
		assert_string_equal(buf, expected);
	}
}

static void nothing_is_written_where_there_is_no_room(void **state)
{
	char buf[ADDRESS_TEXT_LEN] = "before";

	(void)state;
	format_address(buf, strlen("10.0.0.1"), address("10.0.0.1").part);
	format_address(buf, strlen("fd00::1"), address("fd00::1").part);
	format_address_port(buf, strlen("10.0.0.1:80"), address("10.0.0.1").part, htons(80));
	assert_string_equal(buf, "before");
	format_address(buf, strlen("10.0.0.1") + 1, address("10.0.0.1").part);
	assert_string_equal(buf, "10.0.0.1");
}

static void assert_endpoint(const char *addr, __u16 port, const char *with_port,
			    const char *endpoint)
{
	char buf[ADDRESS_TEXT_LEN];

	format_address_port(buf, sizeof(buf), address(addr).part, htons(port));
	assert_string_equal(buf, with_port);
	format_endpoint(buf, sizeof(buf), address(addr).part, htons(port));
	assert_string_equal(buf, endpoint);
}

static void a_port_follows_its_address(void **state)
{
	(void)state;
	assert_endpoint("10.0.0.1", 80, "10.0.0.1:80", "10.0.0.1:80");
	assert_endpoint("fd00::1", 65535, "[fd00::1]:65535", "[fd00::1]:65535");
	assert_endpoint("0.0.0.0", 0, "0.0.0.0:0", "*:0");
	assert_endpoint("::", 443, "[::]:443", "*:443");
	assert_endpoint("2001:db8:1111:2222:3333:4444:5555:6666", 12345,
			"[2001:db8:1111:2222:3333:4444:5555:6666]:12345",
			"[2001:db8:1111:2222:3333:4444:5555:6666]:12345");
}

static void assert_prefix(const char *addr, unsigned int len, const char *expected)
{
	char buf[ADDRESS_TEXT_LEN];

	format_prefix(buf, sizeof(buf), address(addr).part, len);
	assert_string_equal(buf, expected);
}

static void a_prefix_has_its_own_length(void **state)
{
	(void)state;
	assert_prefix("10.0.0.0", 96 + 8, "10.0.0.0/8");
	assert_prefix("0.0.0.0", 96, "0.0.0.0/0");
	assert_prefix("10.0.0.1", 128, "10.0.0.1");
	assert_prefix("fd00::", 8, "fd00::/8");
	assert_prefix("fd00::1", 128, "fd00::1");
	assert_prefix("::", 0, "::/0");
	/* Longer than the prefix: nobody's rule, but a map may have it. */
	assert_prefix("1.2.3.4", 64, "::ffff:1.2.3.4/64");
}

static void what_is_printed_is_read_as_the_same(void **state)
{
	__u32 addr[4], mask[4], expected[4];
	struct address a = address("10.96.0.0");
	char buf[ADDRESS_TEXT_LEN];

	(void)state;
	for (unsigned int len = 96 + 11; len <= 128; len++) {
		format_prefix(buf, sizeof(buf), a.part, len);
		assert_true(parse_prefix("--dst", buf, addr, mask));
		prefix_mask(expected, len);
		assert_memory_equal(addr, a.part, sizeof(addr));
		assert_memory_equal(mask, expected, sizeof(mask));
	}
}

/* Shorter than ::ffff:0:0/96, a prefix would have other addresses than IPv4, and all of IPv4. */
static void an_ipv4_prefix_in_ipv6_is_not_shorter_than_96(void **state)
{
	__u32 addr[4], mask[4];
	char *said;
	size_t size;
	FILE *out = open_memstream(&said, &size);

	(void)state;
	err_init("tool", false);
	err_to(out);
	assert_true(parse_prefix("--dst", "::ffff:10.0.0.0/104", addr, mask));
	assert_true(parse_prefix("--dst", "::ffff:0.0.0.0/96", addr, mask));
	assert_true(parse_prefix("--dst", "::/0", addr, mask));
	assert_false(parse_prefix("--dst", "::ffff:10.0.0.0/8", addr, mask));
	assert_false(parse_prefix("--dst", "::ffff:a00:0/95", addr, mask));
	err_to(NULL);
	fclose(out);
	assert_string_equal(said, "tool: --dst ::ffff:10.0.0.0/8: the prefix length of an IPv4 "
				  "address in IPv6 is 96 to 128\n"
				  "  write it as IPv4: 10.0.0.0/8\n"
				  "tool: --dst ::ffff:a00:0/95: the prefix length of an IPv4 "
				  "address in IPv6 is 96 to 128\n");
	free(said);
}

static void json_has_an_address_and_a_port(void **state)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct json j;

	(void)state;
	json_begin(&j, out);
	json_add_endpoint(&j, "local", address("10.0.0.1").part, "lport", htons(1234));
	json_add_endpoint(&j, "remote", address("fd00::1").part, "rport", htons(80));
	json_end(&j);
	fclose(out);
	assert_string_equal(text, "{\"local\":\"10.0.0.1\",\"lport\":1234,"
				  "\"remote\":\"fd00::1\",\"rport\":80}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_those_of_inet_ntop),
		cmocka_unit_test(nothing_is_written_where_there_is_no_room),
		cmocka_unit_test(a_port_follows_its_address),
		cmocka_unit_test(a_prefix_has_its_own_length),
		cmocka_unit_test(what_is_printed_is_read_as_the_same),
		cmocka_unit_test(an_ipv4_prefix_in_ipv6_is_not_shorter_than_96),
		cmocka_unit_test(json_has_an_address_and_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
