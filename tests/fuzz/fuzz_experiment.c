// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of an experiment, read and analysed as `bbrmon experiment FILE` does, on arbitrary files.
 * If the first byte of the input is odd, the rest is the file. Otherwise it is the numbers of an
 * experiment and of its connections, of which a file is made that the reader accepts: so the
 * analysis gets all designs and any values. Answers are printed as text, JSON and a page.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include <arpa/inet.h>

#include <json-c/json.h>

#include "address.h"
#include "cli/err.h"
#include "experiment/results/study.h"
#include "experiment/analysis/guard.h"
#include "fuzz.h"

#define MAX_ROWS 120
#define MAX_BLOCK 40

static unsigned long refused, cut, read_whole, made, designs[EXPERIMENT_DESIGNS];
static unsigned long lacks[COMPARE_LACKS], verdicts[3], by_prefix, ties, curves, guards[3];

static void report(void)
{
	static const char *const names[COMPARE_LACKS] = {
		"an interval",	 "no connections",	"0 in both arms", "equal values",
		"too few units", "too few connections", "too few rounds",
	};

	say_reached("refused", refused);
	say_reached("cut off", cut);
	say_reached("read", read_whole);
	say_reached("made", made);
	for (__u32 i = 0; i < EXPERIMENT_DESIGNS; i++)
		say_reached(experiment_designs[i], designs[i]);
	for (int i = 0; i < COMPARE_LACKS; i++)
		say_reached(names[i], lacks[i]);
	say_reached("undecided", verdicts[COMPARE_UNDECIDED]);
	say_reached("better", verdicts[COMPARE_BETTER]);
	say_reached("worse", verdicts[COMPARE_WORSE]);
	say_reached("by prefix", by_prefix);
	say_reached("a difference of 0", ties);
	say_reached("a curve", curves);
	say_reached("a guard that holds", guards[GUARD_HOLDS]);
	say_reached("a guard that failed", guards[GUARD_FAILED]);
	say_reached("a guard that is proven", guards[GUARD_PROVEN]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "w"); /* for refusals; glibc allows the assignment */
	return stderr ? atexit(report) : -1;
}

/* ---- a file */

/* A number of any size: small ones, and those that share few bits, are as frequent as large ones. */
static __u64 take_number(struct input *in)
{
	__u8 byte[2];

	input_take(in, byte, sizeof(byte));
	return (__u64)byte[0] << byte[1] % 57;
}

static __u32 take_below(struct input *in, __u32 n)
{
	__u8 byte;

	input_take(in, &byte, sizeof(byte));
	return byte % n;
}

/* A number, and a clock's step that it is a multiple of. */
static __u32 take_time(struct input *in, __u32 step)
{
	__u16 number;

	input_take(in, &number, sizeof(number));
	return (__u32)number * step;
}

static void take_row(struct input *in, const struct study *s, struct row *row, __u32 step)
{
	const struct experiment *e = &s->experiment;

	*row = (struct row){
		.number = s->rows.n,
		.connection = s->rows.n,
		.arm = take_below(in, e->arms),
		.end = 1 + take_below(in, EXPERIMENT_ENDS - 1),
		.raddr = { 0, 0, htonl(0xffff), htonl(take_below(in, 64) << 8) },
		.busy_us = take_time(in, step),
		.acked = take_number(in),
		.rtts = take_below(in, 4),
		.rtt_min_us = take_time(in, step),
	};
	if (e->design == EXPERIMENT_SWITCHBACK) {
		row->block = take_below(in, MAX_BLOCK);
		row->arm = experiment_block_arm(e->seed, e->arms, row->block);
		row->continued = take_below(in, 8) == 7;
	} else if (row->end == EXPERIMENT_SEAM) {
		row->end = EXPERIMENT_CLOSED;
	}
	row->retransmitted = take_below(in, 4) ? 0 : take_number(in);
	row->sent = row->acked + row->retransmitted;
	if (row->sent < row->retransmitted)
		row->sent = row->retransmitted;
	row->timeouts = take_below(in, 16) ? 0 : take_number(in);
	row->rtt_mean_us = row->rtt_min_us + take_below(in, 8) * step;
	row->rtt_above_p95_us = take_below(in, 8) * step;
	if (!row->rtts || !row->rtt_min_us)
		row->rtts = row->rtt_min_us = row->rtt_mean_us = row->rtt_above_p95_us = 0;
	for (int i = 0; i < EXPERIMENT_FIRSTS; i++) {
		__u32 us = take_time(in, step);

		if (!us)
			break;
		row->first_us[i] = us + (i ? row->first_us[i - 1] : 0);
	}
}

/* Each row that the input has is there several times, so that a small input is an experiment. */
static FILE *make_file(struct input *in, char **text, size_t *size)
{
	struct study s = { .experiment = { .name = "e", .prefix4 = 96 + 24, .prefix6 = 48 } };
	struct experiment *e = &s.experiment;
	FILE *out = open_memstream(text, size);
	__u32 step, times;
	struct row row;

	CHECK(out);
	e->design = take_below(in, EXPERIMENT_DESIGNS);
	e->unit = take_below(in, 2);
	e->arms = 2 + take_below(in, e->design == EXPERIMENT_CANARY ? 1 : EXPERIMENT_ARMS - 1);
	e->seed = take_below(in, 256);
	e->block = e->design == EXPERIMENT_SWITCHBACK ? 1 + take_below(in, 255) : 0;
	step = 1 + take_below(in, 3) * 4000;
	times = 1 + take_below(in, 16);
	s.until_ns = take_number(in);
	s.control.refused[1] = take_below(in, 2);
	s.control.refused_error[1] = take_below(in, 64);
	for (__u32 i = 0; i < e->arms; i++) {
		snprintf(e->arm[i].label, sizeof(e->arm[i].label), "arm%u", i);
		strcpy(e->arm[i].cc, "cubic");
	}
	file_write_head(out, &s);
	while (in->left && s.rows.n + times <= MAX_ROWS) {
		take_row(in, &s, &row, step);
		for (__u32 i = 0; i < times; i++)
			rows_add(&s.rows, &row);
	}
	file_write_rows(out, &s, 0);
	file_write_counters(out, &s);
	rows_free(&s.rows);
	made++;
	return out;
}

/* ---- what must hold */

static void check_arm(const struct compare_arm *arm)
{
	CHECK(!arm->has_value || isfinite(arm->value));
}

static void check_comparison(const struct comparison *c)
{
	lacks[c->lack]++;
	verdicts[c->verdict]++;
	check_arm(&c->control);
	check_arm(&c->treated);
	if (c->lack == COMPARE_NO_CONNECTIONS)
		return;
	CHECK(isfinite(c->difference));
	ties += !c->difference;
	if (c->lack != COMPARE_HAS_ALL) {
		CHECK(c->verdict == COMPARE_UNDECIDED);
		return;
	}
	CHECK(c->low <= c->difference && c->difference <= c->high);
	CHECK(isfinite(c->low) && isfinite(c->high) && isfinite(c->detectable));
	CHECK((c->verdict != COMPARE_UNDECIDED) == (c->low > 0 || c->high < 0));
	CHECK(c->low < c->high && c->detectable > 0);
}

static void check_curve(const struct curve *c)
{
	for (int i = 0; c->connections && i < CURVE_POINTS; i++) {
		CHECK(isfinite(c->point[i]));
		CHECK(!i || c->point[i - 1] <= c->point[i]);
	}
	curves += !!c->connections;
}

static void check_text(const struct analysis *a)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	analysis_print_text(out, a);
	CHECK(!fclose(out));
	for (size_t i = 0; i < size; i++)
		CHECK(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
	free(text);
}

static void check_json(const struct analysis *a)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *o;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	analysis_print_json(out, a);
	CHECK(!fclose(out));
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tokener, text, size);
	CHECK(o && json_tokener_get_error(tokener) == json_tokener_success);
	json_object_put(o);
	json_tokener_free(tokener);
	free(text);
}

/* Nothing of the file ends the data's element: there are as many as in the page itself. */
static void check_page(const struct analysis *a)
{
	char *text;
	size_t size;
	int ends = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	analysis_print_page(out, a);
	CHECK(!fclose(out));
	for (const char *at = text; (at = strcasestr(at, "</script")); at++)
		ends++;
	CHECK(ends == 2);
	free(text);
}

static void check_guard(const char *of, const struct study *s, const struct analysis *a)
{
	double level = guard_level(&s->experiment);
	struct guard_result result;
	struct guard guard;

	CHECK(level > 0 && level <= GUARD_LEVEL && guard_parse(of, &guard));
	result = guard_judge(&guard, &s->rows, &a->units, 1, level);
	guards[result.verdict]++;
	if (result.verdict != GUARD_HOLDS) {
		CHECK(isfinite(result.allowed_errors) && result.allowed_errors > 0);
		CHECK(fabs(result.errors) > result.allowed_errors);
		CHECK((result.verdict == GUARD_FAILED) == (result.errors > 0));
		CHECK(result.connections[0] >= GUARD_MIN_CONNECTIONS);
		CHECK(result.connections[1] >= GUARD_MIN_CONNECTIONS);
	}
	for (const char *c = guard_text(&guard, &result); *c; c++)
		CHECK(*c >= ' ' && *c <= '~');
}

/* What the reader accepts of a row has a sense, whatever the file has. */
static void check_row(const struct experiment *e, const struct row *row)
{
	CHECK(row->arm < e->arms && row->end > EXPERIMENT_OPEN && row->end < EXPERIMENT_ENDS);
	CHECK(row->begin_ns <= row->last_ns && row->retransmitted <= row->sent);
	CHECK(!row->rtts == !row->rtt_min_us && row->rtt_min_us <= row->rtt_mean_us);
	if (e->design == EXPERIMENT_SWITCHBACK)
		CHECK(row->arm == experiment_block_arm(e->seed, e->arms, row->block));
	else
		CHECK(!row->block && !row->continued && row->end != EXPERIMENT_SEAM);
}

static void check_experiment(const struct experiment *e)
{
	__u32 mask[4];

	CHECK(e->arms >= 2 && e->arms <= EXPERIMENT_ARMS);
	CHECK((e->design == EXPERIMENT_SWITCHBACK) == !!e->block);
	CHECK(!e->washout || e->washout < e->block);
	CHECK(e->scope.has_mark || !e->scope.mark);
	prefix_mask(mask, e->scope.dst_len);
	for (int i = 0; i < 4; i++)
		CHECK(!(e->scope.dst[i] & ~mask[i]));
	for (__u32 i = 0; i < EXPERIMENT_ARMS; i++)
		CHECK(!e->arm[i].label[0] == (i >= e->arms));
}

static void check_study(struct study *s)
{
	static const char *const of[] = { "retransmitted < 1.2x", "rtt_p95 < +10ms",
					  "goodput_p50 > 0.97x", "failed < +0.5%" };

	struct analysis a;

	CHECK(s->experiment.design < EXPERIMENT_DESIGNS);
	check_experiment(&s->experiment);
	for (size_t i = 0; i < s->rows.n; i++)
		check_row(&s->experiment, &s->rows.at[i]);
	analyse(&a, s);
	designs[s->experiment.design]++;
	by_prefix += a.units.by == ROWS_BY_PREFIX;
	for (int i = 0; i < a.n; i++)
		check_comparison(&a.comparison[i]);
	for (int i = 0; i < a.curves; i++)
		check_curve(&a.curve[i]);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		check_guard(of[i], s, &a);
	check_text(&a);
	check_json(&a);
	check_page(&a);
	analysis_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct study s = {};
	char path[64], *text = NULL;
	size_t len;
	FILE *file;
	__u8 how;
	int fd = memfd_create("experiment", MFD_CLOEXEC);

	CHECK(fd >= 0);
	input_take(&in, &how, sizeof(how));
	s.rows.with_continued = how & 2;
	if (how & 1) {
		CHECK(write(fd, in.data, in.left) == (ssize_t)in.left);
	} else {
		file = make_file(&in, &text, &len);
		CHECK(!fclose(file));
		CHECK(write(fd, text, len) == (ssize_t)len);
		free(text);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (file_read(path, &s) == EXIT_DONE) {
		read_whole++;
		cut += s.is_cut;
		check_study(&s);
	} else {
		CHECK(how & 1);
		refused++;
	}
	study_free(&s);
	close(fd);
	return 0;
}
