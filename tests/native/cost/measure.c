// SPDX-License-Identifier: GPL-2.0-only
/*
 * measure FILE COMMAND...: runs a command with its output to FILE, and prints its cost: seconds of
 * wall clock and of CPU time in user space and in the kernel, and the peak memory in kilobytes.
 * This is a separate, small program because the kernel counts the memory of the process that
 * starts a command as the command's.
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
 * Always at the same addresses: the kernel maps the pages around a touched page of a library. These
 * vary with the address of the library, and with them the memory by up to 300 KB. Failure to set
 * this is ignored.
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
