/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file format of recordings.
 *
 * A file is a sequence of chunks: a head, then deflated records (raw deflate, RFC 1951). Each chunk
 * can be read without the others. A monitor writes one chunk after the other, at least one a second
 * while there are events; a file that was cut off in the middle of a chunk still has that chunk's
 * first records. A file may hold several runs of monitors, of different boots or machines: each has
 * its own clock, and its own numbers of origins and connections.
 *
 * Numbers are little endian. The bytes of the head, with their offset and size:
 *
 *	 0  8  magic, RECORDING_MAGIC
 *	 8  1  major; of another major only these first 16 bytes are known
 *	 9  1  minor; a later one may have longer heads, longer records and more types of them
 *	10  2  size of the head in bytes
 *	12  4  CRC-32 of the head, computed with 0 here
 *	16  4  size of the deflated records in bytes, at most RECORDING_SIZE_MAX
 *	20  4  their size inflated, at most RECORDING_SIZE_MAX
 *	24  4  CRC-32 of the deflated records
 *	28  4  number of records
 *	32  4  how many of them are events
 *	36  4  the requested enum bbr_sampling
 *	40  8  its interval in nanoseconds, with BBR_SAMPLE_TIME
 *	48  8  CLOCK_MONOTONIC of the first event in nanoseconds; 0 without events
 *	56  8  and of the last one
 *	64  8  what to add to CLOCK_MONOTONIC for the time of day, nanoseconds since 1970, signed
 *	72  8  number of the run: each has its own clock, origins and connections
 *	80 16  boot id of the machine
 *
 * A varint has 7 bits a byte, lowest first, bit 7 set in all but the last. A difference is a varint
 * whose lowest bit is the sign: 0, -1, 1, -2 are 0, 1, 2, 3. A record is
 *
 *	varint	size of what follows in bytes, the type included
 *	byte	type, enum recording_type; unknown ones are skipped
 *	...	the rest by type
 *
 * RECORDING_ALGORITHM	What the events of the origins after it consist of, and how they are shown:
 *	4 bytes		CRC-32 of the description
 *	...		the description (see layout.h), or nothing: then it is the one with
 *			this CRC in an earlier chunk. A file's first chunk with an algorithm has its
 *			description. So has the first one that is appended to a file, and one in
 *			every RECORDING_DESCRIBE_EVERY bytes: if the first one is damaged, readers
 *			find another one there.
 * RECORDING_ORIGIN	Where the events after it come from:
 *	varint		its id
 *	byte		bits; 1: the kernel's own bbr
 *	varint		its algorithm, in the order of RECORDING_ALGORITHM in this chunk, from 0
 *	...		name
 * RECORDING_EVENT	An event, as its differences from the connection's last one in this chunk:
 *	varint		connection, in the order of the chunk; the next unused number is a new one
 *	varint		only of a new one: its origin, in the order of RECORDING_ORIGIN, from 0
 *	difference	of time_ns from the event before it in the chunk (the first: from 0)
 *	bits		which members differ, in the order of the description: as in a varint of any
 *			length, the first member is the lowest bit
 *	difference...	of each of these, the shortest one modulo its width. seq differs from 1 more
 *			than the seq of the origin's last event in this chunk, or from 0 without
 *			one. All others differ from the connection's last event or, for a new
 *			connection, from the last event of any of the same algorithm, or 0
 *	Addresses and ports are numbers as people write them. "tail_size" is how many bytes of the
 *	algorithm's tail the event has.
 * RECORDING_PROFILES	Names of an origin's profiles from here on; unknown before the first record:
 *	varint		the origin's number
 *	...		names, each with a closing 0; the other profiles have none
 * RECORDING_TOTALS	Totals of this run in this file so far. Varints:
 *			seq (0: not known yet), acks, drops without a kind, watched and unwatched
 *			time in nanoseconds; the number n of kinds; received by kind, n times; drops
 *			by kind, n times
 * RECORDING_END	The same at the end of the run or of the file, exact.
 */
#ifndef TOOLS_RECORDING_FORMAT_H
#define TOOLS_RECORDING_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "filter/filter.h"
#include "layout/layout.h"

#define RECORDING_MAGIC \
	"\x89"          \
	"bbrrec\n"
#define RECORDING_MAJOR 2
#define RECORDING_MINOR 0
#define RECORDING_PREFIX 16 /* bytes of the head that each major has */
#define RECORDING_HEAD 96
#define RECORDING_HEAD_MAX 256
#define RECORDING_SIZE_MAX (1 << 20)
#define RECORDING_ORIGINS 256 /* in a chunk, at most */
#define RECORDING_CONNS 4096 /* the same */
#define RECORDING_ALGORITHMS 16 /* the same */
#define RECORDING_DESCRIBE_EVERY (64 << 10) /* bytes of a file */
/*
 * No clock shows more: 146 years. Readers take what does for damage, so that the sum of a time and
 * an offset is never too large for a signed number.
 */
#define RECORDING_NS_MAX (1ll << 62)

enum recording_type {
	RECORDING_LOST, /* in no file */
	RECORDING_EVENT,
	RECORDING_ORIGIN,
	RECORDING_PROFILES,
	RECORDING_TOTALS,
	RECORDING_END,
	RECORDING_ALGORITHM,
};

/* One run of a monitor: what all of its events have in common. */
struct recording_run {
	__u64 id;
	__u8 boot_id[16];
	__s64 epoch_ns; /* time of day minus CLOCK_MONOTONIC; changes when the clock is set */
	enum bbr_sampling sampling;
	__u64 interval_ns;
};

/* A run that begins now on this machine. */
void recording_run_init(struct recording_run *run, const struct watch_request *request);

/* The head of a chunk. */
struct recording_head {
	__u8 major;
	__u16 head_size;
	__u32 size, raw_size;
	__u32 crc;
	__u32 records, events;
	__u64 first_ns, last_ns;
	struct recording_run run;
};

enum recording_head_error {
	RECORDING_HEAD_OK,
	RECORDING_HEAD_SHORT, /* more bytes are needed */
	RECORDING_HEAD_BAD, /* no head, or a damaged one */
	RECORDING_HEAD_OTHER, /* of another major; only major is valid */
};

void recording_head_write(const struct recording_head *head, __u8 to[RECORDING_HEAD]);
enum recording_head_error recording_head_read(struct recording_head *head, const __u8 *from,
					      size_t size);

/*
 * Converts the records of a chunk to bytes and back. What a record means depends on those before it
 * in the chunk: writer and reader keep the same struct recording_chunk.
 */
#define RECORDING_RECORD_MAX \
	(40 << 10) /* bytes of one record: the longest description, and its size */

struct recording_algorithm {
	const struct layout *layout; /* NULL: its description was not read */
	int last_conn; /* of its last event; -1: there was none */
};

struct recording_origin {
	struct origin origin; /* its profiles point to names */
	__u32 id; /* as recorded; origin.id is unique in the file */
	int algorithm;
	__u64 next_seq;
	char names[BBR_PROFILES][BBR_PROFILE_NAME_LEN];
};

struct recording_conn {
	int origin;
	union recording_event last;
};

struct recording_chunk {
	struct recording_algorithm algorithms[RECORDING_ALGORITHMS];
	struct recording_origin origins[RECORDING_ORIGINS];
	struct recording_conn conns[RECORDING_CONNS];
	int n_algorithms, n_origins, n_conns;
	__u64 last_ns;
	bool is_lost; /* a record could not be read: of those after it, only totals can */
};

/* A record that was read. */
struct recording_record {
	unsigned int type;
	int origin; /* RECORDING_EVENT */
	const struct bbr_event *event; /* the same; NULL: its description is missing */
	struct watch_totals totals; /* RECORDING_TOTALS, RECORDING_END */
	/* Of a record that cannot be read: there are more than `most` of these; NULL: it is damaged. */
	const char *beyond;
	int most;
};

void recording_chunk_init(struct recording_chunk *c);

/*
 * Each function appends a record to `to`, which has room for RECORDING_RECORD_MAX bytes, and
 * returns its size. `conn` is the number of the event's connection in this chunk, n_conns that of a
 * new one of this origin; `algorithm` is the number of the origin's algorithm in this chunk.
 */
size_t recording_put_algorithm(struct recording_chunk *c, const struct layout *layout,
			       bool is_whole, __u8 *to);
size_t recording_put_origin(struct recording_chunk *c, const struct origin *origin, int algorithm,
			    __u8 *to);
size_t recording_put_event(struct recording_chunk *c, int conn, int origin,
			   const struct bbr_event *e, __u8 *to);
size_t recording_put_profiles(struct recording_chunk *c, int origin,
			      const char (*names)[BBR_PROFILE_NAME_LEN], __u8 *to);
size_t recording_put_totals(const struct watch_totals *totals, enum recording_type type, __u8 *to);

/* The size of a record, including its size field. 0: it is not whole, or damaged if *bad. */
size_t recording_record_size(const __u8 *from, size_t size, bool *bad);

/*
 * Reads a whole record. An event's tag becomes the id of its origin. False: this format has no such
 * record. From then on the chunk is lost, and records but totals are skipped: their type is
 * RECORDING_LOST.
 */
bool recording_get(struct recording_chunk *c, const __u8 *from, size_t size,
		   struct recording_record *record, struct bbr_event *event);

#endif
