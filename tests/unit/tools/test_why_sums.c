// SPDX-License-Identifier: GPL-2.0-only
/*
 * Around the verdicts of bbrmon why: readings of events and sockets, bounds of profiles, the times of
 * CPUs, and sums of connections.
 */
#define _GNU_SOURCE /* fmemopen() */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "descriptor.h"
#include "kernel/clock.h"
#include "why/connection.h"

#define TEST(f) cmocka_unit_test(f)

/* ---- readings */

static void an_event_of_version_1(void **state)
{
	const struct algorithm *bbr = algorithm_find("bbr");
	struct bbr_event e = { .size = sizeof(e),
			       .kind = BBR_EV_STATE,
			       .mss = 1000,
			       .mode = 3,
			       .min_rtt_us = BBR_RTT_NONE,
			       .bw = 1 << 24, /* a packet per microsecond */
			       .cwnd_gain = 512,
			       .flags = BBR_F_APP_LIMITED };
	struct why_reading r;

	(void)state;
	why_reading_of_event(&r, bbr, &e);
	assert_int_equal(r.mode, WHY_MODE_PROBE_RTT);
	assert_int_equal(r.min_rtt_us, 0);
	assert_int_equal(r.bw, 1000000000);
	assert_true(r.is_app_limited);
	assert_false(r.reacts_to_losses || r.is_policed || r.has_socket);
	assert_true(r.socket_bound == WHY_NO_RATE && r.profile_bound == WHY_NO_RATE);
	e.mode = 0;
	why_reading_of_event(&r, bbr, &e);
	assert_int_equal(r.mode, WHY_MODE_STARTUP);
	why_reading_of_event(&r, algorithm_find("bbr3"), &e);
	assert_int_equal(r.mode, WHY_MODE_STARTUP);
	assert_true(r.reacts_to_losses);
}

static void set_field(struct bbr_event *e, const struct algorithm *a, const char *key, __u64 value)
{
	for (__u16 i = 0; i < a->n_fields; i++)
		if (!strcmp(a->fields[i].key, key))
			memcpy((char *)e + a->fields[i].offset, &value, a->fields[i].width);
}

static void a_policer_that_version_1_found(void **state)
{
	const struct algorithm *bbr = algorithm_find("bbr");
	struct bbr_event e = { .size = sizeof(e),
			       .kind = BBR_EV_STATE,
			       .mss = 1000,
			       .pacing_gain = 256,
			       .cwnd_gain = 512 };
	struct why_reading r;

	(void)state;
	set_field(&e, bbr, "policer", 1); /* it looks for one */
	set_field(&e, bbr, "lt_bw_bps", 1 << 20);
	why_reading_of_event(&r, bbr, &e);
	assert_false(r.is_policed);
	set_field(&e, bbr, "policer", 2);
	why_reading_of_event(&r, bbr, &e);
	assert_true(r.is_policed);
	assert_int_equal(r.policer_rate, 62500000); /* a sixteenth packet per microsecond */
}

static void a_socket_and_its_bbr(void **state)
{
	struct why_socket s = { .max_pacing_rate = 1000,
				.no_space = 1,
				.snap = { .busy_ticks = 100,
					  .rwnd_ticks = 50,
					  .sndbuf_ticks = 25,
					  .event = { .min_rtt_us = 20000, .pacing_rate = 900 } } };
	struct why_reading r, of_bbr = {
		.mode = WHY_MODE_OTHER, .bw = 7, .min_rtt_us = 15000, .profile_bound = 500
	};

	(void)state;
	why_reading_of_socket(&r, &s);
	assert_true(r.has_socket && r.no_space && r.reacts_to_losses);
	assert_int_equal(r.busy_us, us_of_ticks(100));
	assert_int_equal(r.rwnd_us, us_of_ticks(50));
	assert_int_equal(r.sndbuf_us, us_of_ticks(25));
	assert_int_equal(r.mode, WHY_MODE_NONE);
	why_reading_merge(&r, &of_bbr);
	assert_int_equal(r.mode, WHY_MODE_OTHER);
	assert_false(r.reacts_to_losses);
	assert_int_equal(r.min_rtt_us, 15000); /* the lower one */
	assert_int_equal(r.socket_bound, 1000);
	assert_int_equal(r.profile_bound, 500);
	of_bbr.min_rtt_us = 30000;
	why_reading_of_socket(&r, &s);
	why_reading_merge(&r, &of_bbr);
	assert_int_equal(r.min_rtt_us, 20000);
}

static void set_param(__u32 *values, const struct algorithm *a, const char *key, __u32 value)
{
	for (__u32 i = 0; i < a->n_params; i++)
		if (!strcmp(a->params[i].key, key))
			values[a->params[i].first] = value;
}

static void bounds_of_profiles(void **state)
{
	const struct algorithm *bbr = algorithm_find("bbr"), *bbr3 = algorithm_find("bbr3");
	size_t n = bbr->params_size / sizeof(__u32);
	__u32 values[PARAM_VALUES_MAX];

	(void)state;
	memcpy(values, bbr->defaults, bbr->params_size);
	assert_true(bound_of_params(bbr, values, n) == WHY_NO_RATE);
	set_param(values, bbr, "max_pacing_rate", 8000); /* kbit/s */
	assert_int_equal(bound_of_params(bbr, values, n), 1000000);
	set_param(values, bbr, "pacing_rate", 800);
	assert_int_equal(bound_of_params(bbr, values, n), 100000);
	set_param(values, bbr, "pacing_rate", 80000);
	assert_int_equal(bound_of_params(bbr, values, n), 1000000);
	/* An older instance has fewer parameters. */
	assert_true(bound_of_params(bbr, values, 1) == WHY_NO_RATE);
	assert_true(bound_of_params(bbr3, bbr3->defaults, bbr3->params_size / sizeof(__u32)) ==
		    WHY_NO_RATE);
}

/* ---- CPUs */

static void read_cpus(struct cpu_times *times, unsigned int n, const char *stat,
		      const char *softnet)
{
	FILE *a = fmemopen((void *)stat, strlen(stat), "r");
	FILE *b = fmemopen((void *)softnet, strlen(softnet), "r");

	cpu_times_of(times, n, a, b);
	fclose(a);
	fclose(b);
}

#define ZEROS "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
#define SOFTNET(dropped, squeezed, cpu) \
	"005b44c1 " dropped " " squeezed " " ZEROS cpu " 00000000 00000000\n"

static void times_of_cpus(void **state)
{
	struct cpus c = { .n = 3, .last_ns = 2 * NS_PER_S };
	struct why_cpu cpu;

	(void)state;
	c.first = calloc(c.n, sizeof(*c.first));
	c.last = calloc(c.n, sizeof(*c.last));
	read_cpus(c.first, c.n,
		  "cpu  9 9 9 9 9 9 9 9 0 0\n"
		  "cpu0 100 0 100 500 100 0 100 100 0 0\n"
		  "cpu1 100 0 100 500 100 0 100 100 0 0\n"
		  "intr 1 2 3\n",
		  SOFTNET("00000001", "ffffffff", "00000000")
			  SOFTNET("00000000", "00000010", "00000001"));
	read_cpus(c.last, c.n,
		  "cpu0 120 0 120 500 100 0 150 110 0 0\n"
		  "cpu1 150 0 100 530 110 0 110 100 0 0\n",
		  SOFTNET("00000003", "00000004", "00000000")
			  SOFTNET("00000000", "00000010", "00000001"));
	cpu = cpus_of(&c, 0);
	assert_true(cpu.is_known);
	assert_float_equal(cpu.busy, 1, 1e-9);
	assert_float_equal(cpu.softirq, 0.5, 1e-9);
	assert_float_equal(cpu.stolen, 0.1, 1e-9);
	assert_int_equal(cpu.drops, 2);
	assert_int_equal(cpu.squeezes, 5); /* the counter has wrapped */
	assert_float_equal(cpu.seconds, 2, 1e-9);
	cpu = cpus_of(&c, 1);
	assert_float_equal(cpu.busy, 0.6, 1e-9);
	assert_float_equal(cpu.softirq, 0.1, 1e-9);
	assert_int_equal(cpu.squeezes + cpu.drops, 0);
	assert_false(cpus_of(&c, 2).is_known); /* it is off */
	assert_false(cpus_of(&c, 3).is_known); /* there is none */
	cpus_free(&c);
}

/* ---- sums */

static struct why_connections made;

static struct why_connection *make(__u64 cookie, const char *remote, double rate, bool has_window)
{
	struct conn_key key = conn_key_of_id(0, cookie);
	struct why_connection *c = why_connection_get(&made, &key, ~0ul);
	struct why_reading r = { .time_ns = 1,
				 .has_socket = true,
				 .mss = 1000,
				 .cwnd = 100,
				 .inflight = rate > 0 ? 10 : 0,
				 .ssthresh = 10,
				 .unacked = rate > 0 ? 10000 : 0,
				 .unsent = rate > 0 ? 10000 : 0,
				 .snd_wnd = has_window ? 1000000 : 10000,
				 .srtt_us = 10000,
				 .min_rtt_us = 10000,
				 .socket_bound = WHY_NO_RATE,
				 .profile_bound = WHY_NO_RATE };

	assert_non_null(c);
	c->is_wanted = true;
	c->raddr[2] = htonl(0xffff);
	inet_pton(AF_INET, remote, &c->raddr[3]);
	why_window_add(&c->window, &r);
	r.time_ns += NS_PER_S;
	r.busy_us = rate > 0 ? 1000000 : 0;
	r.bytes_acked = r.bytes_sent = rate;
	why_window_add(&c->window, &r);
	return c;
}

static void the_same_key_is_the_same_connection(void **state)
{
	struct conn_key key = conn_key_of_id(0, 5);
	struct why_connection *first;

	(void)state;
	first = why_connection_get(&made, &key, ~0ul);
	assert_ptr_equal(why_connection_get(&made, &key, ~0ul), first);
	why_connections_cut(&made);
	assert_ptr_not_equal(why_connection_get(&made, &key, ~0ul), first);
	assert_int_equal(made.n, 2);
	why_connections_free(&made);
}

static void results_by_rate(void **state)
{
	struct why_results r;

	(void)state;
	make(1, "10.0.0.1", 1000, true);
	make(2, "10.0.0.2", 0, true)->window.last.is_in_sockmap = true;
	make(3, "10.0.0.3", 3000, true);
	make(4, "10.0.0.4", 2000, true)->is_wanted = false;
	why_results_make(&r, &made, NULL, false);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.idle, 1);
	assert_int_equal(r.in_sockmaps, 1);
	assert_int_equal(r.list[0].connection->key.conn, 3);
	assert_int_equal(r.list[1].connection->key.conn, 1);
	why_results_free(&r);
	why_results_make(&r, &made, NULL, true);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.idle + r.in_sockmaps, 0);
	why_results_free(&r);
	why_connections_free(&made);
}

/* Connections that do not match are neighbours all the same; idle ones are not. */
static void neighbours(void **state)
{
	struct why_answer answer;
	struct why_results r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct why_connection *c = make(i, "10.0.0.1", 1000, true);

		c->window.last.srtt_us = 30000;
		c->window.rtt_sum = 60000;
		c->window.ns[WHY_QUEUE] = c->window.ns[WHY_PATH];
		c->window.ns[WHY_PATH] = 0;
		c->is_wanted = !i;
	}
	make(3, "10.0.0.7", 0, true);
	make(4, "10.0.1.1", 1000, true);
	why_results_make(&r, &made, NULL, false);
	assert_in_range(sizeof(*made.list[0]) + sizeof(r.list[0]), 1,
			1200); /* for 100,000 of them */
	for (size_t i = 0; i < r.n; i++) {
		why_result_answer(&r.list[i], &answer);
		if (r.list[i].connection->key.conn == 0)
			assert_non_null(
				strstr(answer.verdicts[0].sentence, "such as 2 of this machine"));
	}
	why_results_free(&r);
	why_connections_free(&made);
}

static void sums_by_prefix(void **state)
{
	struct why_results r;
	struct grouping by = { .by = BY_PREFIX };
	struct why_group *first, *second;
	struct groups g;

	(void)state;
	make(1, "10.0.0.1", 1000, true);
	make(2, "10.0.0.2", 2000, false);
	make(3, "10.0.0.3", 0, true);
	make(4, "10.0.1.1", 9000, true);
	why_results_make(&r, &made, NULL, true);
	why_groups_make(&g, &r, &by, 0);
	assert_int_equal(g.n, 2);
	first = g.list[0];
	second = g.list[1];
	assert_string_equal(first->group.label, "10.0.1.0/24"); /* the higher rate */
	assert_string_equal(second->group.label, "10.0.0.0/24");
	assert_int_equal(second->connections, 3);
	assert_int_equal(second->idle, 1);
	assert_float_equal(second->rate, 3000, 0.1);
	/* The idle one has no share: it would make each service look limited by its application. */
	assert_float_equal(second->cause_ns[WHY_APPLICATION], 0, 0.1);
	assert_float_equal(second->cause_ns[WHY_PATH] / second->ns, 0.5, 0.001);
	assert_float_equal(second->cause_ns[WHY_RECEIVER] / second->ns, 0.5, 0.001);
	assert_int_equal(second->example[WHY_RECEIVER]->connection->key.conn, 2);
	groups_free(&g);
	by.by = BY_NETNS;
	why_groups_make(&g, &r, &by, 0);
	assert_int_equal(g.n, 1);
	groups_free(&g);
	grouping_free(&by);
	why_results_free(&r);
	why_connections_free(&made);
}

/* Those after the largest are one sum, whose example is the one with most of the cause. */
static void the_rest_is_one_sum(void **state)
{
	struct grouping by = { .by = BY_PREFIX };
	struct why_results r;
	struct why_group *rest;
	struct groups g;

	(void)state;
	make(1, "10.0.1.1", 9000, true);
	make(2, "10.0.2.1", 2000, false);
	make(3, "10.0.3.1", 1000, true);
	make(4, "10.0.3.2", 0, true);
	why_results_make(&r, &made, NULL, true);
	why_groups_make(&g, &r, &by, 1);
	assert_int_equal(g.n, 2);
	rest = g.list[1];
	assert_null(rest->group.label);
	assert_int_equal(rest->group.others, 2);
	assert_string_equal(group_shown(&rest->group), "2 others");
	assert_int_equal(rest->connections, 3);
	assert_int_equal(rest->idle, 1);
	assert_float_equal(rest->rate, 3000, 0.1);
	assert_float_equal(rest->cause_ns[WHY_RECEIVER] / rest->ns, 0.5, 0.001);
	assert_int_equal(rest->example[WHY_RECEIVER]->connection->key.conn, 2);
	groups_free(&g);
	grouping_free(&by);
	why_results_free(&r);
	why_connections_free(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_event_of_version_1), TEST(a_policer_that_version_1_found),
		TEST(a_socket_and_its_bbr),  TEST(bounds_of_profiles),
		TEST(times_of_cpus),	     TEST(the_same_key_is_the_same_connection),
		TEST(results_by_rate),	     TEST(neighbours),
		TEST(sums_by_prefix),	     TEST(the_rest_is_one_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
