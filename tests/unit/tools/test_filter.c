// SPDX-License-Identifier: GPL-2.0-only
/* Filter expressions on events: values of any field, and the part that the BPF program checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "bpf/bbr/event.h"
#include "cli/err.h"
#include "event/event.h"
#include "filter/filter.h"
#include "made_up.h"

#define TEST(f) cmocka_unit_test(f)

static struct origin origin = { .name = "bpf_bbr", .id = 1 };

static const struct bbr_event event = {
	.size = sizeof(event),
	.kind = BBR_EV_ACK,
	.family = AF_INET,
	.flags = BBR_F_FULL_BW,
	.laddr = { 0, 0, 0xffff0000, 0x0100000a },
	.raddr = { 0, 0, 0xffff0000, 0x0200000a },
	.mss = 1000,
	.pacing_rate = 1250000, /* 10 Mbit/s */
	.srtt_us = 5000,
	.cwnd = 20,
	.rtt_us = BBR_RTT_NONE,
	.min_rtt_us = 4999,
	.pacing_gain = 320,
	.ca_state = 4,
};

static bool matches(const char *text)
{
	static struct filter f;
	struct bbr_event e = event;
	bool result;

	e.lport = htons(5000);
	e.rport = htons(443);
	assert_true(filter_parse(&f, text, NULL, NULL));
	result = filter_matches(&f, &origin, &e, NULL);
	filter_free(&f);
	return result;
}

static bool is_refused(const char *text)
{
	static struct filter f;
	bool parsed = filter_parse(&f, text, NULL, NULL);

	filter_free(&f);
	return !parsed;
}

static void numbers_are_compared_in_their_unit(void **state)
{
	(void)state;
	assert_true(matches("pacing_rate_bps = 10mbit"));
	assert_true(matches("pacing_rate_bps = 10000000"));
	assert_false(matches("pacing_rate_bps > 10mbit"));
	assert_true(matches("pacing_rate_bps >= 10mbit and pacing_rate_bps < 10.1mbit"));
	assert_true(matches("srtt_us = 5ms") && matches("srtt_us = 5000"));
	assert_true(matches("min_rtt_us < 5ms"));
	assert_true(matches("pacing_gain = 1.25") && !matches("pacing_gain < 1.25"));
	assert_true(matches("cwnd le 20") && !matches("cwnd lt 20") && matches("not cwnd gt 20"));
	/* Between two whole numbers. */
	assert_true(matches("cwnd > 19.5") && matches("cwnd < 20.5"));
	assert_false(matches("cwnd >= 20.5") || matches("cwnd <= 19.5"));
	assert_true(matches("full_bw_reached = true") && matches("full_bw_reached 1"));
	assert_false(matches("full_bw_reached = false"));
	assert_true(matches("ca_state = LOSS") && matches("ca_state != open"));
}

static void what_is_not_known_is_only_unequal(void **state)
{
	(void)state;
	assert_false(matches("rtt_us > 0") || matches("rtt_us <= 1s") || matches("rtt_us = 1"));
	assert_true(matches("rtt_us != 1"));
	assert_false(matches("losses < 10")); /* no sample */
}

static void an_address_or_a_port_alone_is_of_either_end(void **state)
{
	(void)state;
	assert_true(matches("10.0.0.1") && matches("10.0.0.2") && matches("10.0.0.0/30"));
	assert_true(matches(":443") && matches(":5000") && matches("10.0.0.2:443"));
	assert_true(matches("10.0.0.1:5000 and not 10.0.0.3"));
	assert_false(matches("10.0.0.3") || matches(":80") || matches("10.0.0.1:443"));
	assert_false(matches("fd00::1") || matches("[fd00::1]:443"));
	assert_true(is_refused("host:80") && is_refused("10.0.0.1.2") && is_refused("12"));
}

static bool find_device(void *ctx, const char *option, const char *name,
			struct filter_device **list, int *n)
{
	(void)ctx;
	(void)option;
	if (strcmp(name, "v0") && strcmp(name, "3") && strcmp(name, "a_name_of_15_by"))
		return false;
	*list = malloc(sizeof(**list));
	**list = (struct filter_device){ 7, 3 };
	*n = 1;
	return true;
}

/* Of a socket of namespace 7 from fe80::1 to fe80::2, bound to the device. 2: it is refused. */
static int matches_bound(const char *text, __u32 device)
{
	const struct filter_system system = { .device = find_device };
	struct bbr_snapshot socket = { .bound_ifindex = device, .state = 1 };
	static struct filter f;
	int result = 2;

	socket.event = event;
	socket.event.netns = 7;
	socket.event.family = AF_INET6;
	socket.event.lport = htons(5000);
	socket.event.rport = htons(443);
	inet_pton(AF_INET6, "fe80::1", socket.event.laddr);
	inet_pton(AF_INET6, "fe80::2", socket.event.raddr);
	if (filter_parse(&f, text, &system, NULL))
		result = filter_matches(&f, &origin, &socket.event, &socket);
	filter_free(&f);
	return result;
}

/* As snapshot prints addresses, and as people write them. */
static void an_address_may_name_the_device(void **state)
{
	static const char *const of_it[] = {
		"src fe80::1%v0",     "src [fe80::1]%3:5000",
		"dst fe80::2%3",      "dst [fe80::2%v0]:443",
		"[fe80::1]%3:5000",   "fe80::2%v0",
		"src fe80::%v0/10",   "dst != fe80::3%v0",
		"not dst fe80::3%v0", "dst fe80::2%v0 or sport 1",
	};
	static const char *const of_none[] = {
		"src fe80::2%v0",
		"dst [fe80::2%v0]:444",
		"[fe80::1]%3:443",
		"dst != fe80::2%v0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of_it) / sizeof(of_it[0]); i++) {
		if (matches_bound(of_it[i], 3) != 1)
			fail_msg("%s does not match", of_it[i]);
		if (matches_bound(of_it[i], 4) != !!strstr(of_it[i], "fe80::3"))
			fail_msg("%s matches another device", of_it[i]);
	}
	for (size_t i = 0; i < sizeof(of_none) / sizeof(of_none[0]); i++)
		if (matches_bound(of_none[i], 3))
			fail_msg("%s matches", of_none[i]);
	assert_int_equal(matches_bound("dst fe80::2%v1", 3), 2);
	assert_int_equal(matches_bound("dst fe80::2%", 3), 2);
	assert_int_equal(matches_bound("dst fe80::2%a_name_of_15_by", 3), 1);
	assert_int_equal(matches_bound("dst fe80::2%a_name_of_15_bytes", 3), 2);
	assert_int_equal(matches_bound("[fe80::2%a_name_of_15_bytes]:443", 3), 2);
	assert_true(is_refused("dst fe80::2%v0")); /* events do not have it */
}

/* JSON and text call it so; "name" is the option. */
static void the_instance_has_three_words(void **state)
{
	(void)state;
	assert_true(matches("instance bpf_bbr") && matches("name = bpf_bbr") &&
		    matches("cc bpf_bbr"));
	assert_false(matches("instance != bpf_bbr") || matches("instance bbr"));
}

static void modes_have_phases(void **state)
{
	(void)state;
	assert_true(matches("mode STARTUP") && matches("mode != DRAIN"));
	assert_false(matches("mode PROBE_BW/0")); /* the event is in STARTUP */
	assert_true(is_refused("mode STARTUP/0") && is_refused("mode PROBE_BW/8"));
}

static void a_reason_is_that_of_a_change_of_mode(void **state)
{
	static struct filter f;
	struct bbr_event e = event;

	(void)state;
	assert_true(filter_parse(&f, "reason = FULL_BW", NULL, NULL));
	assert_false(filter_matches(&f, &origin, &e, NULL) || filter_knows(&f, &e));
	e.kind = BBR_EV_MODE;
	e.reason = BBR_R_FULL_BW;
	assert_true(filter_matches(&f, &origin, &e, NULL) && filter_knows(&f, &e));
	e.reason = BBR_R_DRAINED;
	assert_false(filter_matches(&f, &origin, &e, NULL));
	assert_true(filter_has_state(&f) && is_refused("reason why"));
}

/* What is printed about an expression for a recording that describes the made-up algorithm. */
static const char *said_of(const char *text)
{
	const struct known known = { "made up", describe_made_up };
	static char said[4096];
	static struct filter f;
	FILE *out = fmemopen(said, sizeof(said), "w");

	said[0] = 0;
	err_to(out);
	assert_false(filter_parse(&f, text, NULL, &known));
	err_to(NULL);
	fclose(out);
	return said;
}

static bool matches_made_up(const char *text, const struct bbr_event *e)
{
	const struct known known = { "made up", describe_made_up };
	static struct filter f;

	assert_true(filter_parse(&f, text, NULL, &known));
	return filter_matches(&f, &made_up_origin, e, NULL);
}

static void a_recording_says_what_can_be_named(void **state)
{
	struct bbr_event e = made_up_event(1, WALK, 55, 2);

	(void)state;
	e.phase = 1;
	assert_true(matches_made_up("stamina > 54 and surface = SNOW and mode walk/right", &e));
	assert_false(matches_made_up("stamina > 55 or surface road or mode WALK/left", &e));
	assert_true(matches_made_up("cwnd = 20 and mode != STARTUP and stamina != 1", &e));
	assert_false(matches_made_up("reason stone", &e));
	e.kind = BBR_EV_MODE;
	assert_true(matches_made_up("reason stone", &e));
	assert_true(is_refused("stamina > 54") && is_refused("mode WALK"));

	assert_non_null(strstr(said_of("staminas > 54"), "stamina, surface,"));
	assert_non_null(strstr(said_of("surface = ice"), "  road, sand, snow\n"));
	assert_non_null(strstr(said_of("mode SIT"), "PROBE_RTT, CRAWL, WALK, RUN, REST, FALL\n"));
	assert_non_null(strstr(said_of("mode WALK/up"), "WALK, WALK/left, WALK/right, RUN,"));
	assert_non_null(strstr(said_of("reason x"), ", stone, ice\n"));
	assert_non_null(strstr(said_of("stamina = 5ms"), "a number: 10, 64k"));
	assert_non_null(strstr(said_of("bw_bps > 99999999999999999999mbit"), "too large"));
}

static void wrong_values_are_refused(void **state)
{
	static const char *const texts[] = {
		"cwnd > ten",	       "cwnd = 1.5",
		"bw_bps > 3ms",	       "srtt_us < 10mbit",
		"full_bw_reached > 0", "ca_state > open",
		"ca_state = lost",     "full_bw_reached maybe",
		"no_such_key = 1",     "mode = NONE",
		"state established",   "fwmark 1",
		"cgroup /a",	       "dev eth0",
		"exclude closed",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_true(is_refused(texts[i]));
}

/* What the BPF program is asked to check; returns whether that is all. */
static bool pushed(const char *text, struct bbr_filter *k)
{
	static struct filter f;
	bool all;

	memset(k, 0, sizeof(*k));
	assert_true(filter_parse(&f, text, NULL, NULL));
	all = filter_push_down(&f, k);
	filter_free(&f);
	return all;
}

static void the_program_does_addresses_and_ports_of_all(void **state)
{
	static const struct bbr_filter none;
	struct bbr_filter k;

	(void)state;
	assert_true(pushed("dst 10.0.0.0/8 and dport = 443 and src 10.0.0.1:22", &k));
	assert_int_equal(k.rport, htons(443));
	assert_int_equal(k.lport, htons(22));
	assert_int_equal(k.raddr[3], htonl(0x0a000000));
	assert_int_equal(k.rmask[3], htonl(0xff000000));
	assert_int_equal(k.lmask[3], 0xffffffff);
	/* One of two that must both match, and what the program cannot check. */
	assert_false(pushed("dport 443 and cwnd > 5", &k));
	assert_int_equal(k.rport, htons(443));
	assert_false(pushed("dport 443 dport 80", &k));
	assert_int_equal(k.rport, htons(443));
	assert_false(pushed("dport 443 or dport 80", &k) || memcmp(&k, &none, sizeof(k)));
	assert_false(pushed("not dport 443", &k) || memcmp(&k, &none, sizeof(k)));
	assert_false(pushed("dport != 443", &k) || memcmp(&k, &none, sizeof(k)));
	assert_false(pushed("dport > 443", &k) || memcmp(&k, &none, sizeof(k)));
	assert_false(pushed("name bpf_bbr", &k) || memcmp(&k, &none, sizeof(k)));
}

static void state_differs_from_what_stays(void **state)
{
	static const char *const of_state[] = { "mode DRAIN", "profile a", "dport 1 or cwnd > 2" };
	static const char *const that_stays[] = { "", "dst 10.0.0.1:80 and not sport 1", "name a" };
	static struct filter f;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(filter_parse(&f, of_state[i], NULL, NULL));
		assert_true(filter_has_state(&f));
		assert_true(filter_parse(&f, that_stays[i], NULL, NULL));
		assert_false(filter_has_state(&f));
	}
}

/* An event without a sample does not show that a condition on a sample is not met. */
static void only_samples_know_samples(void **state)
{
	static struct filter f;
	struct bbr_event e = event;

	(void)state;
	assert_true(filter_parse(&f, "losses > 0 and cwnd > 1", NULL, NULL));
	assert_false(filter_knows(&f, &e));
	e.flags |= BBR_F_SAMPLE;
	assert_true(filter_knows(&f, &e));
	assert_true(filter_parse(&f, "cwnd > 1", NULL, NULL));
	assert_true(filter_knows(&f, &event));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_are_compared_in_their_unit),
		TEST(what_is_not_known_is_only_unequal),
		TEST(an_address_or_a_port_alone_is_of_either_end),
		TEST(an_address_may_name_the_device),
		TEST(the_instance_has_three_words),
		TEST(modes_have_phases),
		TEST(a_reason_is_that_of_a_change_of_mode),
		TEST(a_recording_says_what_can_be_named),
		TEST(wrong_values_are_refused),
		TEST(the_program_does_addresses_and_ports_of_all),
		TEST(state_differs_from_what_stays),
		TEST(only_samples_know_samples),
	};

	origin.algorithm = algorithm_find("bbr");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
