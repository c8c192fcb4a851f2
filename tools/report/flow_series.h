/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a flow's events tell, over time, in bounded memory.
 *
 * Up to `max` events are kept as they are. Of more, time is cut into equal intervals, and of each
 * interval those events are kept that are its first or last one or have the lowest or highest value of a
 * series. So each value that is shown was one, when it was, and no extreme is lost. The intervals are as
 * short as `max` allows, to within a factor of two.
 */
#ifndef TOOLS_FLOW_SERIES_H
#define TOOLS_FLOW_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf_bbr/events.h"

/* Their names are those of bbrmon stream's JSON where it has them. */
#define FLOW_SERIES(X)                                               \
	X(delivery_rate_bps)                                         \
	X(app_limited) /* of the delivery rate: 0 or 1 */            \
	X(bw_bps)                                                    \
	X(pacing_rate_bps)                                           \
	X(rtt_us)                                                    \
	X(min_rtt_us)                                                \
	X(srtt_us)                                                   \
	X(inflight)                                                  \
	X(bdp_milli) /* bw * min_rtt, thousandths of a packet */     \
	X(cwnd)                                                      \
	X(lost) /* since the start of the connection, as the next */ \
	X(bytes_retrans)                                             \
	X(mode) /* enum bbr_mode */                                  \
	X(ca_state) /* enum tcp_ca_state */                          \
	X(policer) /* 0 off, 1 sampling, 2 detected */

enum flow_series_id {
#define X(name) SERIES_##name,
	FLOW_SERIES(X)
#undef X
	N_SERIES
};

extern const char *const flow_series_names[N_SERIES];

#define VALUE_NONE INT64_MIN /* not measured, or not known */

struct flow_row {
	__u64 time_ns;
	__s64 value[N_SERIES];
};

struct flow_series {
	struct flow_row *rows; /* in the order of time */
	size_t n, room, max;
	__u64 interval_ns; /* 0: all events are there */
};

/* The most events that an interval keeps; `max` is not to be less. */
#define FLOW_INTERVAL_ROWS (2 * N_SERIES + 2)

/* False: no memory. */
bool flow_series_add(struct flow_series *s, const struct bbr_event *e);
/* After the last one: the same rule for all of the time. */
void flow_series_finish(struct flow_series *s);
/*
 * Up to which rate a plot should go to be readable, in bits per second; 0: to the highest. The first pacing
 * rates of a path can be a thousand times what it carries: the handshake's RTT is of an empty queue.
 */
double flow_series_rate_top(const struct flow_series *s);
void flow_series_free(struct flow_series *s);

#endif
