/* SPDX-License-Identifier: GPL-2.0-only */
/* The plots of a report: what is in the list, the units, and that the page and the figure use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/clock.h"
#include "made_up.h"
#include "report/flow.h"
#include "report/report.h"

static const struct panel *panel(const char *key)
{
	for (size_t i = 0; i < n_panels; i++)
		if (!strcmp(panels[i].key, key))
			return &panels[i];
	fail_msg("no panel %s", key);
	return NULL;
}

static void each_lane_has_one_panel_in_the_figure(void **state)
{
	unsigned int n[LANES] = {};

	(void)state;
	for (size_t i = 0; i < n_panels; i++) {
		assert_ptr_equal(panel(panels[i].key), &panels[i]);
		n[panels[i].lane] += !panels[i].is_only_on_page;
	}
	for (int lane = LANE_NONE + 1; lane < LANES; lane++)
		assert_int_equal(n[lane], 1);
}

/* A flow with one event. */
static struct report report_of(const struct bbr_event *e)
{
	struct report r = { .file = "made up", .points = 1000 };

	flows_note(&r.flows, &made_up_origin, e);
	flows_choose(&r.flows);
	r.shown = r.flows.flow;
	r.n_shown = r.flows.n;
	r.shown[0]->series = flow_series_new(&made_up, r.points);
	flow_series_add(r.shown[0]->series, e);
	rate_shares_init(&r.shares, &r.flows);
	return r;
}

static void free_report(struct report *r)
{
	flow_series_free(r->shown[0]->series);
	rate_shares_free(&r->shares);
	flows_free(&r->flows);
}

static void assert_unit(const struct bbr_event *e, const char *key, const char *name, double size)
{
	struct report r = report_of(e);
	const struct panel_unit *unit = panel_unit(panel(key), &r, r.shown[0]);

	assert_string_equal(unit->name, name);
	assert_true(unit->size == size);
	free_report(&r);
}

static void a_unit_makes_the_largest_value_handy(void **state)
{
	struct bbr_event e = made_up_event(1, RUN, 5, 0);

	(void)state;
	e.srtt_us = 0;
	e.rtt_us = 1000;
	assert_unit(&e, "rtt", "ms", 1e3);
	e.rtt_us = 999;
	assert_unit(&e, "rtt", "\302\265s", 1);
	assert_unit(&e, "inflight", "packets", 1);
	assert_unit(&e, "losses", "packets", 1);
	e.flags = BBR_F_SAMPLE;
	e.pacing_rate = ~0ull; /* none */
	e.mss = 1250;
	e.rs_interval_us = 10000;
	e.rs_delivered = 1000;
	assert_unit(&e, "rate", "Gbit/s", 1e9);
	e.rs_delivered = 999;
	assert_unit(&e, "rate", "Mbit/s", 1e6);
	e.rs_interval_us = 10000000;
	e.rs_delivered = 1;
	assert_unit(&e, "rate", "kbit/s", 1e3);
	e.rs_interval_us = 10000001;
	assert_unit(&e, "rate", "bit/s", 1);
}

static void what_is_no_number_has_no_unit(void **state)
{
	struct bbr_event e = made_up_event(1, RUN, 5, 0);
	struct report r = report_of(&e);

	(void)state;
	assert_null(panel_unit(panel("state"), &r, r.shown[0]));
	assert_null(panel_unit(panel("jain"), &r, r.shown[0]));
	free_report(&r);
}

static void the_shares_have_the_unit_of_their_sum(void **state)
{
	struct bbr_event e = made_up_event(1, RUN, 5, 0);
	struct report r = report_of(&e);

	(void)state;
	r.shares.interval_ns = NS_PER_S;
	r.shares.total[7] = 125000;
	assert_string_equal(panel_unit(panel("shares"), &r, r.shown[0])->name, "Mbit/s");
	r.shares.total[7] = 124999;
	assert_string_equal(panel_unit(panel("shares"), &r, r.shown[0])->name, "kbit/s");
	free_report(&r);
}

static void the_page_gets_each(void **state)
{
	struct bbr_event e = made_up_event(1, RUN, 5, 0);
	struct report r = report_of(&e);
	char *text, part[256];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	report_write_json(out, &r);
	fclose(out);
	for (size_t i = 0; i < n_panels; i++) {
		snprintf(part, sizeof(part), "{\"id\":\"%s\",\"title\":\"%s\",", panels[i].key,
			 panels[i].title);
		assert_non_null(strstr(text, part));
	}
	assert_non_null(strstr(text,
			       "\"kind\":\"curves\",\"lane\":\"rtt\",\"is_low\":false,"
			       "\"units\":[{\"name\":\"ms\",\"size\":1000}],\"lacks\":[null]}"));
	assert_non_null(strstr(text, "\"kind\":\"jain\",\"lane\":null,\"is_low\":true,"
				     "\"units\":[],\"lacks\":[null]}"));
	assert_non_null(strstr(text, "\"lane\":\"losses\",\"is_low\":true,"
				     "\"units\":[{\"name\":\"packets\",\"size\":1}],"
				     "\"lacks\":[\"nothing was lost or sent again\"]}"));
	free(text);
	free_report(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_lane_has_one_panel_in_the_figure),
		cmocka_unit_test(a_unit_makes_the_largest_value_handy),
		cmocka_unit_test(what_is_no_number_has_no_unit),
		cmocka_unit_test(the_shares_have_the_unit_of_their_sum),
		cmocka_unit_test(the_page_gets_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
