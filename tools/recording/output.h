/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file that a recording is written to, or the files, one after another.
 */
#ifndef TOOLS_RECORDING_OUTPUT_H
#define TOOLS_RECORDING_OUTPUT_H

#include "writer.h"

#define ROTATE_SIZE_MIN (256 << 10)
#define ROTATE_SIZE_MAX (1ull << 50)

struct record_output {
	const char *path; /* "-": standard output */
	bool append;
	__u64 rotate_size; /* bytes of a file; 0: no limit */
	__u64 rotate_ns; /* time for which a file is written to; 0: no limit */
	__u64 keep; /* number of files; 0: all */

	struct recording_writer *writer;
	int fd; /* -1: not open yet */
	bool is_new; /* record_output_close() removes it if nothing was written */
	__u64 opened_ns;
	__u64 appended_at; /* size of the file when it was opened */
	__u64 bytes, files; /* of the files before this one */
};

/*
 * Opens the file, and keeps its contents, before a reader gives up the privileges that this may
 * take. Returns an exit status.
 */
int record_output_reach(struct record_output *o);

/* Opens the writer's file, to write. Returns an exit status. */
int record_output_open(struct record_output *o);

/* Begins another file if this one is large or old enough. Returns an exit status. */
int record_output_rotate(struct record_output *o);

/* True if the reader of our pipe has gone. */
bool record_output_is_gone(const struct record_output *o);

__u64 record_output_bytes(const struct record_output *o);
void record_output_close(struct record_output *o);

#endif
