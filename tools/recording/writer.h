/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a recording (see format.h). Events are gathered in a chunk, which is written when it is
 * full or when the caller says so.
 */
#ifndef TOOLS_RECORDING_WRITER_H
#define TOOLS_RECORDING_WRITER_H

#include <zlib.h>

#include "format.h"

#define RECORDING_FULL (128 << 10) /* bytes of records that make a chunk full */
#define RECORDING_SLOTS (2 * RECORDING_CONNS) /* of a hash table */

struct recording_writer {
	int fd;
	const char *name; /* for messages */
	__u64 size; /* of the file */
	bool failed; /* after printing why: nothing more is written */

	struct recording_run run;
	struct watch_totals before; /* of this run, before this file */
	struct watch_totals now; /* of this run, from the caller; counters.received is ignored */
	__u64 received[BBR_EV_MAX]; /* of this run in this file */

	/* The chunk in which events are gathered. */
	struct recording_head head;
	__u64 begun_ns; /* CLOCK_MONOTONIC here */
	size_t raw_size;
	z_stream deflate;
	struct recording_chunk chunk;
	/* Algorithms that this file describes; from byte `again` on it does so once more. */
	struct {
		const struct layout *layout;
		__u64 again;
	} described[RECORDING_ALGORITHMS];
	__u64 keys[RECORDING_CONNS]; /* ids of its connections */
	__u16 slots[RECORDING_SLOTS]; /* number of a connection plus 1 */
	__u8 raw[RECORDING_FULL + 4 * RECORDING_RECORD_MAX];
	__u8 out[RECORDING_HEAD + RECORDING_SIZE_MAX];
};

/* The caller first gives it a file. */
struct recording_writer *recording_writer_new(void);
void recording_writer_free(struct recording_writer *w);

/* From now on writes to this file, which has this size and which the caller closes. */
void recording_writer_file(struct recording_writer *w, int fd, const char *name, __u64 size);

/* The run of the next events. If its clock was set, or it is another run, a new chunk begins. */
void recording_writer_run(struct recording_writer *w, const struct recording_run *run);

void recording_writer_event(struct recording_writer *w, const struct origin *origin,
			    const struct bbr_event *e);

/* Writes the chunk, if there is anything new in it. */
void recording_writer_flush(struct recording_writer *w);

/* The same for rescued events of another run: writes no totals, and forgets that run. */
void recording_writer_rescue(struct recording_writer *w);

/* Ends the run in this file; `exact`: counters.seq is, too. Then another file may be given. */
void recording_writer_end(struct recording_writer *w, bool exact);

/* The file that a recording is written to, or the files, one after another. */
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

/* Has the reader of our pipe gone? */
bool record_output_is_gone(const struct record_output *o);

__u64 record_output_bytes(const struct record_output *o);
void record_output_close(struct record_output *o);

#endif
