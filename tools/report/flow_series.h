/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The curves of a flow, and their values over time.
 */
#ifndef TOOLS_FLOW_SERIES_H
#define TOOLS_FLOW_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "descriptor.h"

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

struct curves {
	const struct algorithm *algorithm;
	struct curve *curve;
	unsigned int n;
};

void curves_init(struct curves *c, const struct algorithm *a);
void curves_free(struct curves *c);

/* The value of a curve in an event, or VALUE_NONE. */
__s64 curve_value(const struct curves *c, unsigned int curve, const struct bbr_event *e);

const char *curve_state_name(const struct curves *c, unsigned int curve, unsigned int state);
/*
 * No other state of any curve has its colour, except that pale ones are those in which nothing
 * happens, and that grey ones are what is left when all colours are used.
 */
enum colour curve_state_colour(const struct curves *c, unsigned int curve, unsigned int state);

/*
 * The values in a flow's events, over time, in bounded memory.
 *
 * Up to `max` events are kept as they are. If there are more, time is cut into equal intervals. Of
 * each interval, the first and the last event are kept, and those with the lowest or highest value
 * of a curve. So each value that is shown is a real one at its real time, and no extreme is lost.
 * The intervals are as short as `max` allows, to within a factor of two.
 */
struct flow_series {
	struct curves curves;
	__s64 *rows; /* in the order of time; each has its time, and a value for each curve */
	size_t n, max;
	__u64 interval_ns; /* 0: all events are there */
};

/* Keeps at most `max` events, or as many as the rule above needs. */
struct flow_series *flow_series_new(const struct algorithm *a, size_t max);
__u64 flow_series_time_ns(const struct flow_series *s, size_t row);
__s64 flow_series_value(const struct flow_series *s, size_t row, unsigned int curve);

void flow_series_add(struct flow_series *s, const struct bbr_event *e);
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
