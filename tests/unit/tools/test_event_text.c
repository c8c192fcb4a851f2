/* SPDX-License-Identifier: GPL-2.0-only */
/* An event as a line for people, whatever its algorithm, its kind and its addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "event/event.h"
#include "made_up.h"

#define ANY_KIND 256

static char *text;

static int end(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static const char *line_of(const struct bbr_event *e, const struct text_style *style)
{
	size_t len;
	FILE *out = open_memstream(&text, &len);

	event_print_text(out, style, &made_up_origin, e);
	fclose(out);
	return text;
}

static const char *line(const struct bbr_event *e)
{
	static const struct text_style plain = { .start_ns = 1000000000 };

	free(text);
	return line_of(e, &plain);
}

static void expect_part(const struct bbr_event *e, const char *part)
{
	if (!strstr(line(e), part))
		fail_msg("\"%s\" is not in: %s", part, text);
}

static void expect_no(const struct bbr_event *e, const char *part)
{
	if (strstr(line(e), part))
		fail_msg("\"%s\" is in: %s", part, text);
}

static void a_whole_line(void **state)
{
	struct bbr_event e = made_up_event(7, WALK, 33, 1);

	(void)state;
	e.time_ns += 1234567;
	e.delivered = 12;
	e.lost = 3;
	assert_string_equal(line(&e),
			    "0.001235 runner 10.0.0.1:7 > 10.0.0.2:80 ack "
			    "bbr:(bw:7.81Mbps,mrtt:10,pacing_gain:1,cwnd_gain:2) WALK/left "
			    "rtt:12ms inflight:10 cwnd:20 pacing:1Mbps stamina:33 delivered:12 "
			    "lost:3 ca:open\n");
}

static void the_state_is_the_end_of_the_line(void **state)
{
	struct bbr_event e = made_up_event(7, WALK, 33, 1);
	char *only = NULL;
	size_t len;
	FILE *out = open_memstream(&only, &len);

	(void)state;
	event_print_state(out, false, &made_up, &e);
	fclose(out);
	line(&e);
	assert_int_equal(only[0], 'b');
	assert_int_equal(only[len - 1] == '\n', 0);
	assert_memory_equal(text + strlen(text) - 1 - len, only, len);
	free(only);
}

static void times_count_from_the_start(void **state)
{
	const struct text_style style = { .start_ns = 500 };
	struct bbr_event e = made_up_event(7, RUN, 33, 1);

	(void)state;
	e.time_ns = 500;
	assert_memory_equal(line_of(&e, &style), "0.000000 ", 9);
	free(text);
	e.time_ns = 3600000000500ull;
	assert_memory_equal(line_of(&e, &style), "3600.000000 ", 12);
}

static void addresses_and_ports(void **state)
{
	struct bbr_event e = made_up_event(65535, RUN, 33, 1);

	(void)state;
	expect_part(&e, " 10.0.0.1:65535 > 10.0.0.2:80 ");
	e.family = AF_INET6;
	inet_pton(AF_INET6, "2001:db8::1", e.laddr);
	inet_pton(AF_INET6, "::1", e.raddr);
	e.lport = 0;
	expect_part(&e, " [2001:db8::1]:0 > [::1]:80 ");
	/* An IPv4 connection of an IPv6 socket is IPv4. */
	inet_pton(AF_INET6, "::ffff:255.255.255.255", e.laddr);
	inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", e.raddr);
	expect_part(&e, " 255.255.255.255:0 > [2001:db8:1111:2222:3333:4444:5555:6666]:80 ");
}

static void what_changed_and_why(void **state)
{
	struct bbr_event e = made_up_event(7, FALL, 33, 1);

	(void)state;
	e.kind = BBR_EV_MODE;
	e.from = RUN;
	e.to = FALL;
	e.reason = 1;
	expect_part(&e, " mode RUN->FALL (ice) bbr:(");
	e.flags = BBR_F_KERNEL; /* seen from outside: its reason is not known */
	expect_part(&e, " mode RUN->FALL bbr:(");
	e.kind = BBR_EV_RECOVERY; /* these are states of the stack, not modes */
	e.from = 0;
	e.to = 4;
	expect_part(&e, " recovery open->loss bbr:(");
	e.kind = BBR_EV_RTO;
	expect_part(&e, " rto open->loss bbr:(");
	e.kind = BBR_EV_STATE;
	expect_part(&e, " state bbr:(");
	expect_no(&e, "->");
}

/* Of several steps within one ACK each has its own phase. */
static void from_which_phase_to_which(void **state)
{
	struct bbr_event e = made_up_event(7, WALK, 33, 1);

	(void)state;
	e.kind = BBR_EV_MODE;
	e.from = e.to = WALK;
	e.reason = 0;
	e.phase = 0;
	expect_part(&e, " mode WALK/left->WALK/right (stone) bbr:(");
	e.reason = 1; /* tells none */
	expect_part(&e, " mode WALK->WALK (ice) bbr:(");
	e.flags = BBR_F_KERNEL; /* no reason: the phase after it is that of the state */
	expect_part(&e, " mode WALK->WALK/left bbr:(");
	e.phase = 2;
	expect_part(&e, " mode WALK->WALK bbr:(");
	e.flags = 0;
	e.reason = 0;
	e.from = RUN; /* has no phases */
	expect_part(&e, " mode RUN->WALK/right (stone) bbr:(");
}

static void what_a_later_version_may_have_added(void **state)
{
	struct bbr_event e = made_up_event(7, 99, 33, 1);

	(void)state;
	e.ca_state = 77;
	expect_part(&e, ") unknown rtt:");
	expect_part(&e, " ca:unknown\n");
	e.kind = BBR_EV_KINDS;
	expect_part(&e, " 10.0.0.2:80 unknown bbr:(");
	e.kind = BBR_EV_MODE;
	e.from = 200;
	e.to = 255;
	e.reason = 2;
	expect_part(&e, " mode unknown->unknown (unknown) ");
	e.mode = WALK;
	e.phase = 2;
	expect_part(&e, ") WALK/unknown ");
}

static void what_is_not_known_is_left_out(void **state)
{
	struct bbr_event e = made_up_event(7, RUN, 1000, 1);

	(void)state;
	expect_no(&e, "stamina");
	e.rtt_us = BBR_RTT_NONE;
	expect_no(&e, " rtt:");
	e.pacing_rate = EVENT_UNLIMITED;
	expect_no(&e, "pacing:");
	e.min_rtt_us = BBR_RTT_NONE;
	e.pacing_gain = e.cwnd_gain = 0;
	e.bw = 0;
	expect_part(&e, " bbr:(bw:0bps,mrtt:inf) RUN ");
	e.min_rtt_us = 0;
	expect_part(&e, " bbr:(bw:0bps,mrtt:0) RUN ");
}

static void the_sample_of_an_ack(void **state)
{
	struct bbr_event e = made_up_event(7, RUN, 33, 1);

	(void)state;
	e.rs_delivered = 10;
	e.rs_interval_us = 1000;
	e.rs_losses = 2;
	e.flags = BBR_F_SAMPLE | BBR_F_APP_LIMITED;
	expect_part(&e, " rtt:12ms rate:80Mbps app_limited losses:2 inflight:10 ");
	e.rs_losses = 0; /* told only if there are any */
	expect_part(&e, " app_limited inflight:10 ");
	e.flags = BBR_F_SAMPLE;
	expect_part(&e, " rate:80Mbps inflight:10 ");
	e.rs_delivered = -1; /* not valid */
	expect_part(&e, " rtt:12ms inflight:10 ");
	/* An event that is no ACK has none, whatever is there. */
	e.rs_delivered = 10;
	e.flags = BBR_F_APP_LIMITED;
	expect_part(&e, " rtt:12ms inflight:10 ");
}

#define PLAIN "\033[0m"

static void colours_of_kinds(void **state)
{
	static const char *const colours[BBR_EV_KINDS] = {
		[BBR_EV_START] = "\033[32m",  [BBR_EV_END] = "\033[32m",
		[BBR_EV_MODE] = "\033[36m",   [BBR_EV_RECOVERY] = "\033[33m",
		[BBR_EV_PARAMS] = "\033[33m", [BBR_EV_RTO] = "\033[31m",
	};
	const struct text_style style = { .colour = true };
	struct bbr_event e = made_up_event(7, RUN, 33, 1);

	(void)state;
	for (int kind = 0; kind < BBR_EV_KINDS; kind++) {
		char begin[64];

		e.kind = kind;
		snprintf(begin, sizeof(begin), "10.0.0.2:80 %s%s",
			 colours[kind] ? colours[kind] : "", event_kind_name(kind));
		free(text);
		line_of(&e, &style);
		assert_non_null(strstr(text, begin));
		/* The mode is coloured, too. */
		assert_non_null(strstr(text, ") \033[36mRUN" PLAIN " "));
	}
}

/* Nothing of a line stays coloured, and it says the same as without colours. */
static void colours_end_and_change_nothing_else(void **state)
{
	const struct text_style colour = { .start_ns = 1000000000, .colour = true };
	struct bbr_event e = made_up_event(7, WALK, 33, 1);

	(void)state;
	for (int kind = 0; kind < ANY_KIND; kind++) {
		char without[1024], *to = without, *coloured;
		bool is_on = false;

		e.kind = kind;
		free(text);
		line_of(&e, &colour);
		coloured = text;
		text = NULL;
		for (const char *c = coloured; *c; c++) {
			if (*c != '\033') {
				*to++ = *c;
				continue;
			}
			is_on = strncmp(c, PLAIN, strlen(PLAIN));
			c = strchr(c, 'm');
		}
		*to = 0;
		assert_false(is_on);
		assert_string_equal(without, line(&e));
		assert_null(strchr(text, '\033'));
		free(coloured);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_line),
		TEST(the_state_is_the_end_of_the_line),
		TEST(times_count_from_the_start),
		TEST(addresses_and_ports),
		TEST(what_changed_and_why),
		TEST(from_which_phase_to_which),
		TEST(what_a_later_version_may_have_added),
		TEST(what_is_not_known_is_left_out),
		TEST(the_sample_of_an_ack),
		TEST(colours_of_kinds),
		TEST(colours_end_and_change_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
