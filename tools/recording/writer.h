/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a recording (see format.h). Events are gathered in a chunk, which is written when it is full or when
 * the caller says so.
 */
#ifndef TOOLS_RECORDING_WRITER_H
#define TOOLS_RECORDING_WRITER_H

#include <zlib.h>

#include "coder.h"

#define RECORDING_FULL (128 << 10) /* bytes of records that make a chunk full */
#define RECORDING_SLOTS (2 * RECORDING_CONNS) /* of a hash table */

struct recording_writer {
	int fd;
	const char *name; /* for messages */
	__u64 size; /* of the file */
	__u64 events; /* in the file, those of the chunk included */
	bool failed; /* which was said: nothing more is written */

	struct recording_run run;
	struct watch_totals before; /* of this run, what is not in this file */
	struct watch_totals now; /* of this run, as last told */
	__u64 received[BBR_EV_MAX]; /* of this run in this file */

	/* The chunk that is gathered. */
	struct recording_head head;
	__u64 begun_ns; /* CLOCK_MONOTONIC here */
	size_t raw_size;
	z_stream deflate;
	struct recording_chunk chunk;
	/* Which algorithms were described in this file, and from which byte on they are to be once more. */
	struct {
		const struct layout *layout;
		__u64 again;
	} described[RECORDING_ALGORITHMS];
	__u64 keys[RECORDING_CONNS]; /* ids of its connections */
	__u16 slots[RECORDING_SLOTS]; /* a connection plus 1 */
	__u8 raw[RECORDING_FULL + 4 * RECORDING_RECORD_MAX];
	__u8 out[RECORDING_HEAD + RECORDING_SIZE_MAX];
};

/* NULL after printing why. It is to be given a file before anything else. */
struct recording_writer *recording_writer_new(void);
void recording_writer_free(struct recording_writer *w);

/* What is written from now on goes to this file, whose size it has; it is the caller's to be closed. */
void recording_writer_file(struct recording_writer *w, int fd, const char *name, __u64 size);

/* The run of the events to come. When its clock was set, or it is another one, a new chunk begins. */
void recording_writer_run(struct recording_writer *w, const struct recording_run *run);

void recording_writer_event(struct recording_writer *w, const struct origin *origin,
			    const struct bbr_event *e);

/* What there was of the run so far; the numbers received do not matter. */
void recording_writer_totals(struct recording_writer *w, const struct watch_totals *totals);

/* Writes the chunk, if there is anything new in it. */
void recording_writer_flush(struct recording_writer *w);

/* The same for events that are another run's: without totals, and forgets that run. */
void recording_writer_rescue(struct recording_writer *w);

/* Ends the run in this file; `exact`: totals.counters.seq is, too. Then another file may be given. */
void recording_writer_end(struct recording_writer *w, bool exact);

#endif
