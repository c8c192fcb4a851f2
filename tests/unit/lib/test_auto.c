/* SPDX-License-Identifier: GPL-2.0-only */
/* Variables that clean up after themselves (cli/err.h), and lists of words. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/err.h"

static int open_null(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Returns whether they are open, before they are closed, and notes their numbers. */
static bool open_all(int fds[3])
{
	int fd AUTO_CLOSE = open_null();
	FILE *file AUTO_FCLOSE = fopen("/dev/null", "re");
	DIR *dir AUTO_CLOSEDIR = opendir("/proc/self");

	fds[0] = fd;
	fds[1] = fileno(file);
	fds[2] = dirfd(dir);
	errno = E2BIG;
	return is_open(fds[0]) && is_open(fds[1]) && is_open(fds[2]);
}

static void each_is_closed(void **state)
{
	int fds[3];

	(void)state;
	assert_true(open_all(fds));
	for (int i = 0; i < 3; i++)
		assert_false(is_open(fds[i]));
}

static void leave_empty(void)
{
	char *text AUTO_FREE = NULL;
	int fd AUTO_CLOSE = -1;
	FILE *file AUTO_FCLOSE = NULL;
	DIR *dir AUTO_CLOSEDIR = NULL;
	int closed AUTO_CLOSE = open_null();

	close(closed); /* a second close() fails */
	errno = E2BIG;
}

static void errno_stays(void **state)
{
	(void)state;
	leave_empty();
	assert_int_equal(errno, E2BIG);
}

static char ends[8];

static void note_end(const char *name)
{
	strncat(ends, name, 1);
}

static char name_ends(void)
{
	char first AUTO(note_end) = 'a', second AUTO(note_end) = 'b';

	return second + strlen(ends) - (first - 'a');
}

static void the_last_ends_first(void **state)
{
	(void)state;
	assert_int_equal(name_ends(), 'b');
	assert_string_equal(ends, "ba");
}

static void words_are_joined(void **state)
{
	char *list AUTO_FREE = mem_copy("");

	(void)state;
	list = mem_join(list, ", ", "one");
	assert_string_equal(list, "one");
	list = mem_join(list, ", ", "two");
	assert_string_equal(list, "one, two");
	list = mem_join(list, "", "!");
	assert_string_equal(list, "one, two!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_closed),
		cmocka_unit_test(errno_stays),
		cmocka_unit_test(the_last_ends_first),
		cmocka_unit_test(words_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
