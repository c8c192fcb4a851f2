// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "cli/err.h"
#include "verbs.h"

#define DATA_MARK "@data@" /* in a page */

int refuse_conflicts(const char *verb, const struct conflict *list)
{
	for (; list->what; list++) {
		if (!list->is_there)
			continue;
		return err_usage("%s: %s: %s\n"
				 "%s",
				 verb, list->what, list->why, list->what_to_do);
	}
	return EXIT_DONE;
}

bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A device takes both. Files that are not there yet are one if their folders and names are. */
bool is_same_output(const char *a, const char *b)
{
	const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
	char *x AUTO_FREE = mem_copy(a), *y AUTO_FREE = mem_copy(b);
	struct stat st;

	if (!stat(a, &st))
		return S_ISREG(st.st_mode) && is_same_file(a, b);
	return !strcmp(end_a ? end_a + 1 : a, end_b ? end_b + 1 : b) &&
	       is_same_file(dirname(x), dirname(y));
}

void note_write_error(int *error, bool has_failed)
{
	if (has_failed && !*error)
		*error = errno ? errno : EIO;
}

int say_write_error(int error)
{
	if (!error || error == EPIPE)
		return EXIT_DONE;
	return err_refused("cannot write: %s", strerror(error));
}

bool wants_colour(void)
{
	const char *no_color = getenv("NO_COLOR");

	return !no_color || !*no_color;
}

bool is_reader_gone(int fd)
{
	struct pollfd poll_fd = { .fd = fd };

	return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLERR;
}

void page_write(FILE *out, const struct page_part *parts, size_t n,
		void (*write_data)(FILE *out, const void *data), const void *data)
{
	const char *at = parts[0].begin;

	while (at < parts[0].end) {
		size_t i = 1;

		while (i < n && strncmp(at, parts[i].mark, strlen(parts[i].mark)))
			i++;
		if (i < n) {
			fwrite(parts[i].begin, 1, parts[i].end - parts[i].begin, out);
			at += strlen(parts[i].mark);
		} else if (!strncmp(at, DATA_MARK, strlen(DATA_MARK))) {
			write_data(out, data);
			at += strlen(DATA_MARK);
		} else {
			fputc(*at++, out);
		}
	}
}

static volatile sig_atomic_t interrupted;

static void on_signal(UNUSED int sig)
{
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
