/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file, or the files one after the other, that a recording is written to.
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
	__u64 rotate_ns; /* time that it is written to; 0: no limit */
	__u64 keep; /* so many files; 0: all */

	struct recording_writer *writer;
	int fd;
	__u64 opened_ns;
	__u64 appended_at; /* size of the file when it was opened */
	__u64 bytes, files; /* of the files before this one */
};

/* Gives the writer its file. Exit status. */
int record_output_open(struct record_output *o);

/* Begins another file when it is time to. Exit status. */
int record_output_rotate(struct record_output *o);

/* Has the reader of our pipe gone? */
bool record_output_is_gone(const struct record_output *o);

__u64 record_output_bytes(const struct record_output *o);
void record_output_close(struct record_output *o);

#endif
