// SPDX-License-Identifier: GPL-2.0-only
/* The walk over all network namespaces, with a setns() that only pretends to enter them. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/err.h"
#include "kernel/netns.h"

static ino_t refused; /* the namespace that cannot be entered; 0: none */
static bool is_inside;

/* In place of libc's. */
int setns(int fd, int type)
{
	struct stat st;

	assert_int_equal(type, CLONE_NEWNET);
	assert_int_equal(fstat(fd, &st), 0);
	if (!is_inside && st.st_ino == refused) {
		errno = EPERM;
		return -1;
	}
	is_inside = !is_inside;
	return 0;
}

static ino_t inode_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* A process with a network namespace of its own. Without root it gets a user namespace as well. */
static pid_t process_elsewhere(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) && unshare(CLONE_NEWNET))
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

struct visits {
	ino_t inodes[2]; /* of interest */
	int n[2]; /* visits of each */
	int result;
};

static int visit(const struct netns *ns, void *data)
{
	struct visits *v = data;

	assert_true(is_inside);
	for (int i = 0; i < 2; i++)
		v->n[i] += ns->inode == v->inodes[i];
	return v->result;
}

static void walk(void **state)
{
	pid_t pid = process_elsewhere();
	struct visits v = { .inodes = { inode_of(getpid()), inode_of(pid) } };

	(void)state;
	assert_int_not_equal(v.inodes[0], v.inodes[1]);
	refused = 0;
	assert_int_equal(netns_for_each(visit, &v), EXIT_DONE);
	assert_int_equal(v.n[0], 1);
	assert_int_equal(v.n[1], 1);

	/* Whichever of the two comes first. */
	for (int i = 0; i < 2; i++) {
		refused = v.inodes[i];
		v.n[0] = v.n[1] = 0;
		assert_int_equal(netns_for_each(visit, &v), EXIT_REFUSED);
		assert_int_equal(v.n[i], 0);
		assert_int_equal(v.n[!i], 1);
	}

	/* What a visit returns ends the walk. */
	refused = 0;
	v = (struct visits){ .inodes = { v.inodes[0], v.inodes[1] }, .result = EXIT_USAGE };
	assert_int_equal(netns_for_each(visit, &v), EXIT_USAGE);
	assert_true(v.n[0] + v.n[1] <= 1);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void one_that_cannot_be_entered(void **state)
{
	struct visits v = { .inodes = { inode_of(getpid()) } };

	(void)state;
	refused = v.inodes[0];
	assert_int_equal(netns_visit(NULL, visit, &v), EXIT_REFUSED);
	assert_int_equal(v.n[0], 0);
	refused = 0;
	assert_int_equal(netns_visit(NULL, visit, &v), EXIT_DONE);
	assert_int_equal(v.n[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walk),
		cmocka_unit_test(one_that_cannot_be_entered),
	};

	err_init("test", false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
