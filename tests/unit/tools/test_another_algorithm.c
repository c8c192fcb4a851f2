/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table, the connection page, the metrics and the report of an algorithm that none of them
 * knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/clock.h"
#include "export/metrics.h"
#include "made_up.h"
#include "report/flow.h"
#include "report/report.h"
#include "top/top.h"

extern const struct algorithm algorithm_bbr;

static const struct origin v1 = { .name = "ours", .id = 6, .algorithm = &algorithm_bbr };

static char *text; /* what was printed last */
static size_t size;

static FILE *begin_text(void)
{
	free(text);
	return open_memstream(&text, &size);
}

static int tear_down(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static void assert_has(const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void assert_has_not(const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in:\n%s", part, text);
}

static void print_page(const struct conn *c)
{
	FILE *out = begin_text();

	top_fields(out, c, c->e.time_ns);
	fputc('\n', out);
	fclose(out);
}

static void the_table_counts_its_modes_by_name(void **state)
{
	struct conn_table table = {};
	struct conn_totals totals;
	struct bbr_event e;

	(void)state;
	for (int i = 0; i < 5; i++) {
		e = made_up_event(i + 1, i < 3 ? RUN : FALL, 5, 1);
		conn_table_note(&table, &made_up_origin, &e);
	}
	e.conn = 9;
	e.lport = htons(9);
	e.mode = 3;
	conn_table_note(&table, &v1, &e);
	conn_table_totals(&table, &totals);
	assert_int_equal(totals.live, 6);
	assert_int_equal(totals.n_modes, MADE_UP_MODES + algorithm_bbr.n_modes);
	for (unsigned int i = 0; i < totals.n_modes; i++) {
		const char *name = totals.modes[i].name;

		assert_int_equal(totals.modes[i].conns, !strcmp(name, "RUN")	   ? 3 :
							!strcmp(name, "FALL")	   ? 2 :
							!strcmp(name, "PROBE_RTT") ? 1 :
										     0);
	}
	conn_table_free(&table);
}

static void without_connections_the_modes_are_those_of_the_first_algorithm(void **state)
{
	struct conn_table table = {};
	struct conn_totals totals;

	(void)state;
	conn_table_totals(&table, &totals);
	assert_int_equal(totals.n_modes, algorithms[0]->n_modes);
	assert_string_equal(totals.modes[0].name, algorithms[0]->modes[0].name);
}

static void a_row_and_the_page_have_its_modes_and_fields(void **state)
{
	struct bbr_event e = made_up_event(1, WALK, 55, 2);
	const struct cell_style style = { .now_ns = e.time_ns };
	struct conn_table table = {};
	struct view view = { .sort = COL_RATE };
	struct row row = {};
	char cell[CELL_BYTES];

	(void)state;
	e.phase = 1;
	conn_table_note(&table, &made_up_origin, &e);
	row.conn = table.all[0];
	view_layout(&view, 0, &row, 1);
	for (int i = 0; i < view.layout.n; i++) {
		enum column column = view.layout.place[i].column;

		cell_format(cell, &view.layout, i, &style, &row);
		if (column == COL_MODE)
			assert_string_equal(cell, "WALK/right");
		assert_null(column_def(column)->own);
	}
	print_page(table.all[0]);
	assert_has("\nmode WALK/right\n");
	assert_has("\nstamina 55\n");
	assert_has("\nrecovery open\non snow\n");
	e = made_up_event(1, FALL, 1000, 9);
	conn_table_note(&table, &made_up_origin, &e);
	print_page(table.all[0]);
	assert_has("\nmode FALL\n");
	assert_has("\nstamina -\n");
	assert_has("\non unknown\n");
	assert_has_not("policer");
	conn_table_free(&table);
}

/* The order that the page of a connection has had since its first version. */
static void the_page_of_v1_is_as_ever(void **state)
{
	struct bbr_event e = made_up_event(1, 2, 0, 0);
	struct conn_table table = {};

	(void)state;
	e.size = BBR_EVENT_BASE + algorithm_bbr.tail_size;
	e.phase = 3;
	e.rounds = 12;
	e.flags = BBR_F_FULL_BW | BBR_F_CONSERVATION | BBR_F_IDLE_RESTART;
	e.mss = 1000;
	memset(e.tail, 0, sizeof(e.tail));
	for (int i = 0; i < algorithm_bbr.n_fields; i++) {
		const struct field *f = &algorithm_bbr.fields[i];

		if (!strcmp(f->key, "full_bw_cnt"))
			e.tail[f->offset - BBR_EVENT_BASE] = 3;
		if (!strcmp(f->key, "policer"))
			e.tail[f->offset - BBR_EVENT_BASE] = 2;
	}
	conn_table_note(&table, &v1, &e);
	print_page(table.all[0]);
	assert_string_equal(
		text, "\nmode PROBE_BW/3\nrate -\nsample -\nbw 7.81M\nmax_bw 0\npacing 1.00M\n"
		      "pacing_gain 1\ncwnd_gain 2\nfull_bw 0\nfull_bw_cnt 3 (full)\nrtt -\n"
		      "srtt 11.0ms\nmin_rtt 10.0ms\ninflight 10\nbdp 9\ncwnd 20\nprior_cwnd 0\n"
		      "ssthresh inf\nextra_acked 0\nrounds 12\nrecovery open (conservation)\n"
		      "policer detected\nlt_bw 0\nidle_restart\nlost 0 +0\ndelivered 0\n"
		      "sent 5.00k\nacked 0\nretrans 0\nmss 1000\n");
	conn_table_free(&table);
}

static void metrics_have_its_modes_and_fields(void **state)
{
	struct bbr_event e = made_up_event(1, WALK, 5, 1);
	static struct metrics m;
	struct openmetrics om = { .classic = true };

	(void)state;
	metrics_init(&m, false);
	metrics_note(&m, &made_up_origin, &e);
	e.time_ns += 2 * NS_PER_S;
	e.kind = BBR_EV_MODE;
	e.from = WALK;
	e.to = e.mode = FALL;
	e.reason = 1;
	metrics_note(&m, &made_up_origin, &e);
	metrics_settle(&m, e.time_ns + NS_PER_S, true);
	om.out = begin_text();
	metrics_print(&m, &om, true);
	fclose(om.out);
	metrics_free(&m);
#define LABELS "{bbr_instance=\"runner\",profile=\"\",netns=\"1\",mode="
	assert_has("bbr_connections" LABELS "\"FALL\"} 1\n");
	assert_has("bbr_connections" LABELS "\"WALK\"} 0\n");
	assert_has("bbr_mode_transitions_total" LABELS "\"FALL\"} 1\n");
	assert_has("bbr_mode_transitions_total" LABELS "\"REST\"} 0\n");
	assert_has("bbr_mode_seconds_total" LABELS "\"WALK\"} 2\n");
	assert_has("bbr_mode_seconds_total" LABELS "\"FALL\"} 1\n");
	assert_has(
		"\nbbr_stamina_packets_sum{bbr_instance=\"runner\",profile=\"\",netns=\"1\"} 5\n");
	assert_has("# HELP bbr_slides_total Times that it slid.\n"
		   "# TYPE bbr_slides_total counter\n"
		   "bbr_slides_total{bbr_instance=\"runner\",profile=\"\",netns=\"1\"} 1\n");
	assert_has_not("STARTUP");
	assert_has_not("policer");
}

static int find_curve(const struct flow_series *c, const char *key)
{
	for (unsigned int i = 0; i < c->n_curves; i++)
		if (!strcmp(c->curve[i].key, key))
			return i;
	return -1;
}

static void its_fields_are_curves(void **state)
{
	struct flow_series *s = flow_series_new(&made_up, 1000);
	struct bbr_event e = made_up_event(1, FALL, 55, 2);
	int stamina, surface, mode;

	(void)state;
	stamina = find_curve(s, "stamina");
	surface = find_curve(s, "surface");
	mode = find_curve(s, "mode");
	assert_int_equal(s->curve[stamina].lane, LANE_INFLIGHT);
	assert_int_equal(s->curve[surface].lane, LANE_STATE);
	assert_string_equal(s->curve[surface].name, "surface");
	assert_string_equal(curve_state_name(s, surface, 2), "snow");
	assert_string_equal(curve_state_name(s, mode, FALL), "FALL");
	assert_int_equal(s->curve[mode].n_states, MADE_UP_MODES);
	assert_int_equal(find_curve(s, "bw_bps"), -1);
	flow_series_add(s, &e);
	e = made_up_event(1, MADE_UP_MODES, 1000, 1);
	flow_series_add(s, &e);
	e.pacing_gain = e.cwnd_gain = 0; /* no BBR state any more */
	flow_series_add(s, &e);
	assert_int_equal(flow_series_value(s, 0, stamina), 55);
	assert_int_equal(flow_series_value(s, 0, surface), 2);
	assert_int_equal(flow_series_value(s, 0, mode), FALL);
	assert_true(flow_series_value(s, 1, stamina) == VALUE_NONE);
	assert_int_equal(flow_series_value(s, 1, surface), 1);
	assert_true(flow_series_value(s, 1, mode) == VALUE_NONE);
	assert_true(flow_series_value(s, 2, surface) == VALUE_NONE);
	flow_series_free(s);
}

static void the_report_has_them(void **state)
{
	struct bbr_event e = made_up_event(1, WALK, 55, 2);
	struct report r = { .file = "made up", .points = 1000 };
	FILE *out = begin_text();

	(void)state;
	flows_note(&r.flows, &made_up_origin, &e);
	e.time_ns += 2 * NS_PER_S;
	e.mode = REST;
	flows_note(&r.flows, &made_up_origin, &e);
	flows_choose(&r.flows);
	r.shown = r.flows.flow;
	r.n_shown = r.flows.n;
	assert_int_equal(r.n_shown, 1);
	r.shown[0]->series = flow_series_new(&made_up, r.points);
	flow_series_add(r.shown[0]->series, &e);
	rate_shares_init(&r.shares, &r.flows);
	report_write_json(out, &r);
	fclose(out);
	assert_has("\"modes\":[\"CRAWL\",\"WALK\",\"RUN\",\"REST\",\"FALL\"]");
	assert_has("\"algorithm\":\"made_up\"");
	assert_has("\"curves\":{\"made_up\":[");
	assert_has("{\"lane\":\"inflight\",\"values\":\"stamina\",\"name\":\"stamina\","
		   "\"look\":\"step\",\"colour\":\"green\"");
	assert_has("{\"lane\":\"state\",\"values\":\"surface\",\"name\":\"surface\","
		   "\"look\":\"states\",\"names\":[\"road\",\"sand\",\"snow\"],"
		   "\"colours\":[\"pale\",\"black\",\"lime\"]");
	assert_has("\"findings\":[\"slides\"]");
	assert_has(",\"slides\":1,");
	assert_has_not("policer");
	assert_has("\"mode_us\":[0,2000000,0,0,0]");
	assert_has("\"stamina\":[55]");
	assert_has("\"surface\":[2]");
	flow_series_free(r.shown[0]->series);
	rate_shares_free(&r.shares);
	flows_free(&r.flows);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_table_counts_its_modes_by_name),
		TEST(without_connections_the_modes_are_those_of_the_first_algorithm),
		TEST(a_row_and_the_page_have_its_modes_and_fields),
		TEST(the_page_of_v1_is_as_ever),
		TEST(metrics_have_its_modes_and_fields),
		TEST(its_fields_are_curves),
		TEST(the_report_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
