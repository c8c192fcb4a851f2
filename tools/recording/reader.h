/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a recording (see format.h), from a file or a pipe. Skips what cannot be read, and reports
 * it. A recording that was cut off ends with its last whole record.
 */
#ifndef TOOLS_RECORDING_READER_H
#define TOOLS_RECORDING_READER_H

#include <zlib.h>

#include "format.h"

#define RECORDING_BUFFER (RECORDING_HEAD_MAX + RECORDING_SIZE_MAX)

/* Bytes that may be checked in vain, besides four times those before. See skip_chunk(). */
#define RECORDING_VAIN_MAX (16 << 20)

enum recording_next {
	RECORDING_NEXT_EVENT, /* origin and event are valid until the next call */
	RECORDING_NEXT_NONE, /* no more for now: a pipe is empty, or a signal came */
	RECORDING_NEXT_OVER,
	RECORDING_NEXT_FAILED, /* after printing why */
};

struct recording_reader {
	int fd;
	bool is_shared; /* the file's position is another reader's */
	const char *name; /* for messages */
	/*
	 * For a caller that appends: skips whole chunks, returns only the events of a cut one,
	 * and sets whole_end to where what can be read ends without them. Prints nothing about
	 * cuts.
	 */
	bool skim;
	__u64 whole_end;
	bool quiet; /* for a second reading: prints nothing about what is skipped or cut off */

	/* Bytes of the file that are not consumed yet. */
	__u8 *buffer;
	size_t start, end; /* in the buffer */
	__u64 offset; /* of start in the file */
	bool at_eof, is_over;

	struct recording_head head;
	bool in_chunk;
	__u64 chunk_offset;
	size_t chunk_size; /* in the buffer */
	bool is_cut; /* the chunk is the last one and incomplete */
	const __u8 *raw; /* the chunk inflated: room, or one that was kept */
	__u8 *room;
	size_t kept; /* the first kept chunk that is not before this one */
	size_t raw_start, raw_end;
	z_stream inflate;
	struct recording_chunk *chunk;
	bool said_unknown; /* printed that some events have no description */

	struct recording_run run;
	bool has_run, run_ended;
	__u32 id_base, id_max; /* origins of a run are numbered after those of earlier runs */
	struct watch_totals before; /* of runs that are over */
	struct watch_totals now; /* of this run, as last read; received as counted here */
	/* Of this run: times of its first and last event; how many ACKs came after the totals in `now`. */
	__u64 first_ns, last_ns, acks_since;
	__u64 drops_here; /* of this run: events that were recorded but could not be read */
	__u64 totals_taken; /* how often recording_totals() may have got other drops or times */

	__u64 records, events; /* read */
	__u64 last_realtime_ns; /* of the last event: since 1970 */
	__u64 skipped; /* consecutive bytes before offset that cannot be read */
	__u64 places; /* how many places cannot be read */
	__u64 vain; /* bytes that were checked and turned out to be damaged */
	__u64 unsearched; /* damaged chunks that were skipped as a whole: see skip_chunk() */

	const struct origin *origin;
	struct bbr_event event;
};

/*
 * "-": standard input. Returns an exit status. Gives up all capabilities (cli/privileges.h), and can
 * open the same file again.
 */
int recording_open(struct recording_reader *r, const char *name);
void recording_close(struct recording_reader *r);

/* The same for an open file, which the caller closes. */
void recording_read_fd(struct recording_reader *r, int fd, const char *name);
void recording_release(struct recording_reader *r);

/*
 * For one file that is read several times: keeps its inflated chunks until recording_forget(), in
 * at most RECORDING_KEPT_MAX bytes. Later readings inflate only the others.
 */
#define RECORDING_KEPT_MAX (64 << 20)
void recording_keep(void);
void recording_forget(void);

/* Reads up to the next event. Waits at most wait_ms. */
enum recording_next recording_next(struct recording_reader *r, int wait_ms);

/* Of all that was read so far. Events that were recorded but could not be read count as drops. */
struct watch_totals recording_totals(const struct recording_reader *r);

#endif
