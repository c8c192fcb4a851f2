/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events a verb asks for, and how many it got, from the running system or from a recording.
 */
#ifndef TOOLS_REQUEST_H
#define TOOLS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "event/event.h"
#include "filter.h"

/* Which events. */
struct watch_request {
	struct bbr_filter filter;
	enum bbr_sampling sampling;
	__u64 interval_ns; /* BBR_SAMPLE_TIME */
	bool is_sampling_given; /* by the user: of a recording's ACKs show only these */
};

/*
 * How many events there were, and how many of them arrived. Once the subscription has ended:
 * seq == all of received + all of drops + drops_unknown.
 */
struct counters {
	__u64 seq; /* events that occurred, without those that the filter did not match */
	__u64 acks; /* of the connections that the BPF program reports, sampled or not */
	__u64 received[BBR_EV_MAX];
	__u64 drops[BBR_EV_MAX];
	__u64 drops_unknown; /* gaps in seq, when our slot and its counters were taken over */
	__u64 not_matched; /* read, but the filter did not match; only `acks` counts them as well */
};

void counters_add(struct counters *sum, const struct counters *c);
__u64 counters_received(const struct counters *c);
__u64 counters_drops(const struct counters *c);

/* Options that are short forms of a condition. */
enum filter_option {
	OPTION_REMOTE,
	OPTION_LOCAL,
	OPTION_RPORT,
	OPTION_LPORT,
	FILTER_OPTIONS,
};

/* What a verb asks for. */
struct watch_config {
	struct watch_request request;
	/* Which connections and events to watch, by words and options; NULL: all. */
	struct filter *filter;
	bool has_rest; /* request.filter, which the BPF program applies, is not all of it */
	/* Conditions that it gets, too; FILTER_AND: not given. */
	struct filter_node options[FILTER_OPTIONS];
	struct value_list names; /* of instances; they become part of it, too; none: all loaded */
	event_handler handle; /* false: monitor_poll() or replay_poll() returns */
	void *ctx;
	size_t ring_size; /* bytes: a power of two, whole pages; not for a recording */
	const char *read; /* a recording; NULL: the running system */
	double speed; /* of a recording: 1 as fast as it happened, 0 as fast as it can be read */
};

struct watch_totals {
	struct counters counters;
	__u64 watched_ns, unwatched_ns;
	/* Part of a recording has no end: ACKs and times are at least these. */
	bool is_cut;
};

/* Does the event, or the state of a connection, match the filter? */
bool is_wanted(const struct watch_config *config, const struct origin *origin,
	       const struct bbr_event *e);

#endif
