/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrmon export counts, from events and readings of one connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "bpf/bbr/event.h"
#include "kernel/clock.h"
#include "export/metrics.h"
#include "made_up.h"

extern const struct algorithm algorithm_bbr;

static const struct origin ours = { .name = "ours", .id = 1, .algorithm = &algorithm_bbr };
static const struct origin kernel = {
	.name = "bbr", .id = 2, .algorithm = &algorithm_bbr, .is_kernel = true
};

static struct metrics m;

static int set_up(void **state)
{
	(void)state;
	metrics_init(&m, false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	metrics_free(&m);
	return 0;
}

static struct bbr_event event(__u8 kind, __u64 ms, __u8 mode, enum bbr_policer policer)
{
	struct bbr_event e = made_up_event(1, mode, 0, 0);

	e.size = BBR_EVENT_BASE + algorithm_bbr.tail_size;
	e.kind = kind;
	e.time_ns = NS_PER_S + ms * NS_PER_MS;
	for (int i = 0; i < algorithm_bbr.n_fields; i++)
		if (!strcmp(algorithm_bbr.fields[i].key, "policer"))
			((__u8 *)&e)[algorithm_bbr.fields[i].offset] = policer;
	return e;
}

static void note_of(const struct origin *origin, struct bbr_event e)
{
	metrics_note(&m, origin, &e);
}

static void note(struct bbr_event e)
{
	note_of(&ours, e);
}

static const struct metric_series *only(void)
{
	assert_int_equal(m.series.n, 1);
	return &m.series.all[0];
}

static const struct mode_counts *mode(const char *name)
{
	const struct metric_series *s = only();

	for (int i = 0; i < s->n_modes; i++)
		if (!strcmp(s->modes[i].name, name))
			return &s->modes[i];
	fail_msg("no mode %s", name);
	return NULL;
}

static void a_policer_counts_each_time_it_is_found(void **state)
{
	(void)state;
	note(event(BBR_EV_START, 0, BBR_STARTUP, BBR_POLICER_OFF));
	note(event(BBR_EV_ACK, 1, BBR_STARTUP, BBR_POLICER_SAMPLING));
	assert_int_equal(only()->policed, 0);
	note(event(BBR_EV_ACK, 2, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	note(event(BBR_EV_ACK, 3, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	assert_int_equal(only()->policed, 1);
	note(event(BBR_EV_ACK, 4, BBR_PROBE_BW, BBR_POLICER_OFF));
	note(event(BBR_EV_ACK, 5, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	assert_int_equal(only()->policed, 2);
}

/* A policer between two samples: only the expiry of its rate shows that there was one. */
static void a_policer_that_no_sample_has_counts_by_its_end(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 2, BBR_PROBE_BW, BBR_POLICER_OFF);

	(void)state;
	note(event(BBR_EV_ACK, 1, BBR_PROBE_BW, BBR_POLICER_OFF));
	e.from = e.to = BBR_PROBE_BW;
	e.reason = BBR_R_DRAINED;
	note(e);
	assert_int_equal(only()->policed, 0);
	e.time_ns++;
	e.reason = BBR_R_LT_BW_EXPIRED;
	note(e);
	assert_int_equal(only()->policed, 1);
	/* One that was seen is counted already. */
	note(event(BBR_EV_ACK, 3, BBR_PROBE_BW, BBR_POLICER_DETECTED));
	assert_int_equal(only()->policed, 2);
	e.time_ns = NS_PER_S + 4 * NS_PER_MS;
	note(e);
	assert_int_equal(only()->policed, 2);
}

static void the_kernels_events_have_no_reason(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 2, BBR_PROBE_BW, BBR_POLICER_OFF);

	(void)state;
	e.flags = BBR_F_KERNEL;
	e.reason = BBR_R_LT_BW_EXPIRED;
	e.to = BBR_PROBE_BW;
	note_of(&kernel, event(BBR_EV_ACK, 1, BBR_PROBE_BW, BBR_POLICER_OFF));
	note_of(&kernel, e);
	assert_int_equal(only()->policed, 0);
	assert_int_equal(mode("PROBE_BW")->entered, 1);
}

static void time_counts_for_the_mode_it_was_spent_in(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 100, BBR_DRAIN, BBR_POLICER_OFF);

	(void)state;
	note(event(BBR_EV_ACK, 0, BBR_STARTUP, BBR_POLICER_OFF));
	e.to = BBR_DRAIN;
	note(e);
	metrics_settle(&m, NS_PER_S + 150 * NS_PER_MS, true);
	metrics_settle(&m, NS_PER_S + 900 * NS_PER_MS, false); /* nobody watched */
	metrics_settle(&m, NS_PER_S + 910 * NS_PER_MS, true);
	assert_int_equal(mode("STARTUP")->ns, 100 * NS_PER_MS);
	assert_int_equal(mode("DRAIN")->ns, 60 * NS_PER_MS);
	assert_int_equal(mode("DRAIN")->entered, 1);
	metrics_count_connections(&m);
	assert_int_equal(mode("DRAIN")->connections, 1);
	assert_int_equal(mode("STARTUP")->connections, 0);
	note(event(BBR_EV_END, 950, BBR_DRAIN, BBR_POLICER_OFF));
	metrics_count_connections(&m);
	assert_int_equal(mode("DRAIN")->connections, 0);
	assert_int_equal(only()->ended, 1);
}

static void an_unknown_mode_is_in_no_count(void **state)
{
	struct bbr_event e = event(BBR_EV_MODE, 100, BBR_MODES, BBR_POLICER_OFF);

	(void)state;
	e.to = BBR_MODES;
	note(event(BBR_EV_ACK, 0, BBR_STARTUP, BBR_POLICER_OFF));
	note(e);
	metrics_settle(&m, NS_PER_S + 500 * NS_PER_MS, true);
	metrics_count_connections(&m);
	for (int i = 0; i < only()->n_modes; i++) {
		assert_int_equal(only()->modes[i].entered, 0);
		assert_int_equal(only()->modes[i].connections, 0);
		assert_int_equal(only()->modes[i].ns, i ? 0 : 100 * NS_PER_MS);
	}
}

/* The same name, profile and namespace: an instance was migrated to another algorithm. */
static void a_series_has_the_modes_of_all_its_algorithms(void **state)
{
	struct origin other = ours;

	(void)state;
	other.algorithm = &made_up;
	other.id = 9;
	note(event(BBR_EV_ACK, 0, BBR_PROBE_BW, BBR_POLICER_OFF));
	note_of(&other, made_up_event(2, RUN, 5, 0));
	metrics_count_connections(&m);
	assert_int_equal(only()->n_modes, BBR_MODES + MADE_UP_MODES);
	assert_int_equal(mode("PROBE_BW")->connections, 1);
	assert_int_equal(mode("RUN")->connections, 1);
	assert_int_equal(mode("CRAWL")->connections, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_policer_counts_each_time_it_is_found),
		TEST(a_policer_that_no_sample_has_counts_by_its_end),
		TEST(the_kernels_events_have_no_reason),
		TEST(time_counts_for_the_mode_it_was_spent_in),
		TEST(an_unknown_mode_is_in_no_count),
		TEST(a_series_has_the_modes_of_all_its_algorithms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
