/* SPDX-License-Identifier: GPL-2.0-only */
/* The curves of a flow: which curves are in which lane, and what is kept of a long flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/bbr/event.h"
#include "kernel/clock.h"
#include "report/flow.h"

#define MAX 1000

extern const struct algorithm algorithm_bbr, algorithm_bbr3;

static struct flow_series *s;

static int set_up(void **state)
{
	(void)state;
	s = flow_series_new(&algorithm_bbr, MAX);
	return !s;
}

static int tear_down(void **state)
{
	(void)state;
	flow_series_free(s);
	return 0;
}

static struct bbr_event event(__u64 ms)
{
	return (struct bbr_event){
		.size = BBR_EVENT_BASE + sizeof(struct bbr_tail),
		.kind = BBR_EV_ACK,
		.flags = BBR_F_SAMPLE,
		.time_ns = ms * NS_PER_MS,
		.mode = BBR_PROBE_BW,
		.pacing_gain = 256,
		.cwnd_gain = 512,
		.mss = 1000,
		.bw = 1 << 14,
		.min_rtt_us = 10000,
		.rtt_us = 12000,
		.srtt_us = 11000,
		.rs_delivered = 10,
		.rs_interval_us = 10000,
		.pacing_rate = 125000,
		.cwnd = 20,
		.inflight = 10,
	};
}

static unsigned int curve(const char *key)
{
	for (unsigned int i = 0; i < s->n_curves; i++)
		if (!strcmp(s->curve[i].key, key))
			return i;
	fail_msg("no curve %s", key);
	return 0;
}

static __s64 value(size_t row, const char *key)
{
	return flow_series_value(s, row, curve(key));
}

static void the_lanes_of_v1(void **state)
{
	static const char *const lanes[LANES] = {
		[LANE_RATE] = "pacing rate, delivery rate, bw",
		[LANE_RTT] = "RTT, srtt, min_rtt",
		[LANE_INFLIGHT] = "cwnd, inflight, BDP",
		[LANE_STATE] = "mode, recovery, policer",
		[LANE_LOSSES] = "lost, retransmitted",
	};

	(void)state;
	for (int lane = LANE_RATE; lane < LANES; lane++) {
		char names[128] = "";

		for (unsigned int i = 0; i < s->n_curves; i++) {
			if (s->curve[i].lane != (enum field_lane)lane)
				continue;
			strcat(names, names[0] ? ", " : "");
			strcat(names, s->curve[i].name);
		}
		assert_string_equal(names, lanes[lane]);
	}
}

/* No two states have one colour, whichever the strip. */
static void the_colours_of_v1(void **state)
{
	static const struct {
		const char *key;
		unsigned int n;
		enum colour colours[5];
	} strips[] = {
		{ "mode", 4, { COLOUR_YELLOW, COLOUR_PINK, COLOUR_BLUE, COLOUR_GREEN } },
		{ "ca_state",
		  5,
		  { COLOUR_PALE, COLOUR_SKY, COLOUR_LEMON, COLOUR_VIOLET, COLOUR_RED } },
		{ "policer", 3, { COLOUR_PALE, COLOUR_BROWN, COLOUR_BLACK } },
	};

	(void)state;
	assert_int_equal(s->curve[curve("bw_bps")].colour, COLOUR_RED);
	assert_int_equal(s->curve[curve("min_rtt_us")].colour, COLOUR_RED);
	for (int i = 0; i < 3; i++) {
		unsigned int k = curve(strips[i].key);

		assert_int_equal(s->curve[k].n_states, strips[i].n);
		for (unsigned int j = 0; j < strips[i].n; j++)
			assert_int_equal(curve_state_colour(s, k, j), strips[i].colours[j]);
	}
}

/* Version 3 sends in CRUISE most of the time, and probes in UP. */
static void the_colours_of_v3s_phases(void **state)
{
	static const enum colour of_phases[] = { COLOUR_BROWN, COLOUR_BLACK, COLOUR_PALE,
						 COLOUR_LIME };
	unsigned int phase;

	flow_series_free(s);
	s = flow_series_new(&algorithm_bbr3, MAX);
	phase = curve("phase");
	assert_int_equal(s->curve[phase].n_states, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(curve_state_colour(s, phase, i), of_phases[i]);
	assert_int_equal(curve_state_colour(s, phase, 4), COLOUR_GREY);
	(void)state;
}

static void an_event_is_a_row(void **state)
{
	struct bbr_event e = event(5);

	(void)state;
	((struct bbr_tail *)e.tail)->policer = BBR_POLICER_DETECTED;
	e.flags |= BBR_F_APP_LIMITED;
	flow_series_add(s, &e);
	assert_int_equal(flow_series_time_ns(s, 0), 5 * NS_PER_MS);
	assert_int_equal(value(0, "delivery_rate_bps"), 8000000);
	assert_int_equal(value(0, "app_limited"), 1);
	assert_int_equal(value(0, "bw_bps"), 7812500);
	assert_int_equal(value(0, "pacing_rate_bps"), 1000000);
	assert_int_equal(value(0, "min_rtt_us"), 10000);
	assert_int_equal(value(0, "bdp_milli"), 9765);
	assert_int_equal(value(0, "mode"), BBR_PROBE_BW);
	assert_int_equal(value(0, "policer"), 2);
}

static void what_is_not_known_has_no_value(void **state)
{
	struct bbr_event e = event(5);

	(void)state;
	e.flags = 0;
	e.rtt_us = e.min_rtt_us = BBR_RTT_NONE;
	e.srtt_us = 0;
	e.pacing_rate = ~0ull;
	e.inflight = -1;
	e.mode = BBR_MODES;
	flow_series_add(s, &e);
	assert_true(value(0, "delivery_rate_bps") == VALUE_NONE);
	assert_true(value(0, "app_limited") == VALUE_NONE);
	assert_true(value(0, "rtt_us") == VALUE_NONE);
	assert_true(value(0, "min_rtt_us") == VALUE_NONE);
	assert_true(value(0, "srtt_us") == VALUE_NONE);
	assert_true(value(0, "pacing_rate_bps") == VALUE_NONE);
	assert_true(value(0, "inflight") == VALUE_NONE);
	assert_true(value(0, "bdp_milli") == VALUE_NONE);
	assert_true(value(0, "mode") == VALUE_NONE);
	assert_int_equal(value(0, "bw_bps"), 7812500);
	e.pacing_gain = e.cwnd_gain = 0; /* the stack reports losses before there is BBR state */
	flow_series_add(s, &e);
	assert_true(value(1, "bw_bps") == VALUE_NONE);
	assert_true(value(1, "policer") == VALUE_NONE);
	assert_int_equal(value(1, "cwnd"), 20);
}

static void time_never_goes_back(void **state)
{
	struct bbr_event e = event(5);

	(void)state;
	flow_series_add(s, &e);
	e.time_ns--;
	flow_series_add(s, &e);
	assert_int_equal(flow_series_time_ns(s, 1), 5 * NS_PER_MS);
}

/*
 * 50,000 events, of which one has the highest cwnd, one the lowest bw, and one another policer
 * state.
 */
static void of_a_long_flow_all_extremes_are_kept(void **state)
{
	unsigned int highest = 0, lowest = 0, policed = 0;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct bbr_event e = event(i);

		e.cwnd = i == 31234 ? 5000 : 20 + i % 7;
		e.bw = i == 17 ? 1 << 4 : 1 << 14;
		((struct bbr_tail *)e.tail)->policer = i == 44444;
		flow_series_add(s, &e);
		assert_true(s->n <= MAX);
	}
	flow_series_finish(s);
	assert_true(s->n > MAX / 4 && s->interval_ns);
	assert_int_equal(flow_series_time_ns(s, 0), 0);
	assert_int_equal(flow_series_time_ns(s, s->n - 1), 49999 * NS_PER_MS);
	for (size_t i = 0; i < s->n; i++) {
		__u64 ms = flow_series_time_ns(s, i) / NS_PER_MS;

		assert_true(!i || flow_series_time_ns(s, i - 1) < flow_series_time_ns(s, i));
		assert_int_equal(value(i, "cwnd"), ms == 31234 ? 5000 : 20 + ms % 7);
		highest += value(i, "cwnd") == 5000;
		lowest += value(i, "bw_bps") < 7812500;
		policed += value(i, "policer") == 1;
	}
	assert_int_equal(highest, 1);
	assert_int_equal(lowest, 1);
	assert_int_equal(policed, 1);
}

static void the_largest_value_of_a_lane_is_that_of_its_plot(void **state)
{
	struct bbr_event e = event(0);

	(void)state;
	e.pacing_rate = 2000000; /* 16 Mbit/s; the delivery rate is 8 Mbit/s */
	flow_series_add(s, &e);
	assert_true(flow_series_largest(s, LANE_RATE) == 8000000);
	assert_true(flow_series_largest(s, LANE_RTT) == 12000);
	for (int i = 1; i < 10; i++) {
		e.time_ns = i * NS_PER_MS;
		e.pacing_rate = 125000000;
		flow_series_add(s, &e);
	}
	assert_true(flow_series_largest(s, LANE_RATE) == 10000000); /* above, the plot is cut off */
}

static void a_first_pacing_rate_far_above_all_else_is_cut_off(void **state)
{
	struct bbr_event e;

	(void)state;
	for (int i = 0; i < 10; i++) {
		e = event(i);
		flow_series_add(s, &e);
	}
	assert_true(flow_series_rate_top(s) == 0);
	e.time_ns++;
	e.pacing_rate = 125000000;
	flow_series_add(s, &e);
	assert_true(flow_series_rate_top(s) == 1.25 * 8000000);
}

static void flows_are_bounded(void **state)
{
	static const struct origin origin = { .name = "ours",
					      .id = 7,
					      .algorithm = &algorithm_bbr };
	struct flows flows = {};

	(void)state;
	for (unsigned int i = 0; i < FLOWS_MAX + 10; i++) {
		struct bbr_event e = event(1);

		e.conn = i + 1;
		flows_note(&flows, &origin, &e);
	}
	assert_int_equal(flows.n_all, FLOWS_MAX);
	assert_int_equal(flows.left_out, 10);
	flows_free(&flows);
}

/* Exact up to 127, and to within 1/128 above. */
static void percentiles_of_rtts(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct bbr_event e = event(i);

		e.rtt_us = i < 500 ? 100 : i < 990 ? 100000 : 0xfffffff0;
		flow_series_add(s, &e);
	}
	assert_int_equal(s->n_rtts, 1000);
	assert_int_equal(flow_series_rtt(s, 50), 100);
	assert_in_range(flow_series_rtt(s, 95), 100000 - 100000 / 128, 100000 + 100000 / 128);
	assert_in_range(flow_series_rtt(s, 99.5), 0xfe000000, 0xffffffff);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_lanes_of_v1),
		TEST(the_colours_of_v1),
		TEST(the_colours_of_v3s_phases),
		TEST(an_event_is_a_row),
		TEST(flows_are_bounded),
		TEST(percentiles_of_rtts),
		TEST(what_is_not_known_has_no_value),
		TEST(time_never_goes_back),
		TEST(of_a_long_flow_all_extremes_are_kept),
		TEST(the_largest_value_of_a_lane_is_that_of_its_plot),
		TEST(a_first_pacing_rate_far_above_all_else_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
