/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters as text: every one in every algorithm's table, and in a table with each unit. */
#include <stdlib.h>

#include "fixture.h"

#include "../capture.h"
#include "cli/json.h"

static __u32 value_of(const struct param_set *set, const char *key)
{
	const struct param *param = param_find(set->algorithm, key, strlen(key));

	assert_non_null(param);
	return set->value[param->first];
}

static void assert_taken(const char *assignment, __u32 value)
{
	struct param_set set = param_set_default(&made_up);
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(assignment, "="), assignment);
	if (param_assign(assignment, &set) != EXIT_DONE)
		fail_msg("%s: refused", assignment);
	assert_int_equal(value_of(&set, key), value);
}

static void assert_refused(const char *assignment)
{
	const struct param_set before = param_set_default(&made_up);
	struct param_set set = before;

	if (param_assign(assignment, &set) != EXIT_USAGE)
		fail_msg("%s: taken", assignment);
	assert_memory_equal(&set, &before, sizeof(set));
}

static void each_unit_is_read_in_its_notation(void **state)
{
	(void)state;
	assert_taken("gain=1.25", 320);
	assert_taken("gain=2.885", 739);
	assert_taken("percent=7%", 7);
	assert_taken("count=16", 16);
	assert_taken("packets=10", 10);
	assert_taken("rounds=31", 31);
	assert_taken("usec=100ms", 100000);
	assert_taken("usec=1.5ms", 1500);
	assert_taken("usec=0", 0);
	assert_taken("msec=10s", 10000);
	assert_taken("rate=1.2mbit", 1200000);
	assert_taken("krate=4000gbit", 4000000000);
}

static void what_is_not_in_its_notation_is_refused(void **state)
{
	static const char *const wrong[] = {
		"gain=fast",  "gain=1.25x",    "percent=7",   "percent=%",   "percent=1.5%",
		"count=1.5",  "count=",	       "packets=4ms", "usec=100",    "usec=50ns",
		"msec=100us", "msec=10",       "rate=100",    "rate=1mbyte", "krate=1bit",
		"gains=1,1",  "gains=1,1,1,1", "gains=1,,1",  "gain",	     "no_such_key=1",
		"=1",	      "count=-1",      "count=nan",   "count=inf",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_refused(wrong[i]);
}

static void what_is_out_of_range_is_refused(void **state)
{
	(void)state;
	assert_taken("gain=0.25", 64);
	assert_refused("gain=0.24");
	assert_taken("percent=50%", 50);
	assert_refused("percent=51%");
	assert_refused("count=0");
	assert_refused("packets=65536");
	assert_refused("msec=9ms");
	assert_refused("gains=1,1,16");
}

static void a_list_is_taken_as_a_whole(void **state)
{
	static const __u32 expected[] = { 256, 512, 64, 256, 1 };
	struct param_set set = param_set_default(&made_up);

	(void)state;
	assert_int_equal(param_assign("gains=2,0.25,1", &set), EXIT_DONE);
	assert_memory_equal(set.value, expected, sizeof(expected));
	assert_int_equal(param_set_changed(&set), 1);
	param_reset(param_find(&made_up, "gains", 5), &set);
	assert_int_equal(param_set_changed(&set), 0);
}

static void a_key_is_found_by_all_of_its_name(void **state)
{
	char verb[] = "show", known[] = "gain", unknown[] = "gai";
	char *right[] = { verb, known }, *wrong[] = { verb, known, unknown };

	(void)state;
	assert_ptr_equal(param_find(&made_up, "gain=1", 4), &made_up_params[0]);
	assert_ptr_equal(param_find(&made_up, "gains", 5), &made_up_params[1]);
	assert_null(param_find(&made_up, "gai", 3));
	assert_null(param_find(&made_up, "", 0));
	assert_int_equal(param_check_keys(&made_up, 2, right), EXIT_DONE);
	assert_int_equal(param_check_keys(&made_up, 3, wrong), EXIT_USAGE);
}

static void what_is_out_of_range_is_clamped(void **state)
{
	struct param_set set = { .algorithm = &made_up };

	(void)state;
	param_set_clamp(&set);
	param_for_each (param, &made_up)
		for (__u32 i = 0; i < param->n; i++)
			assert_int_equal(set.value[param->first + i], param->lo);
	memset(set.value, 0xff, made_up.params_size);
	param_set_clamp(&set);
	param_for_each (param, &made_up)
		for (__u32 i = 0; i < param->n; i++)
			assert_int_equal(set.value[param->first + i], param->hi);
}

static void units_have_names(void **state)
{
	static const char *const names[] = { "ratio",  "ratio", "percent", "count", "packets",
					     "rounds", "us",	"ms",	   "bps",   "bps" };

	(void)state;
	for (__u32 i = 0; i < made_up.n_params; i++)
		assert_string_equal(param_notation(&made_up_params[i])->json, names[i]);
}

static void json_has_numbers_of_the_unit(void **state)
{
	const struct param_set set = param_set_default(&made_up);
	struct json j;
	char *text;
	size_t len;

	(void)state;
	json_begin(&j, open_memstream(&text, &len));
	param_for_each (param, &made_up)
		param_add_json(&j, param->key, param, &set);
	param_add_range_json(&j, "range", param_find(&made_up, "krate", 5));
	json_end(&j);
	fclose(j.to.out);
	assert_string_equal(text, "{\"gain\":1,\"gains\":[1.25,0.75,1],\"percent\":1,\"count\":3,"
				  "\"packets\":4,\"rounds\":10,\"usec\":1000,\"msec\":10000,"
				  "\"rate\":1200000,\"krate\":0,\"range\":[0,4000000000000]}\n");
	free(text);
}

/* A printed value is read back exactly, so its neighbours print differently. */
static void assert_round_trip(const struct param *param, const struct param_set *set)
{
	struct param_set back = param_set_default(set->algorithm);
	char text[PARAM_TEXT_LEN], assignment[2 * PARAM_TEXT_LEN];

	param_format(param, set, text, sizeof(text));
	snprintf(assignment, sizeof(assignment), "%s=%s", param->key, text);
	if (param_assign(assignment, &back) != EXIT_DONE)
		fail_msg("%s: refused", assignment);
	assert_true(param_equal(param, set, &back));
}

static void fill(const struct param *param, struct param_set *set, __u32 value)
{
	for (__u32 i = 0; i < param->n; i++)
		set->value[param->first + i] = value;
}

static void check_table(const struct algorithm *algorithm)
{
	struct param_set set = param_set_default(algorithm);
	__u32 next = 0;

	assert_true(algorithm->params_size <= sizeof(set.value));
	param_for_each (param, algorithm) {
		assert_int_equal(param->first, next);
		next += param->n;
		assert_true(param->n && param->lo < param->hi && param->help[0]);
		assert_ptr_equal(param_find(algorithm, param->key, strlen(param->key)), param);
		assert_true(param_is_default(param, &set));
		assert_round_trip(param, &set);
		fill(param, &set, param->lo);
		assert_round_trip(param, &set);
		fill(param, &set, param->hi);
		assert_round_trip(param, &set);
		fill(param, &set, param->lo + (param->hi - param->lo) / 3);
		assert_round_trip(param, &set);
	}
	assert_int_equal(next * sizeof(__u32), algorithm->params_size);
	set = param_set_default(algorithm);
	param_set_clamp(&set);
	assert_int_equal(param_set_changed(&set), 0); /* defaults are within their ranges */
}

static void every_table_is_whole_and_comes_back_from_text(void **state)
{
	(void)state;
	check_table(&made_up);
	for (size_t i = 0; i < n_algorithms; i++)
		check_table(algorithms[i]);
}

/* The number next to the range is refused. */
static const char *warnings(const struct param_set *old, const struct param_set *set)
{
	capture_begin();
	param_warn("one", old, set);
	capture_end();
	return captured_messages();
}

static void slow_rates_are_warned_of(void **state)
{
	const struct algorithm *bbr = algorithm_find("bbr");
	struct param_set set = param_set_default(bbr), old = set;

	(void)state;
	assert_string_equal(warnings(NULL, &set), "");
	assert_int_equal(param_assign("max_pacing_rate=100kbit", &set), EXIT_DONE);
	assert_int_equal(param_assign("min_pacing_rate=1kbit", &set), EXIT_DONE);
	assert_string_equal(warnings(&old, &set), "");
	assert_int_equal(param_assign("max_pacing_rate=1kbit", &set), EXIT_DONE);
	assert_non_null(strstr(warnings(&old, &set),
			       "one: max_pacing_rate=1kbit: packets that are already scheduled at "
			       "this rate keep an open connection silent, even after a change: "
			       "64 KB take 524 s\n"));
	assert_int_equal(param_assign("pacing_rate=99kbit", &set), EXIT_DONE);
	assert_int_equal(param_assign("pin_bw=50kbit", &set), EXIT_DONE);
	assert_non_null(strstr(warnings(NULL, &set), "pacing_rate=99kbit: packets"));
	assert_non_null(strstr(captured_messages(), "pin_bw=50kbit: packets"));
	old = set;
	assert_string_equal(warnings(&old, &set), "");
	capture_free();
}

/* 1.25 at a margin of 20 % is 1. Of a fixed rate nothing depends on the gains. */
static void gains_below_the_margin_are_warned_of(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_algorithms; i++) {
		struct param_set set = param_set_default(algorithms[i]), old;

		if (!param_find(set.algorithm, "pacing_margin", 13))
			continue;
		assert_int_equal(param_assign("pacing_margin=20%", &set), EXIT_DONE);
		assert_string_equal(warnings(NULL, &set), "");
		assert_int_equal(param_assign("pacing_margin=21%", &set), EXIT_DONE);
		assert_non_null(
			strstr(warnings(NULL, &set), "one: no gain of probe_bw_gains exceeds 1"));
		old = set;
		assert_string_equal(warnings(&old, &set), "");
		if (param_find(set.algorithm, "pacing_rate", 11)) {
			assert_int_equal(param_assign("pacing_rate=1mbit", &set), EXIT_DONE);
			assert_string_equal(warnings(NULL, &set), "");
		}
	}
	capture_free();
}

static void sizes_are_in_binary_steps(void **state)
{
	static const char *const wrong[] = { "2g", "1073741825", "1.0001k", "1kbit", "-1", "" };
	static const struct {
		const char *text, *back;
		__u32 bytes;
	} sizes[] = {
		{ "128k", "128k", 131072 }, { "131072", "128k", 131072 },
		{ "1.5k", "1536", 1536 },   { "0", "0", 0 },
		{ "1g", "1g", 1 << 30 },    { "1000", "1000", 1000 },
		{ "3m", "3m", 3 << 20 },
	};
	struct param_set set = param_set_default(algorithms[0]);
	const struct param *lowat = param_find(algorithms[0], "notsent_lowat", 13);
	char text[PARAM_TEXT_LEN];

	(void)state;
	assert_string_equal(param_notation(lowat)->json, "bytes");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(text, sizeof(text), "notsent_lowat=%s", sizes[i].text);
		assert_int_equal(param_assign(text, &set), EXIT_DONE);
		assert_int_equal(set.value[lowat->first], sizes[i].bytes);
		param_format(lowat, &set, text, sizeof(text));
		assert_string_equal(text, sizes[i].back);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "notsent_lowat=%s", wrong[i]);
		assert_int_equal(param_assign(text, &set), EXIT_USAGE);
	}
}

/* What is wrong is named: the unit, the sign, the key that was meant, the second value of a key. */
static void a_refusal_says_what_is_wrong(void **state)
{
	static const struct {
		const char *assignment, *said;
	} cases[] = {
		{ "cwnd_gain=200%", "cwnd_gain=200%: a number without a unit is needed\n" },
		{ "pacing_margin=1s", "pacing_margin=1s: the unit is %\n" },
		{ "pacing_margin=1", "pacing_margin=1: the unit is %\n" },
		{ "cwnd_gain=-1", "cwnd_gain=-1: must not be negative\n" },
		{ "min_rtt_win=-1s", "min_rtt_win=-1s: must not be negative\n" },
		{ "min_rtt_win=1m", "min_rtt_win=1m: the units are s, ms, us and ns\n" },
		{ "pacing_rate=1mb", "the units are tbit, gbit, mbit, kbit and bit\n" },
		{ "notsent_lowat=1mb", "notsent_lowat=1mb: the units are g, m and k\n" },
		{ "cwnd_gian=2", "is called cwnd_gian\n  did you mean cwnd_gain?\n" },
		{ "=2", "=2: expected KEY=VALUE, without blanks\n" },
	};
	static const char *const twice[] = { "cwnd_gain=1", "bw_win=9", "cwnd_gain=2" };
	struct param_set set = param_set_default(algorithms[0]);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		capture_begin();
		assert_int_equal(param_assign(cases[i].assignment, &set), EXIT_USAGE);
		capture_end();
		if (!strstr(captured_messages(), cases[i].said))
			fail_msg("%s: %s", cases[i].assignment, captured_messages());
	}
	assert_int_equal(param_check_once(2, twice), EXIT_DONE);
	capture_begin();
	assert_int_equal(param_check_once(3, twice), EXIT_USAGE);
	capture_end();
	assert_non_null(strstr(captured_messages(), "cwnd_gain: appears twice\n"));
}
static void what_a_route_sets_is_refused_with_a_reason(void **state)
{
	struct param_set set = param_set_default(algorithms[0]);
	char verb[] = "show", key[] = "window_clamp";
	char *keys[] = { verb, key };

	(void)state;
	capture_begin();
	assert_int_equal(param_assign("init_rwnd=20", &set), EXIT_USAGE);
	assert_int_equal(param_check_keys(NULL, 2, keys), EXIT_USAGE);
	assert_int_equal(param_assign("init_rwn=20", &set), EXIT_USAGE);
	assert_int_equal(param_assign("init_rwnd2=20", &set), EXIT_USAGE);
	capture_end();
	assert_non_null(strstr(captured_messages(),
			       "init_rwnd=20: no parameter init_rwnd: the handshake announces this "
			       "window before the congestion control begins\n"));
	assert_non_null(strstr(captured_messages(),
			       "show: no parameter window_clamp: the kernel lifts it when it "
			       "enlarges the receive buffer\n"));
	assert_non_null(strstr(captured_messages(), "no parameter is called init_rwn\n"));
	assert_non_null(strstr(captured_messages(), "no parameter is called init_rwnd2\n"));
	capture_free();
}

static void assert_limit(const struct param *param, const struct algorithm *algorithm, __u32 beyond)
{
	struct param_set set = param_set_default(algorithm);
	char text[PARAM_TEXT_LEN], assignment[2 * PARAM_TEXT_LEN];

	param_format_value(param, beyond, text, sizeof(text));
	snprintf(assignment, sizeof(assignment), "%s=%s", param->key, text);
	if (param_assign(assignment, &set) != EXIT_USAGE)
		fail_msg("%s: taken", assignment);
}

static void every_range_ends_where_it_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_algorithms; i++)
		param_for_each (param, algorithms[i]) {
			if (param->n > 1)
				continue;
			if (param->lo)
				assert_limit(param, algorithms[i], param->lo - 1);
			assert_limit(param, algorithms[i], param->hi + 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_unit_is_read_in_its_notation),
		cmocka_unit_test(what_is_not_in_its_notation_is_refused),
		cmocka_unit_test(what_is_out_of_range_is_refused),
		cmocka_unit_test(a_list_is_taken_as_a_whole),
		cmocka_unit_test(a_key_is_found_by_all_of_its_name),
		cmocka_unit_test(what_is_out_of_range_is_clamped),
		cmocka_unit_test(units_have_names),
		cmocka_unit_test(json_has_numbers_of_the_unit),
		cmocka_unit_test(every_table_is_whole_and_comes_back_from_text),
		cmocka_unit_test(slow_rates_are_warned_of),
		cmocka_unit_test(gains_below_the_margin_are_warned_of),
		cmocka_unit_test(sizes_are_in_binary_steps),
		cmocka_unit_test(a_refusal_says_what_is_wrong),
		cmocka_unit_test(what_a_route_sets_is_refused_with_a_reason),
		cmocka_unit_test(every_range_ends_where_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
