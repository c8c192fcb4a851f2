/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that a recording goes to: new ones, old ones that it is appended to, one after another,
 * and what is refused. What others recorded must never be lost by mistake.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cli/err.h"
#include "kernel/clock.h"
#include "recording/writer.h"
#include "recording/reader.h"
#include "made_up.h"

#include "../capture.h"

static char folder[] = "/tmp/test_record_output.XXXXXX";
static char path[64];
static struct record_output o;
static __u64 next; /* event */

static const char *file(const char *suffix)
{
	static char name[128];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return name;
}

static int begin(void **state)
{
	(void)state;
	if (!path[0] && !mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	o = (struct record_output){ .path = path, .fd = -1, .writer = recording_writer_new() };
	next = 0;
	return !o.writer;
}

static int end(void **state)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	(void)state;
	record_output_close(&o);
	recording_writer_free(o.writer);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name,
				 entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
	closedir(dir);
	return 0;
}

/* What it returns; its messages are captured. */
static int open_output(void)
{
	int ret;

	capture_begin();
	ret = record_output_open(&o);
	capture_end();
	return ret;
}

static void expect_open(void)
{
	static const struct recording_run run = { .id = 1, .sampling = BBR_SAMPLE_ACK };

	assert_int_equal(open_output(), EXIT_DONE);
	assert_string_equal(captured_messages(), "");
	recording_writer_run(o.writer, &run);
}

static void expect_refusal(const char *message)
{
	assert_int_equal(open_output(), EXIT_REFUSED);
	if (!strstr(captured_messages(), message))
		fail_msg("\"%s\" is not in: %s", message, captured_messages());
}

static void put(int n)
{
	for (int i = 0; i < n; i++) {
		struct bbr_event e = made_up_event(1 + next % 7, RUN, next * 2654435761u, 1);

		e.seq = next;
		e.time_ns += next++ * 1000;
		recording_writer_event(o.writer, &made_up_origin, &e);
	}
	assert_false(o.writer->failed);
}

static void finish(void)
{
	recording_writer_end(o.writer, true);
	assert_false(o.writer->failed);
	record_output_close(&o);
	o.fd = -1;
}

/* How many events a file has. They must be consecutive, from `first` on. */
static __u64 count(const char *name, __u64 first)
{
	struct recording_reader *r = calloc(1, sizeof(*r));
	enum recording_next what;
	__u64 n = 0;

	assert_int_equal(recording_open(r, name), EXIT_DONE);
	while ((what = recording_next(r, -1)) == RECORDING_NEXT_EVENT)
		assert_int_equal(r->event.seq, first + n++);
	assert_int_equal(what, RECORDING_NEXT_OVER);
	assert_int_equal(r->places, 0);
	recording_close(r);
	free(r);
	return n;
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) ? -1 : st.st_size;
}

static void write_text(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void expect_text(const char *name, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(name, "r");

	assert_non_null(f);
	assert_int_equal(fread(found, 1, sizeof(found) - 1, f), strlen(text));
	assert_string_equal(found, text);
	fclose(f);
}

static void a_new_file(void **state)
{
	(void)state;
	expect_open();
	put(10);
	finish();
	assert_int_equal(count(path, 0), 10);
	assert_int_equal(record_output_bytes(&o), size_of(path));
}

static void an_old_file_is_replaced(void **state)
{
	(void)state;
	expect_open();
	put(1000);
	finish();
	expect_open();
	put(3);
	finish();
	assert_int_equal(count(path, 1000), 3);
	assert_int_equal(size_of(file(".1")), -1);
}

static void what_cannot_be_written_to(void **state)
{
	char link[128], long_name[PATH_MAX + 10];

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	expect_refusal("Is a directory");
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refusal("not a file\n  write to a pipe with -o -");
	unlink(path);
	o.path = file("/no/file");
	expect_refusal("No such file or directory");
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = 0;
	o.path = long_name;
	expect_refusal("File name too long");
	o.path = path;
	snprintf(link, sizeof(link), "%s/loop", folder);
	assert_int_equal(symlink(link, link), 0);
	o.path = link;
	expect_refusal("Too many levels of symbolic links");
	o.path = path;
	o.append = true;
	assert_int_equal(mkdir(path, 0700), 0);
	expect_refusal("Is a directory");
}

static void a_file_of_another_bbrmon_stays(void **state)
{
	int other;

	(void)state;
	write_text(path, "theirs");
	other = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	for (int append = 0; append <= 1; append++) {
		o.append = append;
		o.rotate_size = append ? 0 : ROTATE_SIZE_MIN;
		expect_refusal("another bbrmon is writing to it");
		expect_text(path, "theirs");
	}
	assert_int_equal(flock(other, LOCK_UN), 0);
	o.append = false;
	o.rotate_size = 0;
	expect_open(); /* now nobody does, and nobody may from now on */
	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), -1);
	close(other);
}

static void what_nobody_keeps_may_be_a_device(void **state)
{
	(void)state;
	o.path = "/dev/null";
	expect_open();
	put(10);
	finish();
	assert_true(record_output_bytes(&o) > 0);
}

static void appended_events_follow_the_old_ones(void **state)
{
	off_t old;

	(void)state;
	o.append = true;
	expect_open(); /* there is no file yet */
	put(10);
	finish();
	old = size_of(path);
	assert_int_equal(record_output_bytes(&o), old);
	for (int i = 1; i <= 3; i++) {
		expect_open();
		put(10);
		finish();
		assert_int_equal(count(path, 0), 10 * (i + 1));
		assert_int_equal(record_output_bytes(&o), size_of(path) - old);
		old = size_of(path);
	}
}

static pid_t *inflater; /* who called zlib last, in memory that a child shares */

/* Instead of zlib's, which it calls. */
int inflate(z_streamp stream, int flush)
{
	int (*real)(z_streamp, int) = (__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, "inflate");

	if (inflater)
		*inflater = getpid();
	return real(stream, flush);
}

/* bbrmon keeps its privileges, because it still has to watch. */
static void what_is_appended_to_is_read_by_another_process(void **state)
{
	(void)state;
	o.append = true;
	expect_open();
	put(10);
	finish();
	inflater = mmap(NULL, sizeof(*inflater), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	assert_true(inflater != MAP_FAILED);
	expect_open();
	assert_int_not_equal(*inflater, 0);
	assert_int_not_equal(*inflater, getpid());
	finish();
	munmap(inflater, sizeof(*inflater));
	inflater = NULL;
}

static void a_file_that_gets_nothing(void **state)
{
	(void)state;
	assert_int_equal(record_output_reach(&o), EXIT_DONE);
	assert_int_equal(size_of(path), 0);
	record_output_close(&o);
	assert_int_equal(size_of(path), -1);
	write_text(path, "");
	assert_int_equal(record_output_reach(&o), EXIT_DONE);
	record_output_close(&o);
	assert_int_equal(size_of(path), 0); /* it was there before */
	write_text(path, "something");
	assert_int_equal(record_output_reach(&o), EXIT_DONE);
	record_output_close(&o);
	expect_text(path, "something");
}

static void an_empty_file_is_appended_to(void **state)
{
	(void)state;
	write_text(path, "");
	o.append = true;
	expect_open();
	put(10);
	finish();
	assert_int_equal(count(path, 0), 10);
}

/* Whatever byte it was cut at, what was there before its last chunk stays. */
static void a_cut_file_is_appended_to(void **state)
{
	off_t first, whole;
	__u64 before = 0;

	(void)state;
	o.append = true;
	expect_open();
	put(10);
	recording_writer_flush(o.writer);
	first = size_of(path);
	put(500);
	finish();
	whole = size_of(path);
	for (off_t at = first + 1; at < whole; at += (whole - first) / 7) {
		__u64 kept;

		unlink(path);
		next = 0;
		expect_open();
		put(10);
		recording_writer_flush(o.writer);
		put(500);
		finish();
		assert_int_equal(truncate(path, at), 0);
		assert_int_equal(open_output(), EXIT_DONE);
		assert_non_null(strstr(captured_messages(), "was cut off at byte"));
		kept = count(path, 0); /* they are in the file before anything is added */
		finish();
		assert_int_equal(count(path, 0), kept);
		assert_in_range(kept, before ? before : 10, 510);
		before = kept;
	}
	assert_true(before > 100);
}

static void what_is_no_recording_is_not_appended_to(void **state)
{
	(void)state;
	write_text(path, "my only copy of something else\n");
	o.append = true;
	assert_int_equal(open_output(), EXIT_USAGE);
	assert_true(captured_messages()[0]);
	o.fd = -1;
	expect_text(path, "my only copy of something else\n");
}

/* Writes until it has rotated this often. Returns the events of all but the last file. */
static __u64 rotate(int times)
{
	__u64 before = o.files;

	while (o.files < before + times) {
		put(100);
		recording_writer_flush(o.writer);
		assert_int_equal(record_output_rotate(&o), EXIT_DONE);
	}
	return next;
}

static void large_files_are_rotated(void **state)
{
	__u64 n, bytes;

	(void)state;
	o.rotate_size = ROTATE_SIZE_MIN;
	expect_open();
	n = rotate(2);
	put(5);
	finish();
	assert_int_equal(o.files, 2);
	assert_int_equal(count(path, n), 5);
	bytes = size_of(path) + size_of(file(".1"));
	assert_int_equal(record_output_bytes(&o), bytes + size_of(file(".2")));
	assert_in_range(size_of(file(".1")), ROTATE_SIZE_MIN / 4, ROTATE_SIZE_MIN);
	n = count(file(".2"), 0);
	assert_true(n > 100);
	count(file(".1"), n); /* continues where the older one ends */
	assert_int_equal(size_of(file(".3")), -1);
}

static void old_files_are_rotated(void **state)
{
	(void)state;
	o.rotate_ns = 3600 * NS_PER_S;
	expect_open();
	put(10);
	assert_int_equal(record_output_rotate(&o), EXIT_DONE);
	assert_int_equal(o.files, 0);
	o.opened_ns -= o.rotate_ns;
	assert_int_equal(record_output_rotate(&o), EXIT_DONE);
	assert_int_equal(o.files, 1);
	assert_int_equal(count(file(".1"), 0), 10);
	finish();
}

static void a_limit_that_was_not_requested(void **state)
{
	(void)state;
	expect_open();
	put(1);
	o.opened_ns = 0;
	o.writer->size += 1ull << 40; /* as if */
	assert_int_equal(record_output_rotate(&o), EXIT_DONE);
	assert_int_equal(o.files, 0);
	o.writer->size -= 1ull << 40;
}

/* A recording that begins again does not overwrite that of before. */
static void a_rotated_file_of_before_moves_on(void **state)
{
	(void)state;
	write_text(path, "zero");
	write_text(file(".1"), "one");
	write_text(file(".3"), "three"); /* not one after another with these */
	o.rotate_size = ROTATE_SIZE_MIN;
	expect_open();
	finish();
	expect_text(file(".1"), "zero");
	expect_text(file(".2"), "one");
	expect_text(file(".3"), "three");
	assert_int_equal(size_of(file(".4")), -1);
}

static void only_some_files_are_kept(void **state)
{
	(void)state;
	o.rotate_size = ROTATE_SIZE_MIN;
	for (o.keep = 1; o.keep <= 3; o.keep++) {
		write_text(path, "zero");
		write_text(file(".1"), "one");
		write_text(file(".2"), "two");
		write_text(file(".3"), "three");
		expect_open();
		finish();
		for (__u64 n = 1; n <= 4; n++) {
			static const char *const now[] = { "", "zero", "one" };
			char suffix[8];

			snprintf(suffix, sizeof(suffix), ".%llu", n);
			if (n < o.keep)
				expect_text(file(suffix), now[n]);
			else
				assert_int_equal(size_of(file(suffix)), -1);
		}
	}
}

/* An unreadable folder where an old file should go: the recording is not begun. */
static void what_cannot_be_moved_is_not_overwritten(void **state)
{
	(void)state;
	write_text(path, "zero");
	assert_int_equal(mkdir(file(".1"), 0700), 0);
	o.rotate_size = ROTATE_SIZE_MIN;
	o.keep = 2; /* so .1 would have to go */
	expect_refusal("cannot write");
	expect_text(path, "zero");
}

static void a_reader_that_has_gone(void **state)
{
	int pipe_of[2];
	bool gone;

	(void)state;
	assert_int_equal(pipe2(pipe_of, O_CLOEXEC), 0);
	o.fd = pipe_of[1];
	recording_writer_file(o.writer, o.fd, "standard output", 0);
	assert_false(record_output_is_gone(&o));
	close(pipe_of[0]);
	capture_begin();
	gone = record_output_is_gone(&o);
	capture_end();
	assert_true(gone);
	assert_non_null(strstr(captured_messages(), "cannot write standard output: Broken pipe"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file),
		TEST(an_old_file_is_replaced),
		TEST(what_cannot_be_written_to),
		TEST(a_file_of_another_bbrmon_stays),
		TEST(what_nobody_keeps_may_be_a_device),
		TEST(appended_events_follow_the_old_ones),
		TEST(what_is_appended_to_is_read_by_another_process),
		TEST(a_file_that_gets_nothing),
		TEST(an_empty_file_is_appended_to),
		TEST(a_cut_file_is_appended_to),
		TEST(what_is_no_recording_is_not_appended_to),
		TEST(large_files_are_rotated),
		TEST(old_files_are_rotated),
		TEST(a_limit_that_was_not_requested),
		TEST(a_rotated_file_of_before_moves_on),
		TEST(only_some_files_are_kept),
		TEST(what_cannot_be_moved_is_not_overwritten),
		TEST(a_reader_that_has_gone),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return rmdir(folder) || failed;
}
