/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connections of a snapshot, and what is shown of them.
 */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <linux/types.h>

#include "bpf_bbr/snapshot.h"
#include "event/conn_map.h"
#include "event/event.h"
#include "event/field.h"
#include "grouping.h"
#include "recording/replay.h"
#include "sockets/sockets.h"
#include "stream/event_source.h"

/* One connection, for the code that filters, sorts and prints them. */
struct snapshot {
	const struct origin *origin;
	const struct bbr_snapshot *state;
	bool is_recorded; /* from a recording: there is only state->event */
};

/*
 * The numbers that a socket has besides its event, s: JSON key, whether s has it, value. JSON has them
 * in this order, and connections are sorted by them.
 */
#define SOCKET_NUMBERS(X)                                        \
	X(recv_q_bytes, true, s->recv_q)                         \
	X(send_q_bytes, true, s->send_q)                         \
	X(cookie, true, s->cookie)                               \
	X(cgroup_id, true, s->cgroup)                            \
	X(uid, true, s->uid)                                     \
	X(inode, true, s->inode)                                 \
	X(mark, true, s->mark)                                   \
	X(bound_ifindex, true, s->bound_ifindex)                 \
	X(busy_us, true, us_of_ticks(s->busy_ticks))             \
	X(rwnd_limited_us, true, us_of_ticks(s->rwnd_ticks))     \
	X(sndbuf_limited_us, true, us_of_ticks(s->sndbuf_ticks)) \
	X(retrans_out, true, s->retrans_out)                     \
	X(total_retrans, true, s->total_retrans)                 \
	X(mptcp_token, IS_SUBFLOW, s->mptcp_token)               \
	X(mptcp_local_id, IS_SUBFLOW, s->mptcp_local_id)         \
	X(mptcp_remote_id, IS_SUBFLOW, s->mptcp_remote_id)
#define IS_SUBFLOW (s->places & BBR_PLACE_MPTCP)

struct snapshot_style {
	bool colour;
	bool oneline; /* like ss -O: the state on the line of the addresses */
	__u32 own_netns; /* connections of this namespace do not show it; 0: none do */
	bool with_cgroup;
	struct grouping *grouping; /* has the cgroups, and the processes if they are to be shown */
};

void snapshot_print_header(FILE *out);
void snapshot_print_text(FILE *out, const struct snapshot_style *style, const struct snapshot *c);
void snapshot_print_json(FILE *out, const struct snapshot_style *style, const struct snapshot *c);

/*
 * Totals of a snapshot: by congestion control, profile and mode, or by groups.
 */
struct summary {
	struct grouping grouping; /* BY_NONE: by congestion control, profile and mode */
	__u64 largest; /* groups that are shown by themselves; 0: GROUPS_LARGEST */
	int key; /* that sorts groups: from summary_sort(), as the next */
	bool ascending;
	struct groups groups;
};

/* Parses --sort KEY of groups: "-bytes_retrans". Returns false after printing what is wrong. */
bool summary_sort(struct summary *s, const char *key);
void summary_add(struct summary *s, const struct snapshot *c);
void summary_print(FILE *out, struct summary *s, bool json);
void summary_free(struct summary *s);

/*
 * The order of a snapshot's connections, if one was asked for: they are kept until all are read.
 */
#define SORT_KEYS 16 /* of one order */

struct sort_key {
	int what; /* a number of sort.c, a name, or a field */
	const char *field; /* its key: not known in an algorithm that has none */
	bool descending;
};

struct sort_order {
	struct sort_key keys[SORT_KEYS];
	int n; /* 0: as they come */
	bool reverse; /* reverses all keys */
};

/* Parses "bw_bps,-lport". Returns false after printing what is wrong. */
bool sort_parse(struct sort_order *order, const char *text, const struct known *known);

struct kept_snapshot {
	const struct origin *origin;
	struct bbr_snapshot state;
};

struct kept_snapshots {
	struct kept_snapshot *list;
	size_t n;
};

void kept_add(struct kept_snapshots *kept, const struct snapshot *c);
/* The sorted indexes of the list, equal ones as they came; the caller frees them. */
__u32 *kept_sort(const struct kept_snapshots *kept, const struct sort_order *order);

/*
 * The connections of a recording as they were at its end, or at a time of it.
 */
/* Each takes half a kilobyte, and a few bytes of a recording are enough for one. */
#define RECORDED_CONNS_MAX (1u << 17)
#define RECORDED_ORIGINS_MAX 256 /* of a run */

struct recorded {
	struct event_source source;
	struct conn_map live; /* of struct connection */
	struct known_origin *origins;
	unsigned int n_origins;
	/* events of connections, and of instances, for which there was no place */
	__u64 left_out, of_no_origin;
	__u64 run; /* of the connections in it */
	struct run_clocks clocks;
	__u64 after_ns; /* the end, since the first event */
	__u64 until_ns; /* the same, since 1970 */
	bool is_past;
};

/*
 * Reads a recording until at_ns after its start; ~0 is its end. A connection is as in its last
 * event. It is left out if that is its end, or if a later run of the recorder, which did not see it
 * end, has begun. Returns an exit status; has printed what failed unless it is EXIT_DONE.
 */
int recorded_open(struct recorded *r, const char *file, __u64 at_ns);

/* Hands on the connections: origins are valid until recorded_close(). */
void recorded_for_each(const struct recorded *r, sockets_handler handle, void *ctx);
void recorded_close(struct recorded *r);

#endif
