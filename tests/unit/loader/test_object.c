/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A BPF object that somebody hands over is looked at in a process without privileges. If libbpf
 * crashes there, that is one message.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <bpf/libbpf.h>
#include <cmocka.h>

#include "cli/privileges.h"
#include "cli/err.h"
#include "instance/object.h"

#define OBJECT "build/bpf_bbr.bpf.o"

static char path[] = "/tmp/test_object.XXXXXX";
static int file = -1;

/* What libbpf is to do, and what its process had when it was called; shared with the child. */
static struct seen {
	enum {
		WORK,
		CRASH,
		TRUNCATE
	} then;
	pid_t parent;
	int calls, calls_of_parent;
	__u64 caps;
	int no_new_privs, may_open;
} *seen;

/* Instead of libbpf's, which it calls. */
struct bpf_object *bpf_object__open_mem(const void *bytes, size_t size,
					const struct bpf_object_open_opts *opts)
{
	struct bpf_object *(*real)(const void *, size_t, const struct bpf_object_open_opts *) =
		(__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, "bpf_object__open_mem");
	int fd;

	seen->calls++;
	if (getpid() == seen->parent) {
		seen->calls_of_parent++;
		return real(bytes, size, opts);
	}
	seen->caps = caps_of_process(CAP_PERMITTED) | caps_of_process(CAP_EFFECTIVE);
	seen->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	fd = open("/etc/passwd", O_RDONLY);
	seen->may_open = fd >= 0;
	if (seen->then == CRASH)
		kill(getpid(), SIGKILL);
	if (seen->then == TRUNCATE && ftruncate(file, 0))
		return NULL;
	return real(bytes, size, opts);
}

/* A copy of an object of the build, or what is given. */
static void make_file(const char *text)
{
	char *all = NULL;
	size_t len = 0;
	FILE *from = text ? NULL : fopen(OBJECT, "re"), *to = open_memstream(&all, &len);
	int c;

	assert_true(text || from);
	if (text)
		fputs(text, to);
	while (from && (c = getc(from)) != EOF)
		putc(c, to);
	if (from)
		fclose(from);
	fclose(to);
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(pwrite(file, all, len, 0), len);
	free(all);
}

static int open_it(struct object *obj)
{
	seen->calls = seen->calls_of_parent = 0;
	seen->parent = getpid();
	return object_open(path, NULL, obj);
}

/* The same with what it and its child print, in `errors`. */
static int open_and_listen(const char *name, char errors[512])
{
	FILE *to = tmpfile();
	int ret, real = dup(STDERR_FILENO);
	struct object obj;
	size_t len;

	seen->calls = seen->calls_of_parent = 0;
	seen->parent = getpid();
	assert_true(to && dup2(fileno(to), STDERR_FILENO) >= 0);
	ret = object_open(name, NULL, &obj);
	dup2(real, STDERR_FILENO);
	close(real);
	rewind(to);
	len = fread(errors, 1, 511, to);
	errors[len] = 0;
	fclose(to);
	return ret;
}

static void test_the_child_has_no_privileges(void **state)
{
	struct object obj;

	(void)state;
	seen->then = WORK;
	make_file(NULL);
	assert_int_equal(open_it(&obj), EXIT_DONE);
	assert_string_equal(obj.abi.algorithm, "bbr");
	object_close(&obj);
	assert_int_equal(seen->calls, 2);
	assert_int_equal(seen->calls_of_parent, 1);
	assert_int_equal(seen->caps, 0);
	assert_int_equal(seen->no_new_privs, 1);
	assert_false(seen->may_open);
}

static void test_a_crash_is_one_message(void **state)
{
	char expected[512], errors[512];

	(void)state;
	seen->then = CRASH;
	make_file(NULL);
	snprintf(expected, sizeof(expected),
		 "tool: %s: cannot be read: the process without privileges that looked at it died: "
		 "Killed\n"
		 "  the file is damaged, or made to do harm\n",
		 path);
	assert_int_equal(open_and_listen(path, errors), EXIT_REFUSED);
	assert_string_equal(errors, expected);
	assert_int_equal(seen->calls_of_parent, 0);
}

/* The child finds the mistake and says so, once. */
static void test_a_mistake_is_reported_once(void **state)
{
	static const char elf[] = "\177ELF and no more";
	char expected[512], errors[512];

	(void)state;
	seen->then = WORK;
	make_file(elf);
	snprintf(expected, sizeof(expected),
		 "tool: %s: it is not a whole BPF object: libbpf cannot read it\n", path);
	assert_int_equal(open_and_listen(path, errors), EXIT_REFUSED);
	assert_memory_equal(errors, expected, strlen(expected));
	assert_null(strstr(errors + 1, "tool: "));
	assert_int_equal(seen->calls_of_parent, 0);
}

/* What was looked at is what is loaded. */
static void test_the_file_changes_in_between(void **state)
{
	struct stat st;
	struct object obj;

	(void)state;
	seen->then = TRUNCATE;
	make_file(NULL);
	assert_int_equal(open_it(&obj), EXIT_DONE);
	assert_false(fstat(file, &st));
	assert_int_equal(st.st_size, 0);
	object_close(&obj);
}

static void test_files_without_an_object(void **state)
{
	char errors[512];

	(void)state;
	seen->then = WORK;
	make_file("");
	assert_int_equal(open_and_listen(path, errors), EXIT_REFUSED);
	assert_non_null(strstr(errors, "not even an ELF file"));
	assert_int_equal(open_and_listen("/dev/zero", errors), EXIT_REFUSED);
	assert_non_null(strstr(errors, "too large"));
	assert_int_equal(open_and_listen("/tmp", errors), EXIT_REFUSED);
	assert_non_null(strstr(errors, "not even an ELF file"));
	assert_int_equal(seen->calls, 0);
}

static int begin(void **state)
{
	(void)state;
	err_init("tool", false);
	file = mkstemp(path);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return file < 0 || seen == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	close(file);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_child_has_no_privileges),
		cmocka_unit_test(test_a_crash_is_one_message),
		cmocka_unit_test(test_a_mistake_is_reported_once),
		cmocka_unit_test(test_the_file_changes_in_between),
		cmocka_unit_test(test_files_without_an_object),
	};

	return cmocka_run_group_tests_name("object", tests, begin, end);
}
