/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rate of each flow in equal intervals of a recording, and how fair the rates were. The bytes
 * that were ACKed between two events of a flow count as evenly spread over the time between them.
 */
#ifndef TOOLS_RATE_SHARES_H
#define TOOLS_RATE_SHARES_H

#include <stdbool.h>

#include "flow.h"

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

/* Flows that have series are told apart; all others are taken together. False: no memory. */
bool rate_shares_init(struct rate_shares *r, const struct flows *flows);
void rate_shares_note(struct rate_shares *r, const struct flow *flow, const struct bbr_event *e);
void rate_shares_note_drops(struct rate_shares *r, __u64 time_ns, __u64 drops);
void rate_shares_note_unwatched(struct rate_shares *r, __u64 from_ns, __u64 until_ns);
void rate_shares_finish(struct rate_shares *r);
void rate_shares_free(struct rate_shares *r);

/* Jain's index, (sum x)^2 / (n * sum x^2), of an interval's rates; below 0 if there were none. */
double rate_shares_jain(const struct rate_shares *r, int interval);
/* The same for the mean rates of the flows that send. */
double flows_jain(const struct flows *flows);

#endif
