/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections as they are now, each with its last minute. Fed with events and with snapshots of sockets, in
 * any mixture; knows no terminal and no clock but that of the events.
 */
#ifndef TOOLS_CONN_TABLE_H
#define TOOLS_CONN_TABLE_H

#include <stdbool.h>

#include "bpf_bbr/snapshot.h"
#include "conn_history.h"
#include "event/conn_map.h"

/* Connections with a history, about 5 kB each: the first so many. Those above have all but that. */
#define HISTORIES_MAX 20000
#define ENDED_STAYS_NS (5 * NS_PER_S)

/* Names of modes in the totals, of all algorithms together. */
#define MODE_NAMES_MAX 64

struct conn {
	struct conn_key by_id; /* conn and origin are 0 until an event came */
	struct conn_key by_tuple;
	const struct algorithm *algorithm;
	__u64 serial; /* of this row, never given again */
	__u64 cookie; /* 0 until a snapshot came */
	char name[BBR_NAME_LEN]; /* of the congestion control */
	char profile[BBR_PROFILE_NAME_LEN]; /* "" if it is not known */
	struct bbr_event e; /* the latest; conn is 0 until an event came */
	__u64 mode_since_ns; /* 0: not known */
	__u64 ended_ns; /* 0: it lives */
	__u64 unseen_end_ns; /* the same, while nothing is to change */
	bool is_left_out; /* as of its latest event; such a row is gone after conn_table_tick() */
	/* Of the last sample: a snapshot has none. */
	double delivery_bps; /* NAN: none */
	__u32 rtt_us; /* BBR_RTT_NONE: none */
	bool app_limited;

	/* Of the last interval, as of conn_table_tick(). */
	double rate; /* delivered, bits per second; NAN: unknown */
	__u32 inflight; /* the most: the ACK that begins a round often has little */
	__u32 lost; /* packets */
	__u64 retrans; /* bytes */
	/* What they are counted from, or so far. */
	__u32 next_inflight;
	__u64 mark_ns;
	__u32 mark_delivered, mark_lost;
	__u64 mark_retrans;

	struct history *history; /* NULL: there were HISTORIES_MAX others */
	__u32 index; /* in all[] */
	__u32 generation; /* of the last snapshot that had it */
};

struct conn_table {
	struct conn **all;
	__u32 n, size;
	__u32 n_histories;
	__u64 next_serial;
	struct conn_map by_id, by_tuple;
	/* of snapshots */
	__u32 generation;
	__u64 reading_ns, between_readings_ns;
	bool no_memory; /* some connections are missing */
};

struct conn_totals {
	__u32 live;
	/* Of the algorithms that have connections; if there are none, of the first algorithm. Equal names are one. */
	__u32 n_modes;
	struct {
		const char *name;
		__u32 conns;
	} modes[MODE_NAMES_MAX];
	double rate; /* of those that are known */
	__u32 origins; /* names of congestion controls */
};

void conn_table_note(struct conn_table *t, const struct origin *origin, const struct bbr_event *e);

/*
 * An event, or what a snapshot has, of a connection that is not to be shown any more, as of then. What has no row gets
 * none.
 */
void conn_table_leave_out(struct conn_table *t, const struct origin *origin,
			  const struct bbr_event *e);

/*
 * A reading of all sockets: what was here before it began and is not in it has ended. If it was not
 * complete, the end of it is left out.
 */
void conn_table_begin_snapshot(struct conn_table *t, __u64 now_ns);
void conn_table_note_snapshot(struct conn_table *t, const struct origin *origin,
			      const struct bbr_snapshot *snap);
void conn_table_end_snapshot(struct conn_table *t);

/*
 * The end of an interval: computes what happened in it, and takes away what ended a while ago or is left
 * out, the only place that does.
 */
void conn_table_tick(struct conn_table *t, __u64 now_ns);

/*
 * An event while nothing is to change: only an end is kept. After some of them, the table goes on: what only
 * they told is not known, and what has ended is marked so.
 */
void conn_table_note_unseen(struct conn_table *t, const struct origin *origin,
			    const struct bbr_event *e);
void conn_table_go_on(struct conn_table *t);

void conn_table_totals(const struct conn_table *t, struct conn_totals *totals);
void conn_table_free(struct conn_table *t);

#endif
