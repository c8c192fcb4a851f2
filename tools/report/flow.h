/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flows of a recording, the totals of each, and its curves. A flow is a connection from its
 * first event to its last one.
 */
#ifndef TOOLS_FLOW_H
#define TOOLS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "descriptor.h"
#include "event/conn_map.h"

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

	struct flow_series *series; /* NULL: only the totals are shown */
};

/* Each takes about a kilobyte, and a few bytes of a recording are enough for one. */
#define FLOWS_MAX 65536

#define FLOWS_RECENT 64 /* a power of two */

struct flows {
	struct flow **flow; /* by number */
	unsigned int n, n_all; /* see flows_choose() */
	struct conn_map by_key;
	struct flow *recent[FLOWS_RECENT]; /* by the lowest bits of event.conn */
	__u64 start_ns, end_ns; /* of the earliest and the latest event */
	__u64 left_out; /* events of flows for which there was no place */
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

/* The highest rate of all flows together, in bits per second. */
double rate_shares_top_bps(const struct rate_shares *r);
/* Jain's index, (sum x)^2 / (n * sum x^2), of an interval's rates; NAN if there were none. */
double rate_shares_jain(const struct rate_shares *r, int interval);
/* The same for the mean rates of the flows that send. */
double flows_jain(const struct flows *flows);

/*
 * The curves of a flow, and the lane in which each is drawn: those that every flow has, and those
 * of the fields of its algorithm that have a lane. The page and the figure draw what is in this
 * list.
 */
#define VALUE_NONE INT64_MIN /* not measured, or not known */

enum curve_look {
	LOOK_NONE, /* not drawn: another curve needs its values */
	LOOK_STEP, /* a value lasts until the next */
	LOOK_LINE,
	LOOK_POINTS, /* samples */
	LOOK_STATES, /* blocks of colour; the values are numbers of states */
};

/* Those before grey can be the colours of states, in this order. */
enum colour {
	COLOUR_YELLOW,
	COLOUR_PINK,
	COLOUR_BLUE,
	COLOUR_GREEN,
	COLOUR_SKY,
	COLOUR_LEMON,
	COLOUR_VIOLET,
	COLOUR_RED,
	COLOUR_BROWN,
	COLOUR_BLACK,
	COLOUR_LIME,
	COLOUR_TEAL,
	COLOUR_ROSE,
	COLOUR_MAROON,
	COLOUR_OLIVE,
	COLOUR_NAVY,
	COLOUR_GREY,
	COLOUR_PALE,
	COLOURS,
};

struct colour_look {
	const char *name, *light, *dark; /* on a light page, and on a dark one */
};
extern const struct colour_look colours[COLOURS];

struct curve {
	const char *key; /* of its values; as in bbrmon stream --json if that has them */
	const char *name; /* for people */
	enum field_lane lane;
	enum curve_look look;
	enum colour colour;
	unsigned int divisor; /* divides the values, to get the lane's unit; 0: 1 */
	bool is_bytes; /* in a lane of packets: divided by the flow's mss */
	bool may_be_far_off; /* above all else in its lane: its unit and top ignore this curve */
	/* Key of a LOOK_NONE curve: where it is 1, points are grey: split_name. */
	const char *split_by;
	const char *split_name;

	/* LOOK_STATES */
	unsigned int n_states,
		coloured; /* coloured: how many states of earlier curves are not pale */
	const char *const *states; /* NULL: the algorithm's modes */

	/* The value in an event, if there is any, in the unit of the key. */
	const struct field *field; /* NULL: `value` */
	__s64 (*value)(const struct bbr_event *e);
	bool needs_state; /* see event_has_state() */
};

const char *curve_state_name(const struct flow_series *s, unsigned int curve, unsigned int state);
/*
 * No other state of any curve has its colour, except that pale ones are those in which nothing
 * happens, and that grey ones are what is left when all colours are used.
 */
enum colour curve_state_colour(const struct flow_series *s, unsigned int curve, unsigned int state);

#define RTT_BUCKETS 1728 /* see flow_series_rtt() */

/*
 * The values in a flow's events, over time, in bounded memory.
 *
 * Up to `max` events are kept as they are. If there are more, time is cut into equal intervals. Of
 * each interval, the first and the last event are kept, and those with the lowest or highest value
 * of a curve. So each value that is shown is a real one at its real time, and no extreme is lost.
 * The intervals are as short as `max` allows, to within a factor of two.
 */
struct flow_series {
	const struct algorithm *algorithm;
	struct curve *curve; /* those of the algorithm's flows */
	unsigned int n_curves;
	__s64 *rows; /* in the order of time; each has its time, and a value for each curve */
	size_t n, max;
	__u64 interval_ns; /* 0: all events are there */
	__u64 n_rtts; /* samples, in all of these */
	__u32 rtts[RTT_BUCKETS];
};

/* Keeps at most `max` events, or as many as the rule above needs. */
struct flow_series *flow_series_new(const struct algorithm *a, size_t max);
__u64 flow_series_time_ns(const struct flow_series *s, size_t row);
__s64 flow_series_value(const struct flow_series *s, size_t row, unsigned int curve);

void flow_series_add(struct flow_series *s, const struct bbr_event *e);
/*
 * A percentile of the RTTs, of all events, by the nearest rank: exact below 128 us, to within 1/128
 * above. There must be at least one.
 */
__u32 flow_series_rtt(const struct flow_series *s, double percent);
/* After the last event: applies the same rule to all of the time. */
void flow_series_finish(struct flow_series *s);
/*
 * The highest rate in a readable plot, in bits per second; 0: the highest that there is. The first
 * pacing rates of a path can be a thousand times what it carries, because the handshake measures
 * the RTT of an empty queue.
 */
double flow_series_rate_top(const struct flow_series *s);
/* The highest value of a lane in a readable plot. Curves that may be far off do not count. */
double flow_series_largest(const struct flow_series *s, enum field_lane lane);
void flow_series_free(struct flow_series *s);

#endif
