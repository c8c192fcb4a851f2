// SPDX-License-Identifier: GPL-2.0-only
/*
 * What limits a connection, from made-up readings: each cause where it is, and none where it is not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/clock.h"
#include "why/judge.h"

#define TEST(f) cmocka_unit_test(f)

#define STEP_NS (100 * NS_PER_MS)
#define STEPS 50
#define MSS 1448
#define STEP_US 100000
#define RATE 2500000 /* bytes per second: 20 Mbit/s */
#define BDP (RATE / 100) /* of 10 ms */
#define CA_RECOVERY 3

/* A bulk flow of BBR version 1 on a path of 20 Mbit/s and 10 ms that nothing else limits. */
static struct why_reading bulk(void)
{
	return (struct why_reading){ .time_ns = NS_PER_S,
				     .cwnd = 2 * BDP / MSS,
				     .inflight = BDP / MSS,
				     .ssthresh = 0x7fffffff,
				     .mss = MSS,
				     .srtt_us = 10500,
				     .min_rtt_us = 10000,
				     .pacing_rate = RATE,
				     .mode = WHY_MODE_OTHER,
				     .bw = RATE,
				     .cwnd_gain = 512,
				     .has_socket = true,
				     .snd_wnd = 3000000,
				     .unacked = BDP,
				     .unsent = 4 * BDP,
				     .sndbuf = 400000,
				     .no_space = true,
				     .cwnd_clamp = ~0u,
				     .socket_bound = WHY_NO_RATE,
				     .profile_bound = WHY_NO_RATE };
}

/* As bulk(), of CUBIC. */
static struct why_reading cubic(void)
{
	struct why_reading r = bulk();

	r.mode = WHY_MODE_NONE;
	r.bw = r.cwnd_gain = 0;
	r.reacts_to_losses = true;
	r.ssthresh = 10;
	return r;
}

/* The next reading: the connection was busy all the time, and delivered at a rate. */
static void step(struct why_reading *r, double rate)
{
	double bytes = rate * STEP_US / 1e6;

	r->time_ns += STEP_NS;
	r->busy_us += STEP_US;
	r->bytes_acked += bytes;
	r->bytes_sent += bytes;
	r->delivered += bytes / MSS;
}

static void window_of(struct why_window *w, struct why_reading r, double rate)
{
	why_window_begin(w);
	why_window_add(w, &r);
	for (int i = 0; i < STEPS; i++) {
		step(&r, rate);
		why_window_add(w, &r);
	}
}

static struct why_answer judge(const struct why_window *w)
{
	struct why_neighbours none = {};
	struct why_answer a;

	why_judge(w, NULL, &none, &a);
	for (unsigned int i = 0; i < a.n; i++) {
		assert_true(a.verdicts[i].sentence[0] && a.verdicts[i].numbers[0]);
		assert_non_null(a.verdicts[i].advice);
		assert_true(!i || a.verdicts[i].share <= a.verdicts[i - 1].share);
	}
	return a;
}

/* The window has this one cause, all the time. */
static struct why_answer check_only(const struct why_window *w, enum why_cause cause)
{
	struct why_answer a = judge(w);

	assert_int_equal(a.n, 1);
	assert_string_equal(why_cause_name(a.verdicts[0].cause), why_cause_name(cause));
	assert_float_equal(a.verdicts[0].share, 1, 0.001);
	return a;
}

static struct why_answer check_all_the_time(struct why_reading r, double rate, enum why_cause cause)
{
	struct why_window w;

	window_of(&w, r, rate);
	return check_only(&w, cause);
}

static const struct why_verdict *verdict_of(const struct why_answer *a, enum why_cause cause)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->verdicts[i].cause == cause)
			return &a->verdicts[i];
	return NULL;
}

static double share(const struct why_window *w, enum why_cause cause)
{
	struct why_answer a = judge(w);
	const struct why_verdict *v = verdict_of(&a, cause);

	return v ? v->share : 0;
}

static void says(const struct why_verdict *v, const char *part)
{
	if (!strstr(v->sentence, part) && !strstr(v->numbers, part) && !strstr(v->advice, part))
		fail_msg("no \"%s\" in: %s | %s | %s", part, v->sentence, v->numbers, v->advice);
}

static void a_bulk_flow(void **state)
{
	struct why_answer a;

	(void)state;
	a = check_all_the_time(bulk(), RATE, WHY_PATH);
	says(&a.verdicts[0], "20Mbps");
	says(&a.verdicts[0], "RTT 10.5 ms, minimum 10 ms");
	a = check_all_the_time(cubic(), RATE, WHY_PATH);
	says(&a.verdicts[0], "rate of the path");
}

static void too_few_readings(void **state)
{
	struct why_reading r = bulk();
	struct why_window w;

	(void)state;
	why_window_begin(&w);
	assert_int_equal(judge(&w).n, 0);
	why_window_add(&w, &r);
	assert_int_equal(judge(&w).n, 0);
	why_window_add(&w, &r); /* no time has passed */
	assert_int_equal(judge(&w).n, 0);
	assert_int_equal(w.readings, 1);
}

static void an_idle_connection(void **state)
{
	struct why_reading r = bulk();
	struct why_answer a;
	struct why_window w;

	(void)state;
	r.unsent = r.unacked = r.inflight = 0;
	r.no_space = false;
	why_window_begin(&w);
	why_window_add(&w, &r);
	r.time_ns += 5 * NS_PER_S;
	why_window_add(&w, &r);
	assert_true(why_window_is_idle(&w));
	a = check_only(&w, WHY_APPLICATION);
	says(&a.verdicts[0], "sends nothing");
	says(&a.verdicts[0], "100 % of the time all was ACKed");
	w.last.is_in_sockmap = true;
	a = check_only(&w, WHY_APPLICATION);
	says(&a.verdicts[0], "the socket is in a sockmap");
	assert_non_null(strstr(a.verdicts[0].advice, "sk_msg"));
}

/* The kernel counts a tenth of each step as busy. */
static void an_application_that_pauses(void **state)
{
	struct why_reading r = bulk();
	struct why_window w;

	(void)state;
	why_window_begin(&w);
	why_window_add(&w, &r);
	for (int i = 0; i < STEPS; i++) {
		step(&r, RATE / 10.0);
		r.busy_us -= STEP_US - STEP_US / 10;
		why_window_add(&w, &r);
	}
	assert_false(why_window_is_idle(&w));
	assert_float_equal(share(&w, WHY_APPLICATION), 0.9, 0.001);
	assert_float_equal(share(&w, WHY_PATH), 0.1, 0.001);
}

/* Always something in flight, never something left to send. */
static void an_application_that_trickles(void **state)
{
	struct why_reading r = bulk();

	(void)state;
	r.unsent = 0;
	r.no_space = false;
	r.inflight = 1;
	check_all_the_time(r, RATE / 50.0, WHY_APPLICATION);
	r.unsent = MSS - 1; /* as the stack, which waits for a whole segment */
	check_all_the_time(r, RATE / 50.0, WHY_APPLICATION);
	r.unsent = MSS;
	check_all_the_time(r, RATE / 50.0, WHY_PATH);
}

static void the_receivers_window(void **state)
{
	struct why_reading r = bulk();
	struct why_answer a;

	(void)state;
	r.snd_wnd = 20000;
	r.unacked = 19000;
	a = check_all_the_time(r, RATE / 2.0, WHY_RECEIVER);
	says(&a.verdicts[0], "window 20000 to 20000 bytes, 19000 in flight");
	says(&a.verdicts[0], "tcp_rmem");
	r.unacked = 17000; /* less than 90 %, and there is room for a segment */
	check_all_the_time(r, RATE / 2.0, WHY_PATH);
	r.snd_wnd = r.unacked = 0;
	a = check_all_the_time(r, 0, WHY_RECEIVER);
	says(&a.verdicts[0], "reads too slowly");
	r.unsent = 0; /* nothing waits for it */
	r.inflight = r.cwnd;
	assert_int_not_equal(why_cause_now(&r), WHY_RECEIVER);
}

/* What the kernel counts, even if no reading meets it. */
static void limits_that_the_kernel_counts(void **state)
{
	struct why_reading r = bulk();
	struct why_window w;

	(void)state;
	why_window_begin(&w);
	why_window_add(&w, &r);
	for (int i = 0; i < STEPS; i++) {
		step(&r, RATE);
		r.rwnd_us += STEP_US / 2;
		r.sndbuf_us += STEP_US / 4;
		why_window_add(&w, &r);
	}
	assert_float_equal(share(&w, WHY_RECEIVER), 0.5, 0.001);
	assert_float_equal(share(&w, WHY_SEND_BUFFER), 0.25, 0.001);
	assert_float_equal(share(&w, WHY_PATH), 0.25, 0.001);
}

/* The kernel counts ticks of up to 10 ms: a count can grow by more than the time that has passed. */
static void counts_that_grow_faster_than_time(void **state)
{
	struct why_reading r = bulk();
	struct why_window w;
	double sum = 0;

	(void)state;
	why_window_begin(&w);
	why_window_add(&w, &r);
	r.time_ns += NS_PER_MS;
	r.busy_us += 10000;
	r.rwnd_us += 10000;
	r.sndbuf_us += 10000;
	why_window_add(&w, &r);
	for (int i = 0; i < WHY_CAUSES; i++) {
		assert_true(w.ns[i] >= 0);
		sum += w.ns[i];
	}
	assert_float_equal(sum, NS_PER_MS, 1);
	r.time_ns += NS_PER_MS;
	r.busy_us = r.rwnd_us = r.sndbuf_us = 0; /* never, but no reason to count backwards */
	why_window_add(&w, &r);
	for (int i = 0; i < WHY_CAUSES; i++)
		assert_true(w.ns[i] >= 0);
}

static void the_send_buffer(void **state)
{
	struct why_reading r = bulk();
	struct why_answer a;

	(void)state;
	r.sndbuf = 16384;
	r.unacked = 12000;
	r.unsent = 2000;
	a = check_all_the_time(r, RATE / 2.0, WHY_SEND_BUFFER);
	says(&a.verdicts[0], "buffer 16384 bytes, 12000 in flight");
	r.unsent = 4000; /* a third as much: it is not the buffer that keeps it from being sent */
	check_all_the_time(r, RATE / 2.0, WHY_PATH);
	r.unsent = 0;
	r.no_space = false; /* the application does not wait for it */
	check_all_the_time(r, RATE / 2.0, WHY_APPLICATION);
}

static void the_window(void **state)
{
	struct why_reading r = bulk();
	struct why_answer a;

	(void)state;
	r.inflight = r.cwnd = 8;
	a = check_all_the_time(r, RATE / 2.0, WHY_CWND);
	says(&a.verdicts[0], "cwnd 8, 8 in flight");
	says(&a.verdicts[0], "cwnd_gain");
	r.cwnd_clamp = 8;
	a = check_all_the_time(r, RATE / 2.0, WHY_CWND);
	says(&a.verdicts[0], "route");
	r.srtt_us = 20000; /* it fills a queue: a larger window would make that longer */
	check_all_the_time(r, RATE / 2.0, WHY_QUEUE);
}

static void a_socket_that_is_paced(void **state)
{
	struct why_reading r = bulk();
	struct why_answer a;

	(void)state;
	r.socket_bound = RATE;
	a = check_all_the_time(r, RATE, WHY_PACING);
	says(&a.verdicts[0], "SO_MAX_PACING_RATE");
	says(&a.verdicts[0], "bound 20Mbps");
	r.pacing_rate = RATE * 3 / 4; /* BBR drains what its probe queued */
	check_all_the_time(r, RATE, WHY_PACING);
	r.socket_bound = 2 * RATE; /* far above what the path gives */
	check_all_the_time(r, RATE, WHY_PATH);
}

static void a_profile_that_is_paced(void **state)
{
	struct why_reading r = bulk();
	struct why_answer a;

	(void)state;
	r.profile_bound = RATE;
	a = check_all_the_time(r, RATE, WHY_PACING);
	says(&a.verdicts[0], "max_pacing_rate or pacing_rate of its profile");
}

/* CUBIC's pacing rate is twice what it sends: it may be at the bound without being bounded. */
static void cubic_that_is_paced(void **state)
{
	struct why_reading r = cubic();

	(void)state;
	r.socket_bound = r.pacing_rate = RATE;
	check_all_the_time(r, RATE, WHY_PACING);
	check_all_the_time(r, RATE * 0.6, WHY_PATH);
}

static void policed(struct why_window *w, double loss)
{
	struct why_reading r = bulk();

	r.is_policed = true;
	r.policer_rate = RATE;
	why_window_begin(w);
	why_window_add(w, &r);
	for (int i = 0; i < STEPS; i++) {
		__u32 before = r.delivered;

		step(&r, RATE);
		r.lost += loss * (r.delivered - before);
		r.ca_state = loss > 0 ? CA_RECOVERY : 0;
		why_window_add(w, &r);
	}
}

static void a_policer(void **state)
{
	struct why_answer a;
	struct why_window w;

	(void)state;
	policed(&w, 0);
	a = check_only(&w, WHY_POLICER);
	says(&a.verdicts[0], "policer's rate 20Mbps");
	policed(&w, 0.04);
	check_only(&w, WHY_POLICER);
}

/* Random losses of a quarter look like one to BBR, but they do not end at its rate. */
static void no_policer(void **state)
{
	struct why_answer a;
	struct why_window w;

	(void)state;
	policed(&w, 0.25);
	a = check_only(&w, WHY_LOSSES);
	says(&a.verdicts[0], "BBR took that for a policer");
}

static void lossy(struct why_window *w, struct why_reading r, double loss)
{
	double lost = 0;

	why_window_begin(w);
	why_window_add(w, &r);
	for (int i = 0; i < STEPS; i++) {
		__u32 before = r.delivered;

		step(&r, RATE);
		lost += loss * (r.delivered - before);
		r.lost = lost;
		r.ca_state = i % 2 ? CA_RECOVERY : 0;
		why_window_add(w, &r);
	}
}

static void losses(void **state)
{
	struct why_answer a;
	struct why_window w;

	(void)state;
	lossy(&w, bulk(), 0.02);
	assert_float_equal(share(&w, WHY_LOSSES), 0.5, 0.02);
	a = judge(&w);
	says(verdict_of(&a, WHY_LOSSES), "1.9 % of packets lost");
	says(verdict_of(&a, WHY_LOSSES), "CUBIC would get at most");
	says(verdict_of(&a, WHY_LOSSES), "BBR version 3 would not slow down");
	lossy(&w, bulk(),
	      0.001); /* BBR recovers from them all the time, and they cost it nothing */
	assert_float_equal(share(&w, WHY_LOSSES), 0, 0);
	assert_float_equal(share(&w, WHY_PATH), 1, 0.001);
	lossy(&w, cubic(), 0.001);
	assert_float_equal(share(&w, WHY_LOSSES), 0.5, 0.02);
}

/* Between losses CUBIC's window is what they left of it. */
static void losses_that_keep_the_window_small(void **state)
{
	struct why_reading r = cubic();
	struct why_window w;

	(void)state;
	r.inflight = r.cwnd = 12;
	lossy(&w, r, 0.001);
	check_only(&w, WHY_LOSSES);
	check_all_the_time(r, RATE / 2.0, WHY_CWND); /* none in this window */
	r.inflight = 9; /* the stack waits for a burst's worth of window */
	r.is_cwnd_limited = true;
	lossy(&w, r, 0.001);
	check_only(&w, WHY_LOSSES);
	r.is_cwnd_limited = false;
	check_all_the_time(r, RATE / 2.0, WHY_PATH);
	r = bulk();
	r.is_cwnd_limited = true; /* BBR goes by its pacing rate */
	check_all_the_time(r, RATE, WHY_PATH);
}

static void probe_rtt(void **state)
{
	struct why_reading r = bulk();
	struct why_window w;

	(void)state;
	why_window_begin(&w);
	why_window_add(&w, &r);
	for (int i = 0; i < STEPS; i++) {
		step(&r, RATE);
		r.mode = i < 2 ? WHY_MODE_PROBE_RTT : WHY_MODE_OTHER;
		r.inflight = r.cwnd = i < 2 ? 4 : BDP / MSS;
		r.cwnd = i < 2 ? 4 : 2 * BDP / MSS;
		why_window_add(&w, &r);
	}
	assert_float_equal(share(&w, WHY_PROBE_RTT), 0.04, 0.001); /* below what others need */
	assert_float_equal(share(&w, WHY_CWND), 0, 0);
	r.mode = WHY_MODE_PROBE_RTT;
	r.unsent = 0; /* nobody waits for it to end */
	r.inflight = 1;
	r.no_space = false;
	assert_int_equal(why_cause_now(&r), WHY_APPLICATION);
}

static void startup(void **state)
{
	struct why_reading r = bulk(), slow_start = cubic();

	(void)state;
	r.mode = WHY_MODE_STARTUP;
	check_all_the_time(r, RATE, WHY_STARTUP);
	slow_start.ssthresh = 0x7fffffff;
	check_all_the_time(slow_start, RATE, WHY_STARTUP);
	slow_start.inflight = slow_start.cwnd / 2 - 1; /* it does not grow then */
	check_all_the_time(slow_start, RATE, WHY_PATH);
	slow_start.inflight = slow_start.cwnd_clamp = slow_start.cwnd;
	check_all_the_time(slow_start, RATE, WHY_CWND);
	slow_start = cubic();
	slow_start.ssthresh = slow_start.cwnd;
	check_all_the_time(slow_start, RATE, WHY_PATH);
}

static void a_queue(void **state)
{
	struct why_neighbours two = { 2, RATE };
	struct why_reading r = bulk();
	struct why_answer a;
	struct why_window w;

	(void)state;
	r.srtt_us = 18000;
	a = check_all_the_time(r, RATE, WHY_QUEUE);
	says(&a.verdicts[0], "1.8 times its minimum");
	says(&a.verdicts[0], "This connection fills it, or others do that this machine cannot see");
	window_of(&w, r, RATE);
	why_judge(&w, NULL, &two, &a);
	says(&a.verdicts[0], "such as 2 of this machine");
	r.srtt_us = 25000; /* BBR alone would have at most two BDPs in flight */
	a = check_all_the_time(r, RATE, WHY_QUEUE);
	says(&a.verdicts[0], "Other connections fill it");
	r.srtt_us = 14000;
	check_all_the_time(r, RATE, WHY_PATH);
	r.srtt_us = 300; /* a local network: 0.2 ms are no queue */
	r.min_rtt_us = 100;
	check_all_the_time(r, RATE, WHY_PATH);
}

static struct why_cpu full_cpu(void)
{
	return (struct why_cpu){ .is_known = true,
				 .number = 1,
				 .busy = 1,
				 .softirq = 0.6,
				 .squeezes = 50,
				 .seconds = 5 };
}

static enum why_cause main_cause_with(const struct why_window *w, struct why_cpu cpu)
{
	struct why_neighbours none = {};
	struct why_answer a;

	why_judge(w, &cpu, &none, &a);
	assert_true(a.n);
	return a.verdicts[0].cause;
}

static void the_cpu(void **state)
{
	struct why_cpu cpu = full_cpu();
	struct why_window w;

	(void)state;
	window_of(&w, bulk(), RATE);
	assert_int_equal(main_cause_with(&w, cpu), WHY_CPU);
	cpu.busy = 0.9; /* it has time left */
	assert_int_equal(main_cause_with(&w, cpu), WHY_PATH);
	cpu = full_cpu();
	cpu.softirq = 0.1; /* something else fills it */
	assert_int_equal(main_cause_with(&w, cpu), WHY_PATH);
	cpu = full_cpu();
	cpu.squeezes = 4; /* less than one a second, and the path's rate is used */
	assert_int_equal(main_cause_with(&w, cpu), WHY_PATH);
	cpu.drops = 1;
	assert_int_equal(main_cause_with(&w, cpu), WHY_CPU);
	cpu.is_known = false;
	assert_int_equal(main_cause_with(&w, cpu), WHY_PATH);
}

/* Without a squeeze, too, if the path could take more. */
static void the_cpu_and_a_path_that_is_not_used(void **state)
{
	struct why_reading queued = cubic();
	struct why_cpu cpu = full_cpu();
	struct why_window w;

	(void)state;
	cpu.squeezes = 0;
	window_of(&w, bulk(), RATE * 0.7);
	assert_int_equal(main_cause_with(&w, cpu), WHY_CPU);
	window_of(&w, bulk(), RATE * 0.9);
	assert_int_equal(main_cause_with(&w, cpu), WHY_PATH);
	window_of(&w, cubic(), RATE);
	assert_int_equal(main_cause_with(&w, cpu), WHY_CPU); /* what else keeps it from sending? */
	queued.srtt_us = 20000;
	window_of(&w, queued, RATE);
	assert_int_equal(main_cause_with(&w, cpu), WHY_QUEUE);
}

/* An application with nothing to send may have got no time, but not while all was ACKed. */
static void the_cpu_and_an_application(void **state)
{
	struct why_reading r = bulk();
	struct why_cpu cpu = full_cpu();
	struct why_window w;

	(void)state;
	r.unsent = 0;
	r.no_space = false;
	r.inflight = 1;
	window_of(&w, r, RATE / 50.0);
	assert_int_equal(main_cause_with(&w, cpu), WHY_CPU);
	cpu.softirq = 0.2;
	assert_int_equal(main_cause_with(&w, cpu), WHY_APPLICATION);
	cpu = full_cpu();
	why_window_begin(&w);
	why_window_add(&w, &r);
	for (int i = 0; i < STEPS; i++) {
		step(&r, RATE / 50.0);
		r.busy_us -= STEP_US;
		why_window_add(&w, &r);
	}
	assert_int_equal(main_cause_with(&w, cpu), WHY_APPLICATION);
}

/* What limits a connection otherwise, limits it with a full CPU, too. */
static void the_cpu_explains_only_what_nothing_else_does(void **state)
{
	struct why_reading r = bulk();
	struct why_window w;

	(void)state;
	r.snd_wnd = r.unacked = 20000;
	window_of(&w, r, RATE);
	assert_int_equal(main_cause_with(&w, full_cpu()), WHY_RECEIVER);
}

/* A recording has no socket: what only that knows is not guessed. */
static void a_recording(void **state)
{
	struct why_reading r = bulk();
	struct why_answer a;
	struct why_window w;

	(void)state;
	r.has_socket = false;
	r.busy_us = r.unacked = r.unsent = r.snd_wnd = 0;
	r.no_space = false;
	a = check_all_the_time(r, RATE, WHY_UNKNOWN);
	says(&a.verdicts[0], "a recording does not tell which");
	r.srtt_us = 18000;
	check_all_the_time(r, RATE, WHY_QUEUE);
	r.is_app_limited = true;
	check_all_the_time(r, RATE, WHY_APPLICATION);
	r.mode = WHY_MODE_PROBE_RTT;
	check_all_the_time(r, RATE, WHY_PROBE_RTT);

	/* All was ACKed, and the next event comes a second later. */
	r = bulk();
	r.has_socket = false;
	r.inflight = 0;
	why_window_begin(&w);
	why_window_add(&w, &r);
	r.time_ns += NS_PER_S;
	r.inflight = 10;
	why_window_add(&w, &r);
	check_only(&w, WHY_APPLICATION);
}

/* RFC 9438: packets per second that CUBIC gets at 10 and 100 ms, from the formula's own table. */
static void cubic_at_a_loss_rate(void **state)
{
	(void)state;
	/* 0.1 s, 1e-3: 33 packets of a window by CUBIC, 39 by Reno. */
	assert_float_equal(why_cubic_rate(1e-3, 1e5, 1500) / 1500 * 0.1, 38.7, 0.1);
	/* 0.1 s, 1e-6: 5926 packets by CUBIC's own rule. */
	assert_float_equal(why_cubic_rate(1e-6, 1e5, 1500) / 1500 * 0.1, 5926, 10);
	assert_float_equal(why_cubic_rate(0, 1e5, 1500), 0, 0);
	assert_float_equal(why_cubic_rate(0.1, 0, 1500), 0, 0);
}

static void names_of_causes(void **state)
{
	(void)state;
	for (int i = 0; i < WHY_CAUSES; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(why_cause_name(i), why_cause_name(k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_bulk_flow),
		TEST(too_few_readings),
		TEST(an_idle_connection),
		TEST(an_application_that_pauses),
		TEST(an_application_that_trickles),
		TEST(the_receivers_window),
		TEST(limits_that_the_kernel_counts),
		TEST(counts_that_grow_faster_than_time),
		TEST(the_send_buffer),
		TEST(the_window),
		TEST(a_socket_that_is_paced),
		TEST(a_profile_that_is_paced),
		TEST(cubic_that_is_paced),
		TEST(a_policer),
		TEST(no_policer),
		TEST(losses),
		TEST(losses_that_keep_the_window_small),
		TEST(probe_rtt),
		TEST(startup),
		TEST(a_queue),
		TEST(the_cpu),
		TEST(the_cpu_and_a_path_that_is_not_used),
		TEST(the_cpu_and_an_application),
		TEST(the_cpu_explains_only_what_nothing_else_does),
		TEST(a_recording),
		TEST(cubic_at_a_loss_rate),
		TEST(names_of_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
