/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The values in a flow's events, over time, in bounded memory.
 *
 * Up to `max` events are kept as they are. If there are more, time is cut into equal intervals. Of
 * each interval, the first and the last event are kept, and those with the lowest or highest value
 * of a curve. So each value that is shown is a real one at its real time, and no extreme is lost.
 * The intervals are as short as `max` allows, to within a factor of two.
 */
#ifndef TOOLS_FLOW_SERIES_H
#define TOOLS_FLOW_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "curves.h"

struct flow_series {
	struct curves curves;
	__s64 *rows; /* in the order of time; each has its time, and a value for each curve */
	size_t n, room, max;
	__u64 interval_ns; /* 0: all events are there */
};

/* Keeps at most `max` events, or as many as the rule above needs. NULL: no memory. */
struct flow_series *flow_series_new(const struct algorithm *a, size_t max);
__u64 flow_series_time_ns(const struct flow_series *s, size_t row);
__s64 flow_series_value(const struct flow_series *s, size_t row, unsigned int curve);

/* False: no memory. */
bool flow_series_add(struct flow_series *s, const struct bbr_event *e);
/* After the last event: applies the same rule to all of the time. */
void flow_series_finish(struct flow_series *s);
/*
 * The highest rate in a readable plot, in bits per second; 0: the highest that there is. The first
 * pacing rates of a path can be a thousand times what it carries, because the handshake measures
 * the RTT of an empty queue.
 */
double flow_series_rate_top(const struct flow_series *s);
/*
 * The highest value of a lane in a readable plot. Curves that may be far off do not count.
 */
double flow_series_largest(const struct flow_series *s, enum field_lane lane);
void flow_series_free(struct flow_series *s);

#endif
