// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of an experiment is written and read back, and wrong files are refused; and experiments
 * made of recorded connections.
 */
#define _GNU_SOURCE /* asprintf() */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <arpa/inet.h>

#include <cmocka.h>

#include "cli/err.h"
#include "experiment/analysis/compare.h"
#include "experiment/results/study.h"
#include "experiment/analysis/guard.h"

#define RECORDED "tests/unit/experiment/recorded_connections.csv"

extern const char recorded[], recorded_end[];
/*
 * What bbrmon experiment -w wrote about 8 experiments with CUBIC in both arms
 * (tests/native/experiment/test_experiment_aa.py).
 */
__asm__(".section .rodata\n"
	".globl recorded, recorded_end\n" /* the arm64 linker takes two local symbols for one */
	"recorded: .incbin \"" RECORDED "\"\n"
	"recorded_end: .byte 0\n"
	".previous");

/* Makes a file with this text. */
static void make_file(char path[32], const char *text, size_t len)
{
	int fd;

	strcpy(path, "/tmp/bbr_unit_XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static int read_text(const char *text, size_t len, struct study *s)
{
	char path[32];
	int status;

	*s = (struct study){};
	make_file(path, text, len);
	status = file_read(path, s);
	unlink(path);
	return status;
}

/* The file's text for a study. The caller frees it. */
static char *text_of(const struct study *s, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	file_write_head(out, s);
	file_write_rows(out, s, 0);
	file_write_counters(out, s);
	fclose(out);
	return text;
}

static struct study make_study(void)
{
	struct study s = {
		.experiment = { .name = "e",
				.design = EXPERIMENT_SWITCHBACK,
				.unit = EXPERIMENT_BY_PREFIX,
				.arms = 2,
				.seed = 7,
				.prefix4 = 96 + 24,
				.prefix6 = 48,
				.block = 60000000000ull,
				.arm = { { .label = "a", .cc = "cubic" },
					 { .label = "b", .cc = "bpf_bbr", .profile_name = "p" } } },
		.until_ns = ~0ull,
		.control = { .assigned = { 3, 1ull << 40 }, .lost = 5 },
		.open = 6,
	};
	struct row row = {
		.number = 1,
		.connection = ~0ull,
		.begin_ns = 10,
		.last_ns = 1ull << 50,
		.acked = 1ull << 45,
		.sent = 3,
		.retransmitted = 2,
		.busy_us = 4,
		.rwnd_us = 5,
		.sndbuf_us = 6,
		.block = 8,
		.netns = ~0u,
		.timeouts = 8,
		.raddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.laddr = { htonl(0xfd000000), 0, 0, htonl(1) },
		.rport = htons(443),
		.lport = htons(65535),
		.arm = 1,
		.end = EXPERIMENT_SEAM,
		.continued = true,
		.rtts = 9,
		.rtt_min_us = 10,
		.rtt_mean_us = 11,
		.rtt_above_p50_us = 12,
		.rtt_above_p95_us = 13,
		.first_us = { 14, 15, 0 },
	};

	rows_add(&s.rows, &row);
	/* Another without round trips. */
	row.number = 2;
	row.end = EXPERIMENT_RESET;
	row.continued = false;
	row.rtts = row.rtt_min_us = row.rtt_mean_us = 0;
	row.rtt_above_p50_us = row.rtt_above_p95_us = 0;
	rows_add(&s.rows, &row);
	return s;
}

static void test_written_and_read_back(void **state)
{
	struct study s = make_study(), back;
	size_t len;
	char *text = text_of(&s, &len);

	(void)state;
	assert_int_equal(read_text(text, len, &back), EXIT_DONE);
	assert_false(back.is_cut);
	assert_memory_equal(&back.experiment.arm, &s.experiment.arm, sizeof(s.experiment.arm));
	assert_int_equal(back.experiment.design, s.experiment.design);
	assert_int_equal(back.experiment.unit, s.experiment.unit);
	assert_int_equal(back.experiment.block, s.experiment.block);
	assert_int_equal(back.experiment.prefix4, s.experiment.prefix4);
	assert_int_equal(back.until_ns, s.until_ns);
	assert_memory_equal(&back.control, &s.control, sizeof(s.control));
	assert_int_equal(back.open, s.open);
	assert_int_equal(back.rows.n, 2);
	for (int i = 0; i < 2; i++)
		assert_memory_equal(&back.rows.at[i], &s.rows.at[i], sizeof(struct row));
	study_free(&back);
	/* Any byte may be the last one written: a row that was not written never appears. */
	for (size_t cut = 0; cut < len; cut++) {
		if (read_text(text, cut, &back) == EXIT_DONE)
			assert_true(back.rows.n <= 2 && (text[cut - 1] == '\n') == !back.is_cut);
		for (size_t i = 0; i < back.rows.n; i++)
			assert_int_equal(back.rows.at[i].number, i + 1);
		study_free(&back);
	}
	free(text);
	study_free(&s);
}

/* A cell that begins with one of these is code for a program for tables. */
static void test_no_cell_is_code(void **state)
{
	struct study s = make_study();
	size_t len;
	char *text;

	(void)state;
	strcpy(s.experiment.name, "x,=1+1");
	strcpy(s.experiment.arm[0].label, "a;@SUM(A1)");
	strcpy(s.experiment.arm[1].label, "b\n=2");
	text = text_of(&s, &len);
	for (const char *c = text; *c; c++)
		if (strchr(",;\t\r\n", *c))
			assert_false(c[1] && strchr("=+-@", c[1]));
	assert_non_null(strstr(text, "# name=x?=1+1\n"));
	free(text);
	study_free(&s);
}

/* What reading this text says on stderr. The caller frees it. */
static char *message_of(const char *text, size_t len)
{
	int saved = dup(STDERR_FILENO), fd = memfd_create("stderr", 0);
	char *said = calloc(1, 4096);
	struct study s;

	assert_true(saved >= 0 && fd >= 0 && said);
	dup2(fd, STDERR_FILENO);
	assert_int_equal(read_text(text, len, &s), EXIT_USAGE);
	dup2(saved, STDERR_FILENO);
	assert_true(pread(fd, said, 4095, 0) >= 0);
	close(fd);
	close(saved);
	study_free(&s);
	return said;
}

/* Refuses the text with the first `of` replaced by `what`, and names the line where that is. */
static void refuses_at(const char *text, const char *of, const char *what, bool names_line)
{
	const char *at = strstr(text, of);
	char *wrong, *said, line[32];
	int n = 1;

	assert_non_null(at);
	for (const char *c = text; c < at; c++)
		n += *c == '\n';
	assert_true(asprintf(&wrong, "%.*s%s%s", (int)(at - text), text, what, at + strlen(of)) >
		    0);
	said = message_of(wrong, strlen(wrong));
	snprintf(line, sizeof(line), ": line %d: ", n);
	if (names_line && !strstr(said, line))
		fail_msg("\"%s\" for \"%s\" in line %d: %s", what, of, n, said);
	free(said);
	free(wrong);
}

static void refuses(const char *text, const char *of, const char *what)
{
	refuses_at(text, of, what, true);
}

static void test_what_it_is_not(void **state)
{
	struct study s = make_study(), none;
	size_t len;
	char *text = text_of(&s, &len);

	(void)state;
	assert_int_equal(file_read("/nothing/such", &none), EXIT_USAGE);
	assert_int_equal(read_text("", 0, &none), EXIT_USAGE);
	refuses_at(text, "bpf-bbr experiment", "something else", false);
	refuses(text, "arms=2", "arms=1");
	refuses(text, "arms=2", "arms=5");
	refuses(text, "arms=2", "arms=-2");
	refuses(text, "arms=2", "arms=4294967298");
	refuses(text, "prefix4=24", "prefix4=0");
	refuses(text, "prefix4=24", "prefix4=33");
	refuses(text, "prefix4=24", "prefix4=4294967224");
	refuses(text, "prefix6=48", "prefix6=0");
	refuses(text, "prefix6=48", "prefix6=4000");
	refuses(text, "scope_remote_bits=0", "scope_remote_bits=129");
	refuses(text, "scope_has_mark=0", "scope_has_mark=2");
	refuses_at(text, "# prefix6=48\n", "", false); /* the names' line says so */
	refuses(text, "design=switchback", "design=none");
	/* The first or the last of two: the answer may not depend on which one counts. */
	refuses_at(text, "# arms=2\n", "# arms=2\n# arms=2\n", false);
	refuses_at(text, "# design=switchback\n", "# design=switchback\n# design=ab\n", false);
	refuses(text, ",block,", ",block,arm,");
	refuses_at(text, "# design=switchback\n", "", false);
	refuses_at(text, "# unit=prefix\n", "", false);
	refuses_at(text, "# seed=7\n", "", false);
	refuses(text, ",timeouts,", ",");
	refuses(text, ",timeouts,", ",timeout,");
	refuses(text, "seam", "end");
	refuses(text, "10.0.0.1", "10.0.0.256");
	refuses(text, "10.0.0.1", "");
	refuses(text, ",443,", ",65536,");
	refuses(text, ",443,", ",443x,");
	refuses(text, ",443,", ",443,1,");
	refuses(text, ",443,", ",");
	refuses(text, "18446744073709551615,1,", "18446744073709551616,1,");
	refuses(text, "18446744073709551615,1,", "18446744073709551615,2,");
	refuses(text, ",seam,8,10,1125899906842624,1,", ",seam,8,10,1125899906842624,2,");
	refuses(text, ",seam,8,", ",seam,1048577,");
	/* The experiment is known before the first row. Only counters may follow. */
	for (const char *key = strstr(text, "# name"); key < strstr(text, "\nnumber,");
	     key = strchr(key, '\n') + 1) {
		char *again;

		assert_true(asprintf(&again, "first_1m_us\n%.*s\n", (int)(strchr(key, '\n') - key),
				     key) > 0);
		refuses_at(text, "first_1m_us\n", again, false);
		free(again);
	}
	refuses_at(text, "first_1m_us\n", "first_1m_us\n# arms=200\n", false);
	refuses_at(text, "first_1m_us\n", "first_1m_us\n# arms=0\n", false);
	refuses_at(text, "# name=e\n", "# format=bpf-bbr experiment\n# name=e\n", false);
	refuses_at(text, "first_1m_us\n", "first_1m_us\n# format=bpf-bbr experiment\n", false);
	free(text);
	study_free(&s);
}

/* Keys, values of a row or counters that are right, but not together. */
static void test_contradictions(void **state)
{
	struct study s = make_study(), back;
	size_t len;
	char *text = text_of(&s, &len), *twice;

	(void)state;
	refuses_at(text, "remote=::\n# scope_remote_bits=0",
		   "remote=1.2.3.4\n# scope_remote_bits=3", false);
	refuses_at(text, "remote=::", "remote=1.2.3.4", false);
	refuses_at(text, "remote=::\n# scope_remote_bits=0",
		   "remote=fd00::1\n# scope_remote_bits=64", false);
	refuses(text, "scope_mark=0", "scope_mark=5");
	refuses(text, "block_ns=60000000000", "block_ns=0");
	refuses(text, "washout_ns=0", "washout_ns=60000000000");
	refuses_at(text, "design=switchback", "design=ab", false);
	refuses(text, "arm1=b", "arm1=a");
	refuses_at(text, "# name=e\n", "", false);
	refuses_at(text, "# arm1=b\n", "", false);
	refuses_at(text, "# arm1_cc=bpf_bbr\n", "", false);
	refuses_at(text, "# seed=7\n", "# seed=7\n# arm2=c\n", false);
	refuses_at(text, "# seed=7\n", "# seed=7\n# arm3_profile=p\n", false);
	refuses_at(text, "# seed=7\n", "# seed=7\n# guard1=failed < 1x\n", false);
	refuses(text, "18446744073709551615,1,", "18446744073709551615,0,");
	refuses(text, ",seam,8,", ",seam,7,");
	refuses(text, ",seam,8,", ",open,8,");
	refuses(text, ",8,10,1125899906842624,", ",8,10,9,");
	refuses(text, ",3,2,8,4,", ",2,3,8,4,");
	refuses(text, ",9,10,11,12,13,", ",0,10,11,12,13,");
	refuses(text, ",9,10,11,12,13,", ",9,,11,12,13,");
	refuses(text, ",9,10,11,12,13,", ",9,10,9,12,13,");
	refuses(text, ",9,10,11,12,13,", ",9,10,11,14,13,");
	refuses(text, ",14,15,", ",14,13,");
	refuses(text, ",14,15,", ",,15,");
	refuses_at(text, "# chosen=0\n", "# chosen=0\n# chosen=0\n", false);
	refuses(text, "# name=e\n", "# assigned3=7\n# name=e\n");
	refuses(text, "assigned2=0", "assigned2=1");
	refuses(text, "refused3=0", "refused3=1");
	refuses(text, "refused1_errno=0", "refused1_errno=4294967295");
	/* The counters again, as --follow writes them. */
	assert_true(asprintf(&twice, "%s%s", text, strstr(text, "# until_ns=")) > 0);
	assert_int_equal(read_text(twice, strlen(twice), &back), EXIT_DONE);
	study_free(&back);
	*strstr(strstr(twice, "lost=5") + 1, "lost=5") = '#';
	strcpy(strrchr(twice, '#'), "# lost=4\n");
	free(message_of(twice, strlen(twice)));
	free(twice);
	free(text);
	study_free(&s);
}

/* Without blocks a row is in none. A canary has two arms. */
static void test_contradictions_without_blocks(void **state)
{
	struct study s = make_study(), back;
	size_t len;
	char *text;

	(void)state;
	s.experiment.design = EXPERIMENT_CANARY;
	s.experiment.block = 0;
	strcpy(s.experiment.guard[0], "failed < 1x");
	for (size_t i = 0; i < s.rows.n; i++) {
		s.rows.at[i].block = 0;
		s.rows.at[i].continued = false;
		s.rows.at[i].end = EXPERIMENT_CLOSED;
	}
	text = text_of(&s, &len);
	assert_int_equal(read_text(text, len, &back), EXIT_DONE);
	study_free(&back);
	refuses(text, ",closed,0,10,1125899906842624,0,", ",closed,1,10,1125899906842624,0,");
	refuses(text, ",closed,0,10,1125899906842624,0,", ",closed,0,10,1125899906842624,1,");
	refuses(text, ",closed,", ",seam,");
	refuses(text, "washout_ns=0", "washout_ns=1");
	refuses(text, "block_ns=0", "block_ns=1");
	refuses(text, "arms=2", "arms=3");
	free(text);
	study_free(&s);
}

/* An IPv6 prefix may look nearly like an IPv4 one. */
static void test_the_scope(void **state)
{
	struct study s = make_study();
	struct analysis a;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	s.experiment.scope.dst[2] = htonl(1);
	s.experiment.scope.dst_len = 96;
	analyse(&a, &s);
	analysis_print_text(out, &a);
	fclose(out);
	assert_non_null(strstr(text, "\nscope: remote ::1:0:0/96\n"));
	analysis_free(&a);
	free(text);
	study_free(&s);
}

/* A file without lines, such as a device, is not read to its end. */
static void test_lines_without_an_end(void **state)
{
	struct study s = make_study(), back;
	char path[32], *text, *longer, many[70000];
	size_t len;

	(void)state;
	text = text_of(&s, &len);
	study_free(&s);
	memset(many, 'x', sizeof(many));
	many[sizeof(many) - 1] = 0;
	for (int n = 60000; n < 70000; n += 9000) {
		assert_true(asprintf(&longer, "%s#%.*s\n", text, n, many) > 0);
		assert_int_equal(read_text(longer, strlen(longer), &back),
				 n < 65536 ? EXIT_DONE : EXIT_USAGE);
		study_free(&back);
		free(longer);
	}
	make_file(path, text, len);
	assert_int_equal(truncate(path, 1ll << 40), 0);
	back = (struct study){};
	assert_int_equal(file_read(path, &back), EXIT_USAGE);
	study_free(&back);
	unlink(path);
	back = (struct study){};
	assert_int_equal(file_read("/dev/zero", &back), EXIT_USAGE);
	/* A zero byte hides what is behind it, also in a line that the writer did not end. */
	for (int i = 1; i < 4; i++) {
		text[len - i] = 0;
		free(message_of(text, len));
	}
	free(text);
}

/* ---- experiments made of recorded connections, with the same in both arms */

#define EXPERIMENTS 500
#define PER_LOOK 48 /* connections that end between two looks at the guards */

static void draw_arms(struct rows *rows, __u32 seed)
{
	for (size_t i = 0; i < rows->n; i++)
		rows->at[i].arm = experiment_mix(seed ^ experiment_mix(i + 1)) & 1;
}

static void test_recorded_connections(void **state)
{
	int compared = 0, different = 0;
	struct rows_units units;
	struct comparison c;
	struct study s;

	(void)state;
	assert_int_equal(read_text(recorded, recorded_end - recorded, &s), EXIT_DONE);
	assert_true(s.rows.n > 500);
	units = rows_find_units(&s.rows, &s.experiment);
	for (__u32 k = 0; k < EXPERIMENTS; k++) {
		draw_arms(&s.rows, experiment_mix(k + 1));
		for (int m = 0; m < n_metrics; m++) {
			c = compare(&metrics[m], &s.rows, &units, 1, SIZE_ALL);
			compared += c.lack == COMPARE_HAS_ALL;
			different += c.verdict != COMPARE_UNDECIDED;
		}
	}
	printf("%d of %d are called different: %.1f %%\n", different, compared,
	       100.0 * different / compared);
	assert_true(compared > 5 * EXPERIMENTS);
	assert_true(different <= 0.07 * compared && different >= 0.03 * compared);
	study_free(&s);
}

/* Three guards at the strictest level, evaluated again and again. */
static bool is_taken_back(const struct study *s)
{
	static const char *const guards[] = { "retransmitted < 1x", "goodput_p50 > 1x",
					      "rtt_p95 < 1x" };
	struct rows rows = { .at = s->rows.at };
	struct guard_result result;
	struct rows_units units;
	struct guard guard;

	for (rows.n = PER_LOOK; rows.n <= s->rows.n; rows.n += PER_LOOK) {
		units = rows_find_units(&rows, &s->experiment);
		for (int i = 0; i < 3; i++) {
			assert_true(guard_parse(guards[i], &guard));
			result = guard_judge(&guard, &rows, &units, 1, GUARD_LEVEL / 3);
			if (result.verdict == GUARD_FAILED)
				return true;
		}
	}
	return false;
}

static void test_guards_on_recorded_connections(void **state)
{
	struct study s;
	int n = 0;

	(void)state;
	assert_int_equal(read_text(recorded, recorded_end - recorded, &s), EXIT_DONE);
	for (__u32 k = 0; k < EXPERIMENTS; k++) {
		draw_arms(&s.rows, experiment_mix(k + 1));
		n += is_taken_back(&s);
	}
	printf("%d of %d are taken back\n", n, EXPERIMENTS);
	assert_true(n <= 0.07 * EXPERIMENTS);
	study_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_and_read_back),
		cmocka_unit_test(test_no_cell_is_code),
		cmocka_unit_test(test_what_it_is_not),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_contradictions_without_blocks),
		cmocka_unit_test(test_the_scope),
		cmocka_unit_test(test_lines_without_an_end),
		cmocka_unit_test(test_recorded_connections),
		cmocka_unit_test(test_guards_on_recorded_connections),
	};

	err_init("test", false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
