// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/err.h"
#include "interrupt.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void interrupt_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART | SA_RESETHAND },
			 before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_flags = SA_RESTART;
	sigaction(SIGHUP, NULL, &before);
	if (before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

bool is_interrupted(void)
{
	return interrupted;
}

/* An earlier write may have failed, so errno alone does not say it. */
static bool is_reader_gone(void)
{
	struct pollfd fd = { .fd = STDOUT_FILENO };

	return errno == EPIPE || (poll(&fd, 1, 0) > 0 && fd.revents & POLLERR);
}

int stdout_finish(void)
{
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || is_reader_gone())
		return EXIT_DONE;
	err("cannot write: %s", strerror(errno ? errno : EIO));
	return EXIT_REFUSED;
}
