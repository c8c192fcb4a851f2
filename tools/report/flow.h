/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flows of a recording and the totals of each. A flow is a connection from its first event to
 * its last one.
 */
#ifndef TOOLS_FLOW_H
#define TOOLS_FLOW_H

#include <stdbool.h>
#include <linux/types.h>

#include "descriptor.h"
#include "event/conn_map.h"

/*
 * Percentiles of many numbers in little memory: exact below 128, to within 1/128 above.
 */
struct percentiles {
	__u64 n;
	__u32 *counts; /* of the buckets from `lowest` on */
	__u32 lowest, n_buckets;
};

void percentiles_add(struct percentiles *p, __u32 value);
bool percentiles_have_bucket(const struct percentiles *p, __u32 value);
/* The nearest rank; there must be at least one number. */
__u32 percentiles_get(const struct percentiles *p, double percent);
void percentiles_free(struct percentiles *p);

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
	const struct field *finding[FINDINGS_MAX]; /* the algorithm's, or NULL */
	bool is_found[FINDINGS_MAX]; /* in the last event */
	__u64 found[FINDINGS_MAX]; /* how often */
	__u64 *mode_ns; /* of each of the algorithm's modes */
	__u32 min_rtt_us; /* the lowest of all */
	struct percentiles rtt_us;

	struct flow_series *series; /* NULL: only the totals are shown */
};

/* Each takes about a kilobyte, and a few bytes of a recording are enough for one. */
#define FLOWS_MAX 65536
/* Each takes four bytes. A flow's RTTs that are within a power of two need 64, all RTTs 1728. */
#define FLOW_BUCKETS_MAX (1u << 24)

#define FLOWS_RECENT 64 /* a power of two */

struct flows {
	struct flow **flow; /* by number */
	unsigned int n, n_all; /* see flows_choose() */
	struct conn_map by_key;
	struct flow *recent[FLOWS_RECENT]; /* by the lowest bits of event.conn */
	__u64 start_ns, end_ns; /* of the earliest and the latest event */
	__u64 left_out; /* events of flows for which there was no place */
	__u64 n_buckets; /* of the percentiles of all RTTs */
	__u64 rtts_left_out; /* that would need more of them */
};

/* The flow that an event belongs to; NULL: it was not seen, or there was no place for it. */
struct flow *flows_find(struct flows *f, const struct origin *origin, const struct bbr_event *e);
/* Adds an event to its flow's totals, or to those left out. */
void flows_note(struct flows *f, const struct origin *origin, const struct bbr_event *e);
/*
 * After the last event: makes those that have BBR state the n first flows. The others are
 * connections that the stack reported only before or after they had it, in recovery or at an RTO.
 */
void flows_choose(struct flows *f);
void flows_free(struct flows *f);

/* True if the connection has ever sent payload. An end that only receives is a BBR socket, too. */
bool flow_sends(const struct flow *flow);
unsigned int flows_sending(const struct flows *f);

/* Between its first and its last event. */
struct flow_growth {
	__u64 ns, bytes_acked, bytes_sent, bytes_retrans;
	__u64 lost; /* packets */
};

struct flow_growth flow_growth(const struct flow *flow);
double flow_mean_bps(const struct flow *flow);

/*
 * The rate of each flow in equal intervals of a recording, and how fair the rates were. The bytes
 * that were ACKed between two events of a flow count as evenly spread over the time between them.
 */
#define RATE_INTERVALS 200

struct share {
	float *bytes; /* of each interval; NULL: counted among the others */
	__u64 time_ns, acked; /* of the flow's latest event */
	double now_bytes; /* in the interval of that event */
	int now;
	bool whole; /* was the flow there when this interval began? */
};

struct rate_shares {
	struct share *share; /* by flow.number */
	unsigned int n_flows;
	__u64 start_ns, interval_ns;
	double total[RATE_INTERVALS]; /* bytes of all flows */
	/* Of the flows that send and are there for all of an interval. */
	double sum[RATE_INTERVALS], squares[RATE_INTERVALS];
	unsigned int whole[RATE_INTERVALS];
	/*
	 * What the recording says is missing: events, in the intervals in which it noticed; time.
	 */
	__u64 drops[RATE_INTERVALS];
	__u64 unwatched_ns[RATE_INTERVALS];
};

/* Flows that have series are told apart; all others are taken together. */
void rate_shares_init(struct rate_shares *r, const struct flows *flows);
void rate_shares_note(struct rate_shares *r, const struct flow *flow, const struct bbr_event *e);
void rate_shares_note_drops(struct rate_shares *r, __u64 time_ns, __u64 drops);
void rate_shares_note_unwatched(struct rate_shares *r, __u64 from_ns, __u64 until_ns);
void rate_shares_finish(struct rate_shares *r);
void rate_shares_free(struct rate_shares *r);

/* Jain's index, (sum x)^2 / (n * sum x^2), of an interval's rates; NAN if there were none. */
double rate_shares_jain(const struct rate_shares *r, int interval);
/* The same for the mean rates of the flows that send. */
double flows_jain(const struct flows *flows);

#endif
