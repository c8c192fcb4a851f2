// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_series.h"
#include "cli/err.h"
#include "kernel/clock.h"
#include "report.h"

/* The cells of a row: its time, then the values. */
static size_t width_of(const struct flow_series *s)
{
	return 1 + s->curves.n;
}

static __s64 *row_of(const struct flow_series *s, size_t row)
{
	return s->rows + row * width_of(s);
}

__u64 flow_series_time_ns(const struct flow_series *s, size_t row)
{
	return *row_of(s, row);
}

__s64 flow_series_value(const struct flow_series *s, size_t row, unsigned int curve)
{
	return row_of(s, row)[1 + curve];
}

struct flow_series *flow_series_new(const struct algorithm *a, size_t max)
{
	struct flow_series *s = mem_new(1, sizeof(*s));
	size_t least;

	curves_init(&s->curves, a);
	/* Four times what an interval may keep. */
	least = 4 * (2 * s->curves.n + 2);
	s->max = max > least ? max : least;
	return s;
}

/* Marks the rows of one interval with the lowest and the highest value of a curve. */
static void mark_extremes(const struct flow_series *s, size_t from, size_t n, unsigned int curve,
			  bool *keep)
{
	size_t lowest = n, highest = n;

	for (size_t i = 0; i < n; i++) {
		__s64 value = flow_series_value(s, from + i, curve);

		if (value == VALUE_NONE)
			continue;
		if (lowest == n || value < flow_series_value(s, from + lowest, curve))
			lowest = i;
		if (highest == n || value > flow_series_value(s, from + highest, curve))
			highest = i;
	}
	if (lowest < n)
		keep[lowest] = keep[highest] = true;
}

/*
 * Moves the kept rows of an interval to row `to`, which is not behind them. Returns their number.
 */
static size_t thin_interval(struct flow_series *s, size_t to, size_t from, size_t n, bool *keep)
{
	size_t kept = 0;

	memset(keep, 0, n * sizeof(*keep));
	keep[0] = keep[n - 1] = true;
	for (unsigned int curve = 0; curve < s->curves.n; curve++)
		mark_extremes(s, from, n, curve, keep);
	for (size_t i = 0; i < n; i++)
		if (keep[i])
			memmove(row_of(s, to + kept++), row_of(s, from + i),
				width_of(s) * sizeof(*s->rows));
	return kept;
}

static void thin(struct flow_series *s, bool *keep)
{
	__u64 start = flow_series_time_ns(s, 0);
	size_t kept = 0, from = 0;

	while (from < s->n) {
		__u64 interval = (flow_series_time_ns(s, from) - start) / s->interval_ns;
		size_t to = from + 1;

		while (to < s->n &&
		       (flow_series_time_ns(s, to) - start) / s->interval_ns == interval)
			to++;
		kept += thin_interval(s, kept, from, to - from, keep);
		from = to;
	}
	s->n = kept;
}

/* Thins what has come since the last time, too. If that is not enough, doubles the intervals. */
static void make_room_by_thinning(struct flow_series *s)
{
	bool *keep = mem_new(s->n, sizeof(*keep));
	__u64 span = flow_series_time_ns(s, s->n - 1) - flow_series_time_ns(s, 0);

	if (!s->interval_ns)
		s->interval_ns = span / s->max + 1;
	thin(s, keep);
	while (s->n > s->max / 4 * 3 && s->interval_ns <= span) {
		s->interval_ns *= 2;
		thin(s, keep);
	}
	free(keep);
}

void flow_series_add(struct flow_series *s, const struct bbr_event *e)
{
	__s64 *row;

	if (s->n == s->max)
		make_room_by_thinning(s);
	s->rows = mem_grow(s->rows, s->n, width_of(s) * sizeof(*s->rows));
	row = row_of(s, s->n);
	row[0] = e->time_ns;
	for (unsigned int curve = 0; curve < s->curves.n; curve++)
		row[1 + curve] = curve_value(&s->curves, curve, e);
	/* Events of one socket come in order. If a file's do not, our rows still must. */
	if (s->n && e->time_ns < flow_series_time_ns(s, s->n - 1))
		row[0] = flow_series_time_ns(s, s->n - 1);
	s->n++;
}

void flow_series_finish(struct flow_series *s)
{
	bool *keep = mem_new(s->n, sizeof(*keep));

	if (s->interval_ns)
		thin(s, keep);
	free(keep);
}

struct weighted {
	__s64 value;
	double weight;
};

static int by_value(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* The value that 99.5 % of a series are not above. */
static double usual_top(struct weighted *list, size_t n)
{
	double total = 0, seen = 0;
	size_t i;

	qsort(list, n, sizeof(*list), by_value);
	for (i = 0; i < n; i++)
		total += list[i].weight;
	for (i = 0; i + 1 < n; i++) {
		seen += list[i].weight;
		if (seen >= 0.995 * total)
			break;
	}
	return n ? list[i].value : 0;
}

/* Samples count equally, other values by the time for which they were in force. */
static double usual_top_of(const struct flow_series *s, unsigned int curve, struct weighted *list)
{
	bool is_sampled = s->curves.curve[curve].look == LOOK_POINTS;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		__u64 begin = flow_series_time_ns(s, i);
		__u64 end = i + 1 < s->n ? flow_series_time_ns(s, i + 1) : begin;

		if (flow_series_value(s, i, curve) == VALUE_NONE)
			continue;
		list[n].value = flow_series_value(s, i, curve);
		list[n++].weight = is_sampled ? 1 : end - begin;
	}
	return usual_top(list, n);
}

static double highest_of(const struct flow_series *s, unsigned int curve)
{
	__s64 highest = 0;

	for (size_t i = 0; i < s->n; i++)
		if (flow_series_value(s, i, curve) > highest)
			highest = flow_series_value(s, i, curve);
	return highest;
}

double flow_series_rate_top(const struct flow_series *s)
{
	struct weighted *list = mem_new(s->n, sizeof(*list));
	double usual = 0, highest = 0;

	for (unsigned int curve = 0; curve < s->curves.n; curve++) {
		if (s->curves.curve[curve].lane != LANE_RATE)
			continue;
		highest = fmax(highest, highest_of(s, curve));
		if (!s->curves.curve[curve].may_be_far_off)
			usual = fmax(usual, usual_top_of(s, curve, list));
	}
	free(list);
	/* The pacing gain with which a connection begins is 2.9. */
	return highest > 4 * usual ? 1.25 * usual : 0;
}

double flow_series_largest(const struct flow_series *s, enum field_lane lane)
{
	double largest = lane == LANE_RATE ? flow_series_rate_top(s) : 0;

	if (largest)
		return largest;
	for (unsigned int curve = 0; curve < s->curves.n; curve++)
		if (s->curves.curve[curve].lane == lane && !s->curves.curve[curve].may_be_far_off)
			largest = fmax(largest, highest_of(s, curve));
	return largest;
}

void flow_series_free(struct flow_series *s)
{
	curves_free(&s->curves);
	free(s->rows);
	free(s);
}

/* ---- panels */

static const struct panel_unit rates[] = {
	{ "Gbit/s", 1e9 }, { "Mbit/s", 1e6 }, { "kbit/s", 1e3 }, { "bit/s", 1 }, {}
};
static const struct panel_unit times[] = { { "ms", 1e3 }, { "µs", 1 }, {} };
static const struct panel_unit packets[] = { { "packets", 1 }, {} };

const struct panel panels[] = {
	{ "shares", "Rate ACKed", PANEL_SHARES, .units = rates },
	{ "jain", "Jain's index of the flows present", PANEL_JAIN, .is_low = true,
	  .is_only_on_page = true },
	{ "rate", "Rate", PANEL_CURVES, .lane = LANE_RATE, .units = rates },
	{ "rtt", "RTT", PANEL_CURVES, .lane = LANE_RTT, .units = times },
	{ "inflight", "Inflight", PANEL_CURVES, .lane = LANE_INFLIGHT, .units = packets },
	{ "state", "State", PANEL_STATES, .lane = LANE_STATE },
	{ "losses", "Losses", PANEL_CURVES, .lane = LANE_LOSSES, .units = packets, .is_low = true },
	{ "interval", "Losses", PANEL_GROWTH, .lane = LANE_LOSSES, .units = packets, .is_low = true,
	  .is_only_on_page = true },
};

const size_t n_panels = sizeof(panels) / sizeof(panels[0]);

static double largest_share(const struct rate_shares *shares)
{
	double largest = 0;

	for (int i = 0; i < RATE_INTERVALS; i++)
		largest = fmax(largest, shares->total[i]);
	return largest * 8 * NS_PER_S / shares->interval_ns;
}

/* Sets *has if a curve of the lane has a value, and *changes if a value changes. */
static void look_at(const struct flow_series *s, enum field_lane lane, bool *has, bool *changes)
{
	for (unsigned int curve = 0; curve < s->curves.n; curve++) {
		__s64 first = VALUE_NONE;

		for (size_t i = 0; s->curves.curve[curve].lane == lane && i < s->n; i++) {
			__s64 value = flow_series_value(s, i, curve);

			if (value == VALUE_NONE)
				continue;
			*has = true;
			*changes |= first != VALUE_NONE && value != first;
			first = value;
		}
	}
}

const char *panel_lack(const struct panel *p, const struct flow *flow)
{
	bool has = false, changes = false;

	if (!p->lane)
		return NULL;
	look_at(flow->series, p->lane, &has, &changes);
	if (!has)
		return "not known";
	return p->lane == LANE_LOSSES && !changes ? "nothing was lost or sent again" : NULL;
}

const struct panel_unit *panel_unit(const struct panel *p, const struct report *r,
				    const struct flow *flow)
{
	const struct panel_unit *unit = p->units;
	double largest;

	if (!unit)
		return NULL;
	largest = p->lane ? flow_series_largest(flow->series, p->lane) : largest_share(&r->shares);
	while (unit[1].name && largest < unit->size)
		unit++;
	return unit;
}
