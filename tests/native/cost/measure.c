// SPDX-License-Identifier: GPL-2.0-only
/*
 * measure FILE COMMAND...: runs a command, its output to FILE, and prints what it cost: seconds on the wall, of the
 * CPU in user space and in the kernel, and kilobytes of memory at the most. A program of its own because the
 * kernel counts the memory of whoever starts a command as the command's: it must be small.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>

static double seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Always at the same addresses: the kernel maps the pages around one of a library that is touched, and by where the library
 * happens to be they are others each time, up to 300 KB more or less. Where this is forbidden, so be it.
 */
static void become(const char *file, char **command)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	personality(ADDR_NO_RANDOMIZE);
	if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
		execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	struct rusage usage;
	double start;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: measure FILE COMMAND...\n");
		return 1;
	}
	start = now();
	pid = fork();
	if (!pid)
		become(argv[1], argv + 2);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("measure");
		return 1;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "measure: %s: wait status %d\n", argv[2], status);
		return 1;
	}
	printf("%.6f %.6f %.6f %ld\n", now() - start, seconds(usage.ru_utime),
	       seconds(usage.ru_stime), usage.ru_maxrss);
	return 0;
}
