// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "cli/err.h"
#include "cli/privileges.h"
#include "kernel/clock.h"
#include "output_file.h"
#include "reader.h"
#include "verbs.h"
#include "writer.h"

/* What a file may still get after its size was checked: a full chunk, and the one that ends it. */
#define ROTATE_ROOM (RECORDING_FULL + (64 << 10))

static int refuse(const char *path, const char *why)
{
	return err_refused("cannot write %s: %s", path, why);
}

static bool is_plain(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISCHR(st->st_mode);
}

static int refuse_type(const struct record_output *o, const struct stat *st)
{
	refuse(o->path, S_ISDIR(st->st_mode) ? strerror(EISDIR) : "not a file");
	if (S_ISFIFO(st->st_mode))
		remedy("write to a pipe with -o -");
	return EXIT_REFUSED;
}

static void close_file(struct record_output *o)
{
	close(o->fd);
	o->fd = -1;
}

/* Opens the file, unless another bbrmon records to it. Keeps its contents. */
static int open_file(struct record_output *o)
{
	const char *why = NULL;
	struct stat st;

	if (o->fd >= 0) /* record_output_reach() has opened it */
		return EXIT_DONE;
	o->is_new = access(o->path, F_OK) && errno == ENOENT;
	if (!stat(o->path, &st) && !is_plain(&st))
		return refuse_type(o, &st);
	o->fd = output_open_fd(o->path, O_RDWR | O_NONBLOCK, true);
	if (o->fd < 0)
		return EXIT_REFUSED;
	if (fstat(o->fd, &st))
		why = strerror(errno);
	else if (is_plain(&st) && flock(o->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		why = "another bbrmon is writing to it";
	if (!why && is_plain(&st))
		return EXIT_DONE;
	close_file(o);
	return why ? refuse(o->path, why) : refuse_type(o, &st);
}

/* FILE.n, or FILE. False: the name is too long. */
static bool name_file(char name[PATH_MAX], const struct record_output *o, __u64 n)
{
	int len = n ? snprintf(name, PATH_MAX, "%s.%llu", o->path, n) :
		      snprintf(name, PATH_MAX, "%s", o->path);

	errno = ENAMETOOLONG;
	return len < PATH_MAX;
}

/* Removes files beyond `keep`. Returns the first free number. */
static __u64 free_number(const struct record_output *o, bool *ok)
{
	char name[PATH_MAX];
	__u64 n = 1;

	while ((*ok = name_file(name, o, n)) && !access(name, F_OK)) {
		if (o->keep && n + 1 >= o->keep && unlink(name)) {
			*ok = false;
			break;
		}
		n++;
	}
	return o->keep && n > o->keep - 1 ? o->keep - 1 : n;
}

/* Renames FILE to FILE.1, that to FILE.2 and so on. */
static int shift_files(const struct record_output *o)
{
	char from[PATH_MAX], to[PATH_MAX];
	bool ok;

	for (__u64 n = free_number(o, &ok); ok && n; n--)
		ok = name_file(from, o, n - 1) && name_file(to, o, n) && !rename(from, to);
	return ok ? EXIT_DONE : refuse(o->path, strerror(errno));
}

static bool has_contents(const struct record_output *o)
{
	struct stat st;

	return !fstat(o->fd, &st) && S_ISREG(st.st_mode) && st.st_size;
}

/* Opens an empty file. */
static int open_new(struct record_output *o)
{
	int ret = open_file(o);

	if (!ret && (o->rotate_size || o->rotate_ns) && has_contents(o)) {
		ret = shift_files(o);
		close_file(o);
		if (!ret)
			ret = open_file(o);
	}
	if (ret)
		return ret;
	if (has_contents(o) && ftruncate(o->fd, 0)) {
		close_file(o);
		return refuse(o->path, strerror(errno));
	}
	recording_writer_file(o->writer, o->fd, o->path, 0);
	o->opened_ns = now_ns();
	o->appended_at = 0;
	return EXIT_DONE;
}

/*
 * Finds the end of what can be read. What is left of a cut chunk is written again as a whole chunk:
 * otherwise readers would take what comes after it for its rest. In a separate process: anybody may
 * have written the bytes, and bbrmon still needs privileges.
 */
static int rescue(void *ctx)
{
	struct record_output *o = ctx;
	struct recording_reader reader;
	enum recording_next next;
	int ret;

	recording_read_fd(&reader, o->fd, o->path);
	reader.skim = true;
	while ((next = recording_next(&reader, -1)) == RECORDING_NEXT_EVENT) {
		if (o->writer->fd != o->fd) {
			recording_writer_file(o->writer, o->fd, o->path, reader.chunk_offset);
			lseek(o->fd, reader.chunk_offset, SEEK_SET);
		}
		recording_writer_run(o->writer, &reader.run);
		recording_writer_event(o->writer, reader.origin, &reader.event);
	}
	ret = next == RECORDING_NEXT_OVER ? EXIT_DONE : EXIT_USAGE;
	if (!ret && reader.whole_end != reader.offset)
		err("%s: was cut off at byte %llu; the %llu complete events of its last chunk are "
		    "kept",
		    o->path, reader.offset, reader.events);
	if (!ret && o->writer->fd != o->fd) {
		recording_writer_file(o->writer, o->fd, o->path, reader.whole_end);
		lseek(o->fd, reader.whole_end, SEEK_SET);
	}
	if (!ret) {
		recording_writer_rescue(o->writer);
		ret = o->writer->failed ? EXIT_REFUSED : EXIT_DONE;
	}
	if (!ret && ftruncate(o->fd, o->writer->size))
		ret = refuse(o->path, strerror(errno));
	recording_release(&reader);
	return ret;
}

static int open_to_append(struct record_output *o)
{
	int ret = open_file(o);

	if (ret)
		return ret;
	if (has_contents(o)) {
		o->writer->fd = -1;
		ret = privileges_aside(o->path, 0, rescue, o);
	}
	if (ret) {
		close_file(o);
		return ret;
	}
	recording_writer_file(o->writer, o->fd, o->path,
			      has_contents(o) ? lseek(o->fd, 0, SEEK_END) : 0);
	o->opened_ns = now_ns();
	o->appended_at = o->writer->size;
	return EXIT_DONE;
}

int record_output_reach(struct record_output *o)
{
	return strcmp(o->path, "-") ? open_file(o) : EXIT_DONE;
}

int record_output_open(struct record_output *o)
{
	if (!strcmp(o->path, "-")) {
		if (isatty(STDOUT_FILENO)) {
			refuse("standard output", "it is a terminal");
			remedy("name a file: -o FILE");
			return EXIT_REFUSED;
		}
		o->fd = STDOUT_FILENO;
		recording_writer_file(o->writer, o->fd, "standard output", 0);
		return EXIT_DONE;
	}
	return o->append ? open_to_append(o) : open_new(o);
}

int record_output_rotate(struct record_output *o)
{
	if (!(o->rotate_size && o->writer->size + ROTATE_ROOM > o->rotate_size) &&
	    !(o->rotate_ns && now_ns() - o->opened_ns >= o->rotate_ns))
		return EXIT_DONE;
	recording_writer_end(o->writer, false);
	if (o->writer->failed)
		return EXIT_REFUSED;
	o->bytes = record_output_bytes(o);
	o->files++;
	close_file(o);
	return open_new(o);
}

bool record_output_is_gone(const struct record_output *o)
{
	if (!is_reader_gone(o->fd))
		return false;
	refuse(o->writer->name, strerror(EPIPE));
	return true;
}

__u64 record_output_bytes(const struct record_output *o)
{
	return o->bytes + o->writer->size - o->appended_at;
}

void record_output_close(struct record_output *o)
{
	if (o->fd <= STDERR_FILENO)
		return;
	/* An empty new file is of no use. */
	if (o->is_new && !has_contents(o) && output_is_named_so(o->fd, o->path))
		unlink(o->path);
	close_file(o);
}
