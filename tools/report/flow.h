/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flows of a recording and the totals of each. A flow is a connection from its first event to
 * its last one.
 */
#ifndef TOOLS_FLOW_H
#define TOOLS_FLOW_H

#include <stdbool.h>

#include "descriptor.h"
#include "event/conn_map.h"
#include "percentiles.h"

struct flow_series;

struct flow {
	struct conn_key key;
	const struct algorithm *algorithm;
	unsigned int number; /* in the order of their first events, from 0 */
	char instance[BBR_NAME_LEN];
	char profile[BBR_PROFILE_NAME_LEN]; /* the last one that was known, or "" */
	bool is_kernel;
	bool has_start, has_end; /* were these seen? */
	bool has_state; /* in any event: see event_has_state() */
	struct bbr_event first, last;

	__u64 events;
	__u64 acks;
	__u64 samples, app_limited; /* of these ACKs */
	__u64 rtos;
	__u64 found[FINDINGS_MAX]; /* how often, by finding_field() */
	__u64 *mode_ns; /* of each of the algorithm's modes */
	__u32 min_rtt_us; /* the lowest of all */
	struct percentiles rtt_us;

	struct flow_series *series; /* NULL: only the totals are shown */
};

/* Each takes about a kilobyte, and a few bytes of a recording are enough for one. */
#define FLOWS_MAX 65536

struct flows {
	struct flow **flow; /* by number */
	unsigned int n, n_all, room; /* see flows_choose() */
	struct conn_map by_key;
	__u64 start_ns, end_ns; /* of the earliest and the latest event */
	__u64 left_out; /* events of flows for which there was no place */
};

/* The flow that an event belongs to; NULL: it was not seen, or there was no memory for it. */
struct flow *flows_find(const struct flows *f, const struct origin *origin,
			const struct bbr_event *e);
/* Adds an event to its flow's totals, or to those left out. False: no memory. */
bool flows_note(struct flows *f, const struct origin *origin, const struct bbr_event *e);
/*
 * After the last event: makes those that have BBR state the n first flows. The others are
 * connections that the stack reported only before or after they had it, in recovery or at an RTO.
 */
void flows_choose(struct flows *f);
void flows_free(struct flows *f);

/* Has the connection ever sent payload? An end that only receives is a BBR socket, too. */
bool flow_sends(const struct flow *flow);
unsigned int flows_sending(const struct flows *f);

/* Between its first and its last event. */
__u64 flow_bytes_acked(const struct flow *flow);
__u64 flow_bytes_retrans(const struct flow *flow);
__u64 flow_bytes_sent(const struct flow *flow);
__u32 flow_lost(const struct flow *flow);
__u64 flow_duration_ns(const struct flow *flow);
double flow_mean_bps(const struct flow *flow);

#endif
