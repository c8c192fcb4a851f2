/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The present state of the connections, each with its last minute. Events and snapshots of sockets
 * feed the table, in any mixture. It does not use a terminal; its only clock is event times.
 */
#ifndef TOOLS_CONN_TABLE_H
#define TOOLS_CONN_TABLE_H

#include <stdbool.h>

#include "bpf_bbr/events.h"
#include "bpf_bbr/snapshot.h"
#include "event/conn_map.h"
#include "kernel/clock.h"

/* At most this many connections have a history: 0.6 kB each, and 5 kB after half a minute. */
#define HISTORIES_MAX 20000
#define ENDED_STAYS_NS (5 * NS_PER_S)
/* Rows, each of a kilobyte. Of those that have ended, fewer stay after an interval. */
#define CONNS_MAX (1u << 17)
#define ENDED_MAX 4096

/* Names of modes in the totals, of all algorithms together. */
#define MODE_NAMES_MAX 64

#define SERVICE_LEN 32

struct conn {
	struct conn_key by_id; /* conn and origin are 0 until an event comes */
	struct conn_key by_tuple;
	const struct algorithm *algorithm;
	__u64 serial; /* of this row, never reused */
	__u64 cookie, cgroup, inode; /* of its socket; 0 until a snapshot comes */
	__u32 mptcp_token; /* as in struct bbr_snapshot, as the next three */
	__u8 places, mptcp_local_id, mptcp_remote_id;
	char name[BBR_NAME_LEN]; /* of the congestion control */
	char profile[BBR_PROFILE_NAME_LEN]; /* "" if it is not known */
	struct bbr_event e; /* the latest; conn is 0 until an event comes */
	__u64 mode_since_ns; /* 0: not known */
	__u64 ended_ns; /* 0: it is open */
	__u64 unseen_end_ns; /* the same, noted while the table is paused */
	__u64 first_ns; /* time of its first event */
	bool lacks_history; /* there were HISTORIES_MAX others */
	bool is_left_out; /* by its latest event; conn_table_tick() removes such a row */
	/* From the last sample; a snapshot has none. */
	double delivery_bps; /* NAN: none */
	__u32 rtt_us; /* BBR_RTT_NONE: none */
	bool app_limited;

	/* Of the last interval, as of conn_table_tick(). */
	double rate; /* delivered, bits per second; NAN: unknown */
	__u32 inflight; /* the maximum: the ACK that begins a round often has little */
	__u32 lost; /* packets */
	__u64 retrans; /* bytes */
	/* Where they are counted from; next_inflight is the maximum so far. */
	__u32 next_inflight;
	__u64 mark_ns;
	__u32 mark_delivered, mark_lost;
	__u64 mark_retrans;

	/*
	 * Of the time in which it was busy, how much the receiver's window and the send buffer
	 * limited it: between the last two snapshots, or all its life. NAN: not known.
	 */
	double rwnd_share, sndbuf_share;
	__u32 busy_ticks, rwnd_ticks, sndbuf_ticks; /* of the last snapshot */
	/* The service of its cgroup, and the process that has it open; "" until the caller sets them. */
	char service[SERVICE_LEN], process[SERVICE_LEN];

	/* NULL: it has had one event, snapshots found it idle so far, or lacks_history. */
	struct history *history;
	__u32 index; /* in all[] */
	__u32 generation; /* of the last snapshot that had it */
};

struct conn_table {
	struct conn **all;
	__u32 n;
	__u32 n_histories;
	__u64 next_serial;
	struct conn_map by_id, by_tuple;
	/* of snapshots */
	__u32 generation;
	__u64 reading_ns, between_readings_ns;
	__u64 no_row; /* events of connections for which there was none of CONNS_MAX rows */
};

struct conn_totals {
	__u32 live, without_history; /* those that lack it */
	/*
	 * Modes of the algorithms that have connections; without connections, of the first
	 * algorithm. Equal names count as one.
	 */
	__u32 n_modes;
	struct {
		const char *name;
		__u32 conns;
	} modes[MODE_NAMES_MAX];
	double rate; /* the sum of those that are known */
	__u32 origins; /* names of congestion controls */
};

void conn_table_note(struct conn_table *t, const struct origin *origin, const struct bbr_event *e);

/*
 * Leaves out a connection, as of this event or snapshot, which no longer matches the filter. A
 * connection without a row gets none.
 */
void conn_table_leave_out(struct conn_table *t, const struct origin *origin,
			  const struct bbr_event *e);

/*
 * A reading of all sockets: a connection that was here before it began and is not in it has ended.
 * After an incomplete reading conn_table_end_snapshot() is not called.
 */
void conn_table_begin_snapshot(struct conn_table *t, __u64 now_ns);
void conn_table_note_snapshot(struct conn_table *t, const struct origin *origin,
			      const struct bbr_snapshot *snap);
void conn_table_end_snapshot(struct conn_table *t);

/*
 * The end of an interval: computes what happened in it, and removes the rows that ended a while ago
 * or are left out. Until conn_table_free() nothing else removes rows.
 */
void conn_table_tick(struct conn_table *t, __u64 now_ns);

/*
 * While the table is paused, conn_table_note_unseen() takes its events and keeps only an end.
 * conn_table_go_on() resumes: what only these events reported is unknown, and connections that
 * ended are marked so.
 */
void conn_table_note_unseen(struct conn_table *t, const struct origin *origin,
			    const struct bbr_event *e);
void conn_table_go_on(struct conn_table *t);

void conn_table_totals(const struct conn_table *t, struct conn_totals *totals);
void conn_table_free(struct conn_table *t);

/*
 * The last minute of a connection, in slots of half a second.
 */
#define SLOT_NS (500 * NS_PER_MS)
#define HISTORY_SLOTS 120 /* a minute */
#define TRANSITIONS 16

/* The bit of a mode in a slot's modes. Modes without a bit of their own share the last one. */
#define HISTORY_MODES 31
static inline __u32 mode_history_bit(unsigned int mode)
{
	return 1u << (mode < HISTORY_MODES ? mode : HISTORY_MODES);
}

#define SAMPLE_VALUES 7

/*
 * A slot of the history. Bandwidths are in bits per second; inflight, bdp and cwnd are in packets.
 * NAN: unknown.
 */
struct sample {
	union {
		struct {
			float rate, bw, pacing;
			float rtt_us; /* the samples' mean */
			float inflight; /* the maximum */
			float bdp, cwnd;
		};
		float value[SAMPLE_VALUES];
	};
	float min_rtt_us;
	__u32 modes; /* bits of the algorithm's modes; 0: nothing is known about this slot */
	__u16 lost; /* packets, in this slot */
	__u8 ca_states; /* bits of enum tcp_ca_state */
};

struct transition {
	__u64 time_ns;
	__u8 kind, from, to, reason; /* as in struct bbr_event */
	bool has_reason;
};

struct history {
	/* Slot n of time at n % n_slots: they become more with its age, up to HISTORY_SLOTS. */
	struct sample *slot;
	__u32 n_slots;
	__u64 first, last; /* the oldest and the newest slot's number in time */
	__u64 base_ns; /* time of the last event before that slot, */
	__u32 base_delivered; /* and what had been delivered then */
	bool has_base;
	__u32 rtts; /* samples in the newest slot's rtt_us */
	struct transition transitions[TRANSITIONS]; /* number n at n % TRANSITIONS */
	__u32 n_transitions;
};

/* Adds an event. `before` is the connection's previous event; NULL: there is none, h is all zeros. */
void history_note(struct history *h, const struct bbr_event *before, const struct bbr_event *e);
void history_free(struct history *h);

/*
 * Summarizes the slots first to first + n - 1 of time: the mean of each value that is known, the
 * lowest min_rtt_us, the sum of losses, and all modes and states. False: nothing is known.
 */
bool history_get(const struct history *h, __u64 first, unsigned int n, struct sample *out);

#endif
