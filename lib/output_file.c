// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/err.h"
#include "output_file.h"

static void refuse(const char *path, const char *why)
{
	err(path ? "cannot write %s: %s" : "cannot write%s: %s", path ? path : "", why);
}

/* O_EXCL fails at a symbolic link, also at one to nothing. */
static int open_named(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, flags | O_CREAT | O_EXCL, 0644);
		if (fd < 0 && errno == EEXIST) {
			refuse(path, "it is a link to a file that does not exist");
			return -1;
		}
	}
	if (fd < 0)
		refuse(path, strerror(errno));
	return fd;
}

static const char *why_not(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a file";
	return st.st_nlink > 1 ? "the file has another name, too" : NULL;
}

/* Checks the file before anything in it is lost. O_NONBLOCK: a pipe must not block the open(). */
static int open_unnamed(const char *path, int flags)
{
	int fd = open(path, (flags & ~O_TRUNC) | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644);
	const char *why =
		fd < 0 ? (errno == ELOOP ? "it is a link" : strerror(errno)) : why_not(fd);

	if (!why && flags & O_TRUNC && ftruncate(fd, 0))
		why = strerror(errno);
	if (!why)
		return fd;
	refuse(path, why);
	remedy("name the file to write, with -o");
	if (fd >= 0)
		close(fd);
	return -1;
}

int output_open_fd(const char *path, int flags, bool is_named)
{
	flags |= O_CLOEXEC | O_NOCTTY;
	return is_named ? open_named(path, flags) : open_unnamed(path, flags);
}

/* Files that are open already. */
static struct reached {
	const char *path; /* NULL: none */
	int fd;
	bool is_new;
} reached[2]; /* a page and a figure */

int output_reach(const char *path, bool is_named)
{
	struct reached *r = reached[0].path ? &reached[1] : &reached[0];
	bool is_new = access(path, F_OK) && errno == ENOENT;
	int fd;

	if (is_named && !strcmp(path, "-"))
		return EXIT_DONE;
	fd = output_open_fd(path, O_WRONLY, is_named);
	if (fd < 0)
		return EXIT_REFUSED;
	*r = (struct reached){ path, fd, is_new };
	if (r == reached)
		atexit(output_forget); /* without memory the program ends anywhere */
	return EXIT_DONE;
}

bool output_is_named_so(int fd, const char *path)
{
	struct stat x, y;

	return !fstat(fd, &x) && !lstat(path, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void output_forget(void)
{
	for (struct reached *r = reached; r < reached + 2; r++) {
		if (!r->path)
			continue;
		if (r->is_new && output_is_named_so(r->fd, r->path))
			unlink(r->path);
		close(r->fd);
		r->path = NULL;
	}
}

/* Empties and hands out a file that is open already; -1: it is not. */
static int take_reached(const char *path)
{
	struct stat st;

	for (struct reached *r = reached; r < reached + 2; r++) {
		if (!r->path || strcmp(r->path, path))
			continue;
		r->path = NULL;
		if (fstat(r->fd, &st) || !S_ISREG(st.st_mode) || !ftruncate(r->fd, 0))
			return r->fd;
		close(r->fd);
	}
	return -1;
}

FILE *output_open(const char *path, bool is_named)
{
	FILE *out;
	int fd;

	if (is_named && !strcmp(path, "-"))
		return stdout;
	fd = take_reached(path);
	if (fd < 0)
		fd = output_open_fd(path, O_WRONLY | O_TRUNC, is_named);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (out || fd < 0)
		return out;
	refuse(path, strerror(errno));
	close(fd);
	return NULL;
}

int output_close(FILE *out, const char *path)
{
	bool is_stdout = out == stdout, failed;
	struct pollfd fd = { .fd = STDOUT_FILENO };

	errno = 0;
	failed = fflush(out) || ferror(out);
	/* An earlier write failed, and why is not known any more: another one fails for it, too. */
	if (failed && !errno && write(fileno(out), "\n", 1) == 1)
		errno = EIO;
	if (!is_stdout && fclose(out))
		failed = true;
	if (!failed)
		return EXIT_DONE;
	/* The reader has gone. errno does not show whether an earlier write failed. */
	if (is_stdout && (errno == EPIPE || (poll(&fd, 1, 0) > 0 && fd.revents & POLLERR)))
		return EXIT_DONE;
	refuse(is_stdout ? NULL : path, strerror(errno ? errno : EIO));
	return EXIT_REFUSED;
}

static int put(int fd, const char *text)
{
	size_t n = strlen(text);
	ssize_t done;

	for (; n; n -= done, text += done) {
		done = write(fd, text, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done <= 0)
			return done ? errno : ENOSPC;
	}
	return 0;
}

static int put_all(int fd, const struct stat *like, const char *const part[])
{
	int error = 0;

	while (!error && *part)
		error = put(fd, *part++);
	/* In this order: whoever has given a file away may not change its mode. */
	if (!error && like &&
	    (fchmod(fd, like->st_mode & 0777) || fchown(fd, like->st_uid, like->st_gid)))
		error = errno;
	return error || !fsync(fd) ? error : errno;
}

int output_replace(int folder, const char *name, const struct stat *like, const char *const part[])
{
	char *new AUTO_FREE = mem_format(".%s.new", name);
	int fd AUTO_CLOSE = -1, error;

	unlinkat(folder, new, 0);
	fd = openat(folder, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	error = fd < 0 ? errno : put_all(fd, like, part);
	if (!error && (renameat(folder, new, folder, name) || fsync(folder)))
		error = errno;
	if (fd >= 0 && error)
		unlinkat(folder, new, 0);
	return error;
}
