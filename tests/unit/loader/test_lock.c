/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The locks of bbrctl, between processes. The lock file is in a folder of this test: open() below
 * leads there. Only children take locks, because a child shares those of its parent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fixture.h"

#include "self/lock.h"

#include "../capture.h"

#define LOCK_FILE "/run/bbrctl.lock"
#define WAITS_MS 200 /* then it waits for a lock; it would take microseconds */
#define MOST 4

static char folder[] = "/tmp/test_lock.XXXXXX";
static char lock_path[64];

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	return syscall(SYS_openat, AT_FDCWD, strcmp(path, LOCK_FILE) ? path : lock_path, flags,
		       mode);
}

struct call {
	char what; /* a letter for each function, see call() */
	const char *name;
	unsigned int id;
};

struct answer {
	int ret;
	char messages[512];
};

/* Processes that call the functions as they are told to. */
static struct {
	pid_t pid;
	int to, from;
} process[MOST];

static int call(const struct call *c)
{
	switch (c->what) {
	case 'l':
		return lock_instances();
	case 'u':
		unlock_instances();
		return EXIT_DONE;
	case 'w':
		return lock_watch(c->name, c->id);
	case 'b':
		return holder_begin(c->name);
	default:
		return holder_end(c->name);
	}
}

static void answer_all(int from, int to)
{
	struct call c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &c, sizeof(c)) == sizeof(c)) {
		struct answer a;

		capture_begin();
		a.ret = call(&c);
		capture_end();
		snprintf(a.messages, sizeof(a.messages), "%s", captured_messages());
		if (write(to, &a, sizeof(a)) != sizeof(a))
			_exit(1);
	}
	_exit(0);
}

static void start(int i)
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	process[i].pid = fork();
	assert_true(process[i].pid >= 0);
	if (!process[i].pid) {
		for (int k = 0; k < i; k++)
			close(process[k].to); /* so that each ends with its own pipe */
		close(to[1]);
		answer_all(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	process[i].to = to[1];
	process[i].from = from[0];
}

static void stop(int i)
{
	if (!process[i].pid)
		return;
	kill(process[i].pid, SIGKILL);
	waitpid(process[i].pid, NULL, 0);
	close(process[i].to);
	close(process[i].from);
	process[i].pid = 0;
}

static int begin(void **state)
{
	(void)state;
	snprintf(lock_path, sizeof(lock_path), "%s/lock", folder);
	for (int i = 0; i < MOST; i++)
		start(i);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++)
		stop(i);
	unlink(lock_path);
	return 0;
}

static void tell(int i, char what, const char *name, unsigned int id)
{
	const struct call c = { what, name, id };

	assert_int_equal(write(process[i].to, &c, sizeof(c)), sizeof(c));
}

static bool waits(int i)
{
	struct pollfd from = { .fd = process[i].from, .events = POLLIN };

	return !poll(&from, 1, WAITS_MS);
}

static struct answer get(int i)
{
	struct answer a;

	assert_int_equal(read(process[i].from, &a, sizeof(a)), sizeof(a));
	return a;
}

/* Constants have the same address in all of these processes. */
static int ask(int i, char what, const char *name, unsigned int id)
{
	tell(i, what, name, id);
	return get(i).ret;
}

static void one_process_at_a_time(void **state)
{
	(void)state;
	assert_int_equal(ask(0, 'l', NULL, 0), EXIT_DONE);
	tell(1, 'l', NULL, 0);
	assert_true(waits(1));
	assert_int_equal(ask(0, 'u', NULL, 0), EXIT_DONE);
	assert_int_equal(get(1).ret, EXIT_DONE);
	/* Whoever has it may ask again. */
	assert_int_equal(ask(1, 'l', NULL, 0), EXIT_DONE);
	tell(0, 'l', NULL, 0);
	assert_true(waits(0));
}

static void a_process_that_was_killed_has_no_lock(void **state)
{
	(void)state;
	assert_int_equal(ask(0, 'l', NULL, 0), EXIT_DONE);
	tell(1, 'l', NULL, 0);
	assert_true(waits(1));
	stop(0);
	assert_int_equal(get(1).ret, EXIT_DONE);
}

static void only_root_may_open_the_file(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(ask(0, 'l', NULL, 0), EXIT_DONE);
	assert_int_equal(stat(lock_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void what_is_open_to_all_is_closed(void **state)
{
	int fd = syscall(SYS_openat, AT_FDCWD, lock_path, O_RDWR | O_CREAT, 0644);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(ask(0, 'l', NULL, 0), EXIT_DONE);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	close(fd);
}

static void refuses(const char *why)
{
	struct answer a;

	tell(0, 'l', NULL, 0);
	a = get(0);
	assert_int_equal(a.ret, EXIT_REFUSED);
	if (!strstr(a.messages, why))
		fail_msg("not \"%s\", but \"%s\"", why, a.messages);
	assert_int_equal(ask(0, 'w', "one", 7), EXIT_REFUSED);
}

static void what_leads_elsewhere_is_no_lock(void **state)
{
	(void)state;
	assert_int_equal(symlink("/dev/null", lock_path), 0);
	refuses("cannot lock " LOCK_FILE ": it is a symbolic link\n");
	unlink(lock_path);
	assert_int_equal(mkfifo(lock_path, 0600), 0);
	refuses("cannot lock " LOCK_FILE ": it is not a file\n");
}

static void what_belongs_to_another_user_is_no_lock(void **state)
{
	int fd = syscall(SYS_openat, AT_FDCWD, lock_path, O_RDWR | O_CREAT, 0600);

	(void)state;
	assert_true(fd >= 0);
	if (fchown(fd, 65534, 65534))
		skip(); /* only root can give a file away */
	close(fd);
	refuses("it belongs to user 65534, who could keep the lock\n  remove it");
}

/* Until it has said who holds the lock. */
#define SAYS_MS 2500

static void who_waits_long_says_for_whom(void **state)
{
	char holder[64];
	struct answer a;

	(void)state;
	snprintf(holder, sizeof(holder), "waiting for process %d (", process[0].pid);
	assert_int_equal(ask(2, 'w', "one", 7), EXIT_DONE); /* holds another lock of the file */
	assert_int_equal(ask(0, 'l', NULL, 0), EXIT_DONE);
	tell(1, 'l', NULL, 0);
	usleep(SAYS_MS * 1000);
	assert_true(waits(1));
	assert_int_equal(ask(0, 'u', NULL, 0), EXIT_DONE);
	a = get(1);
	assert_int_equal(a.ret, EXIT_DONE);
	if (!strstr(a.messages, holder) || !strstr(a.messages, "test_lock), which holds"))
		fail_msg("%s: \"%s\"", holder, a.messages);
	/* One that need not wait says nothing. */
	assert_int_equal(ask(1, 'u', NULL, 0), EXIT_DONE);
	tell(0, 'l', NULL, 0);
	a = get(0);
	assert_string_equal(a.messages, "");
}

static void a_signal_ends_the_wait(void **state)
{
	static const int ends[] = { SIGINT, SIGTERM };
	struct answer a;

	(void)state;
	assert_int_equal(ask(0, 'l', NULL, 0), EXIT_DONE);
	for (int i = 0; i < 2; i++) {
		tell(1, 'l', NULL, 0);
		assert_true(waits(1));
		kill(process[1].pid, ends[i]);
		a = get(1);
		assert_int_equal(a.ret, EXIT_REFUSED);
		assert_non_null(strstr(a.messages,
				       "stopped by a signal while waiting for " LOCK_FILE
				       "; nothing was changed\n"));
	}
}

static void an_experiment_has_one_watcher(void **state)
{
	struct answer a;

	(void)state;
	assert_int_equal(ask(0, 'w', "one", 7), EXIT_DONE);
	tell(1, 'w', "one", 7);
	a = get(1);
	assert_int_equal(a.ret, EXIT_NOTHING);
	assert_non_null(strstr(a.messages, "one: another process watches it already"));
	/* Another experiment, even with this name, is another program. */
	assert_int_equal(ask(1, 'w', "one", 8), EXIT_DONE);
	assert_int_equal(ask(0, 'w', "one", 8), EXIT_NOTHING);
	stop(0);
	assert_int_equal(ask(2, 'w', "one", 7), EXIT_DONE);
}

static void who_watches_locks_no_instances(void **state)
{
	(void)state;
	assert_int_equal(ask(0, 'w', "one", 7), EXIT_DONE);
	assert_int_equal(ask(1, 'l', NULL, 0), EXIT_DONE);
	assert_int_equal(ask(2, 'w', "two", 8), EXIT_DONE);
}

static void hold(int i, const char *name)
{
	assert_int_equal(ask(i, 'l', NULL, 0), EXIT_DONE);
	assert_int_equal(ask(i, 'b', name, 0), EXIT_DONE);
	assert_int_equal(ask(i, 'u', NULL, 0), EXIT_DONE);
}

static void the_last_holder_is_reported(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		hold(i, "one");
	assert_false(ask(1, 'e', "one", 0));
	assert_false(ask(0, 'e', "one", 0));
	assert_true(ask(2, 'e', "one", 0));
	/* From then on it is as if nobody ever held it. */
	hold(0, "one");
	assert_true(ask(0, 'e', "one", 0));
}

static void a_holder_that_was_killed_does_not_count(void **state)
{
	(void)state;
	hold(0, "one");
	hold(1, "one");
	stop(0);
	assert_true(ask(1, 'e', "one", 0));
}

static void holders_of_other_instances_do_not_count(void **state)
{
	(void)state;
	hold(0, "one");
	hold(1, "two");
	hold(2, NULL); /* all of them, which is a configuration of its own */
	assert_true(ask(0, 'e', "one", 0));
	assert_true(ask(2, 'e', NULL, 0));
	assert_true(ask(1, 'e', "two", 0));
}

static void what_the_system_refuses_is_reported(void **state)
{
	struct answer a;

	(void)state;
	for (int i = 0; i < MOST; i++)
		stop(i);
	snprintf(lock_path, sizeof(lock_path), "%s/no/lock", folder);
	start(0);
	tell(0, 'l', NULL, 0);
	a = get(0);
	assert_int_equal(a.ret, EXIT_REFUSED);
	assert_non_null(
		strstr(a.messages, "cannot lock " LOCK_FILE ": No such file or directory\n"));
	assert_int_equal(ask(0, 'w', "one", 7), EXIT_REFUSED);
	assert_int_equal(ask(0, 'b', "one", 0), EXIT_REFUSED);
	assert_false(ask(0, 'e', "one", 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_process_at_a_time),
		TEST(a_process_that_was_killed_has_no_lock),
		TEST(only_root_may_open_the_file),
		TEST(what_is_open_to_all_is_closed),
		TEST(what_leads_elsewhere_is_no_lock),
		TEST(what_belongs_to_another_user_is_no_lock),
		TEST(who_waits_long_says_for_whom),
		TEST(a_signal_ends_the_wait),
		TEST(an_experiment_has_one_watcher),
		TEST(who_watches_locks_no_instances),
		TEST(the_last_holder_is_reported),
		TEST(a_holder_that_was_killed_does_not_count),
		TEST(holders_of_other_instances_do_not_count),
		TEST(what_the_system_refuses_is_reported),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(folder) || failed;
}
