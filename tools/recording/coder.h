/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts the records of a recording's chunk to bytes and back. What a record means depends on
 * those before it in the chunk: writer and reader keep the same struct recording_chunk.
 */
#ifndef TOOLS_RECORDING_CODER_H
#define TOOLS_RECORDING_CODER_H

#include "format.h"
#include "layout/layout.h"

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
