/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events a verb asks for, and how many it got: of what happens now, or of a recording.
 */
#ifndef TOOLS_REQUEST_H
#define TOOLS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "event/origin.h"
#include "filter.h"

/* Which events. */
struct watch_request {
	struct bbr_filter filter;
	enum bbr_sampling sampling;
	__u64 interval_ns; /* BBR_SAMPLE_TIME */
	bool is_sampling_given; /* by the user: a recording shows no ACKs but these of those it has */
};

/*
 * How many events there were, and how many of them arrived. Once the subscription has ended:
 * seq == all of received + all of drops + drops_unknown.
 */
struct counters {
	__u64 seq; /* events that there were, those that the filter did not match left out */
	__u64 acks; /* of the connections that the BPF program told of, whether sampled or not */
	__u64 received[BBR_EV_MAX];
	__u64 drops[BBR_EV_MAX];
	__u64 drops_unknown; /* gaps in seq of a slot that was taken from us with its counters */
	__u64 not_matched; /* read, but not what the filter asks for: in none of the others but acks */
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

/* What a verb is to be handed. */
struct watch_config {
	struct watch_request request;
	struct filter *
		filter; /* all that says which connections and events, options as well; NULL: all of them */
	bool has_rest; /* the request's filter, which the BPF program does, is not all of it */
	struct filter_node
		options[FILTER_OPTIONS]; /* from which it is made; FILTER_AND: was not given */
	struct value_list names; /* the same, of instances; none: all that are loaded */
	event_handler handle; /* false: monitor_poll() or replay_poll() is to return */
	void *ctx;
	size_t ring_size; /* bytes: a power of two, whole pages; of what happens now */
	const char *read; /* a recording; NULL: what happens now */
	double speed; /* of a recording: 1 as fast as it happened, 0 as fast as it can be read */
};

struct watch_totals {
	struct counters counters;
	__u64 watched_ns, unwatched_ns;
};

/* Is the event, or the state of a connection, what the filter asks for? */
bool is_wanted(const struct watch_config *config, const struct origin *origin,
	       const struct bbr_event *e);

#endif
