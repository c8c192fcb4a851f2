/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file format of recordings.
 *
 * A file is a sequence of chunks: a head, then deflated records (raw deflate, RFC 1951). Each chunk can be
 * read without the others. A monitor writes chunks one after the other, at least one a second while there
 * are events; a file that was cut off in the middle of one still has that chunk's first records. A file
 * may hold several runs of monitors, of different boots or machines: each has its own clock, and its
 * own numbers of origins and connections.
 *
 * Numbers are little endian, bytes at these offsets of the head:
 *
 *	 0  8  magic, RECORDING_MAGIC
 *	 8  1  major; of another major only these first 16 bytes are known
 *	 9  1  minor; a later one may have longer heads, longer events and more types of records
 *	10  2  size of the head in bytes
 *	12  4  CRC-32 of the head, taken with 0 here
 *	16  4  size of the deflated records in bytes, at most RECORDING_SIZE_MAX
 *	20  4  their size inflated, at most RECORDING_SIZE_MAX
 *	24  4  CRC-32 of the deflated records
 *	28  4  number of records
 *	32  4  how many of them are events
 *	36  4  enum bbr_sampling that was asked for
 *	40  8  its interval in nanoseconds, with BBR_SAMPLE_TIME
 *	48  8  CLOCK_MONOTONIC of the first event in nanoseconds; 0 without events
 *	56  8  and of the last one
 *	64  8  what to add to CLOCK_MONOTONIC for the time of day, nanoseconds since 1970, signed
 *	72  8  number of the run: another one, other clock, origins and connections
 *	80 16  boot id of the machine
 *
 * A varint has 7 bits a byte, lowest first, bit 7 set in all but the last. A difference is a varint whose lowest
 * bit is the sign: 0, -1, 1, -2 are 0, 1, 2, 3. A record is
 *
 *	varint	size of what follows in bytes, the type included
 *	byte	type, enum recording_type; unknown ones are skipped
 *	...	the rest by type
 *
 * RECORDING_EVENT	A struct bbr_event, as what differs from the last one of its connection in this chunk:
 *	varint		connection, in the order in which the chunk tells of them; the next number is a new one
 *	varint		only of a new one: its origin, in the order of RECORDING_ORIGIN, from 0
 *	difference	of time_ns from the event before it in the chunk (the first: from 0)
 *	varint		bits: which members differ, in the order of RECORDING_FIELDS, the first one lowest
 *	difference...	of each of these. seq differs from 1 more than the origin's last event in this chunk
 *			has, -1 without one; all others from the connection's last event, and of a new connection
 *			from the last event of any, or 0
 *	...		what the event is longer than 216 bytes, as it is
 *	tag is not stored: it is the origin's. Addresses and ports are numbers as people write them.
 * RECORDING_ORIGIN	Of whom the events after it tell:
 *	varint		its id
 *	byte		bits: 1, the kernel's own bbr
 *	...		name
 * RECORDING_PROFILES	Names of an origin's profiles from here on; until the first one nothing is known:
 *	varint		the origin's number
 *	...		names, each with a closing 0; the others have none
 * RECORDING_TOTALS	What there was of this run in this file so far. Varints:
 *			seq (0: not known yet), acks, drops without a kind, watched and not watched in
 *			nanoseconds; the number n of kinds; received by kind, n times; drops by kind, n times
 * RECORDING_END	The same at the run's end or the file's, exact.
 */
#ifndef TOOLS_RECORDING_H
#define TOOLS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

#include "event/request.h"

#define RECORDING_MAGIC \
	"\x89"          \
	"bbrrec\n"
#define RECORDING_MAJOR 1
#define RECORDING_MINOR 0
#define RECORDING_PREFIX 16 /* bytes that each major has */
#define RECORDING_HEAD 96
#define RECORDING_HEAD_MAX 4096
#define RECORDING_SIZE_MAX (1 << 20)
#define RECORDING_ORIGINS 256 /* in a chunk, at most */
#define RECORDING_CONNS 4096 /* the same */

enum recording_type {
	RECORDING_EVENT = 1,
	RECORDING_ORIGIN,
	RECORDING_PROFILES,
	RECORDING_TOTALS,
	RECORDING_END,
};

/* Members of struct bbr_event but time_ns and tag, those that change most often first. */
/* clang-format off */
#define RECORDING_FIELDS(X) \
	X(bytes_acked) X(delivered) X(rtt_us) X(rs_interval_us) X(rs_acked) \
	X(rs_delivered) X(inflight) X(srtt_us) X(bytes_sent) X(rs_prior_inflight) \
	X(pacing_rate) X(bw) X(cwnd) X(flags) X(max_bw) X(rounds) X(kind) \
	X(extra_acked) X(cycle_idx) X(pacing_gain) X(min_rtt_us) X(mode) X(from) X(to) \
	X(reason) X(full_bw) X(full_bw_cnt) X(cwnd_gain) X(prior_cwnd) X(ssthresh) \
	X(lost) X(rs_losses) X(bytes_retrans) X(ca_state) X(lt_bw) X(lt_rtt_cnt) X(mss) \
	X(seq) X(params_gen) X(profile) X(conn) X(rport) X(lport) X(raddr[3]) \
	X(raddr[2]) X(raddr[1]) X(raddr[0]) X(laddr[3]) X(laddr[2]) X(laddr[1]) \
	X(laddr[0]) X(netns) X(family) X(size) X(major) X(minor) X(pad[0]) X(pad[1]) \
	X(pad[2]) X(pad[3]) X(pad[4]) X(pad[5])
/* clang-format on */

/* One run of a monitor: what all of its events have in common. */
struct recording_run {
	__u64 id;
	__u8 boot_id[16];
	__s64 epoch_ns; /* the time of day minus CLOCK_MONOTONIC, which changes when the clock is set */
	enum bbr_sampling sampling;
	__u64 interval_ns;
};

/* A run that begins now on this machine. */
void recording_run_init(struct recording_run *run, const struct watch_request *request);

/* The head of a chunk. */
struct recording_head {
	__u8 major, minor;
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

#endif
