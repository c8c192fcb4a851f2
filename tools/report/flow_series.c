// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "event/event.h"
#include "event/field.h"
#include "flow.h"
#include "report.h"

#define N(list) (sizeof(list) / sizeof((list)[0]))

/* The first ones on a light page are Okabe and Ito's, which colour-blind people can tell apart. */
const struct colour_look colours[COLOURS] = {
	[COLOUR_YELLOW] = { "yellow", "#e69f00", "#f2b632" },
	[COLOUR_PINK] = { "pink", "#cc79a7", "#e39bc5" },
	[COLOUR_BLUE] = { "blue", "#0072b2", "#4aa8e0" },
	[COLOUR_GREEN] = { "green", "#009e73", "#2fc89a" },
	[COLOUR_SKY] = { "sky", "#56b4e9", "#9ad4f7" },
	[COLOUR_LEMON] = { "lemon", "#f0e442", "#f7ee7a" },
	[COLOUR_VIOLET] = { "violet", "#7b52c7", "#a88be6" },
	[COLOUR_RED] = { "red", "#d55e00", "#ff8243" },
	[COLOUR_BROWN] = { "brown", "#8c5a2b", "#b98555" },
	[COLOUR_BLACK] = { "black", "#222222", "#f4f4f4" },
	[COLOUR_LIME] = { "lime", "#8bc34a", "#b4e07a" },
	[COLOUR_TEAL] = { "teal", "#00606b", "#3f98a3" },
	[COLOUR_ROSE] = { "rose", "#ff9da7", "#ffc4ca" },
	[COLOUR_MAROON] = { "maroon", "#7b1e3b", "#b3506f" },
	[COLOUR_OLIVE] = { "olive", "#7a7a00", "#a8a83a" },
	[COLOUR_NAVY] = { "navy", "#23316b", "#6376c4" },
	[COLOUR_GREY] = { "grey", "#8a8f98", "#8a8f98" },
	[COLOUR_PALE] = { "pale", "#c9ced6", "#4a515c" },
};

static __s64 value_if(bool has, __u64 value)
{
	return has && value <= INT64_MAX ? (__s64)value : VALUE_NONE;
}

static __s64 pacing_of(const struct bbr_event *e)
{
	double bps = event_pacing_bps(e);

	return bps < 0x1p63 ? (__s64)bps : VALUE_NONE; /* NAN is not less */
}

/* 1 if the delivery rate is application-limited. */
static __s64 app_limited_of(const struct bbr_event *e)
{
	return value_if(event_has_rate(e), !!(e->flags & BBR_F_APP_LIMITED));
}

static __s64 srtt_of(const struct bbr_event *e)
{
	return value_if(e->srtt_us, e->srtt_us);
}

/* When a connection ends, the stack may have cleared one of the counts that make up inflight. */
static __s64 inflight_of(const struct bbr_event *e)
{
	return value_if((__s32)e->inflight >= 0, e->inflight);
}

static __s64 bdp_milli_of(const struct bbr_event *e)
{
	return value_if(event_has_state(e) && e->bw && e->min_rtt_us != BBR_RTT_NONE,
			event_bdp_milli(e));
}

static __s64 mode_of(const struct bbr_event *e)
{
	return value_if(event_has_state(e), e->mode);
}

/*
 * The curves that every flow has. Without `value`, a curve is the field with this key. In each lane
 * the algorithm's curves come after these.
 */
static const struct curve common[] = {
	{ "pacing_rate_bps", "pacing rate", LANE_RATE, LOOK_STEP, .colour = COLOUR_PINK,
	  .value = pacing_of, .may_be_far_off = true },
	{ "delivery_rate_bps", "delivery rate", LANE_RATE, LOOK_POINTS, .colour = COLOUR_BLUE,
	  .split_by = "app_limited", .split_name = "app-limited" },
	{ "app_limited", .value = app_limited_of },
	{ "rtt_us", "RTT", LANE_RTT, LOOK_POINTS, .colour = COLOUR_BLUE },
	{ "srtt_us", "srtt", LANE_RTT, LOOK_LINE, .colour = COLOUR_YELLOW, .value = srtt_of },
	{ "cwnd", "cwnd", LANE_INFLIGHT, LOOK_STEP, .colour = COLOUR_PINK },
	{ "inflight", "inflight", LANE_INFLIGHT, LOOK_LINE, .colour = COLOUR_BLUE,
	  .value = inflight_of },
	{ "bdp_milli", "BDP", LANE_INFLIGHT, LOOK_STEP, .colour = COLOUR_RED, .divisor = 1000,
	  .value = bdp_milli_of },
	{ "mode", "mode", LANE_STATE, LOOK_STATES, .value = mode_of },
	{ "ca_state", "recovery", LANE_STATE, LOOK_STATES, .n_states = N_CA_STATES,
	  .states = ca_state_names },
	{ "lost", "lost", LANE_LOSSES, LOOK_STEP, .colour = COLOUR_RED },
	{ "bytes_retrans", "retransmitted", LANE_LOSSES, LOOK_STEP, .colour = COLOUR_BLUE,
	  .is_bytes = true },
};

/* For the algorithm's own fields in a lane, one after the other. */
static const enum colour field_colours[] = { COLOUR_RED, COLOUR_GREEN, COLOUR_SKY, COLOUR_YELLOW };

static bool is_calm(const struct curve *c, unsigned int state)
{
	const struct field *f = c->field;

	if (!c->states) /* modes */
		return false;
	return f && f->calm ? !strcmp(field_name_of(f, state), f->calm) : !state;
}

static unsigned int coloured_before(const struct curve *c, unsigned int state)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < state; i++)
		n += !is_calm(c, i);
	return n;
}

static bool has_curve(const struct flow_series *s, const char *key)
{
	for (unsigned int i = 0; i < s->n_curves; i++)
		if (!strcmp(s->curve[i].key, key))
			return true;
	return false;
}

static void curves_init(struct flow_series *s, const struct algorithm *a)
{
	unsigned int fields[LANES] = { [LANE_INFLIGHT] = 1 }; /* BDP has the first colour */
	unsigned int coloured = 0;

	s->algorithm = a;
	s->curve = mem_new(N(common) + a->n_fields, sizeof(*s->curve));
	for (size_t i = 0; i < N(common); i++) {
		struct curve *curve = &s->curve[s->n_curves++];

		*curve = common[i];
		if (!curve->value)
			curve->field = field_find(a, curve->key);
		if (curve->value == mode_of)
			curve->n_states = a->n_modes;
	}
	for (const struct field *f = a->fields; f < a->fields + a->n_fields; f++) {
		if (!f->lane || has_curve(s, f->key))
			continue;
		s->curve[s->n_curves++] = (struct curve){
			.key = f->key,
			.name = f->curve ? f->curve : f->key,
			.lane = f->lane,
			.look = f->lane == LANE_STATE ? LOOK_STATES : LOOK_STEP,
			.colour = field_colours[fields[f->lane]++ % N(field_colours)],
			.n_states = f->n_names,
			.states = f->names,
			.field = f,
			.needs_state = true,
		};
	}
	for (struct curve *curve = s->curve; curve < s->curve + s->n_curves; curve++) {
		curve->coloured = coloured;
		coloured += coloured_before(curve, curve->n_states);
	}
}

/* The value of a curve in an event, or VALUE_NONE. */
static __s64 curve_value(const struct flow_series *s, unsigned int curve, const struct bbr_event *e)
{
	const struct curve *of = &s->curve[curve];
	__u64 value;

	if (of->value == mode_of && e->mode >= s->algorithm->n_modes)
		return VALUE_NONE;
	if (of->value)
		return of->value(e);
	if (of->needs_state && !event_has_state(e))
		return VALUE_NONE;
	return field_value(of->field, e, &value) ? value_if(true, value) : VALUE_NONE;
}

const char *curve_state_name(const struct flow_series *s, unsigned int curve, unsigned int state)
{
	const struct curve *of = &s->curve[curve];

	return of->states ? of->states[state] : s->algorithm->modes[state].name;
}

enum colour curve_state_colour(const struct flow_series *s, unsigned int curve, unsigned int state)
{
	const struct curve *of = &s->curve[curve];
	unsigned int n;

	if (state < of->n_states && is_calm(of, state))
		return COLOUR_PALE;
	n = of->coloured + coloured_before(of, state);
	return state < of->n_states && n < COLOUR_GREY ? n : COLOUR_GREY;
}

/* ---- values over time */

/* The cells of a row: its time, then the values. */
static size_t width_of(const struct flow_series *s)
{
	return 1 + s->n_curves;
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

	curves_init(s, a);
	/* Four times what an interval may keep. */
	least = 4 * (2 * s->n_curves + 2);
	s->max = max > least ? max : least;
	return s;
}

/* Each power of two has this many buckets: they tell 6 bits after a number's highest one. */
#define STEPS 64

static __u32 bucket_of(__u32 value)
{
	int shift;

	if (value < STEPS)
		return value;
	shift = 31 - __builtin_clz(value) - __builtin_ctz(STEPS);
	return shift * STEPS + (value >> shift);
}

/* The middle of a bucket. */
static __u32 value_of(__u32 bucket)
{
	int shift = bucket < 2 * STEPS ? 0 : bucket / STEPS - 1;

	return ((bucket - shift * STEPS) << shift) + (1u << shift) / 2;
}

__u32 flow_series_rtt(const struct flow_series *s, double percent)
{
	__u64 rank = ceil(s->n_rtts * percent / 100), seen = s->rtts[0];
	__u32 i = 0;

	while (seen < rank)
		seen += s->rtts[++i];
	return value_of(i);
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
	for (unsigned int curve = 0; curve < s->n_curves; curve++)
		mark_extremes(s, from, n, curve, keep);
	for (size_t i = 0; i < n; i++)
		if (keep[i])
			memmove(row_of(s, to + kept++), row_of(s, from + i),
				width_of(s) * sizeof(*s->rows));
	return kept;
}

static void thin(struct flow_series *s)
{
	bool *keep AUTO_FREE = mem_new(s->n, sizeof(*keep));
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
	__u64 span = flow_series_time_ns(s, s->n - 1) - flow_series_time_ns(s, 0);

	if (!s->interval_ns)
		s->interval_ns = span / s->max + 1;
	thin(s);
	while (s->n > s->max / 4 * 3 && s->interval_ns <= span) {
		s->interval_ns *= 2;
		thin(s);
	}
}

void flow_series_add(struct flow_series *s, const struct bbr_event *e)
{
	__s64 *row;

	if (e->rtt_us != BBR_RTT_NONE) {
		s->rtts[bucket_of(e->rtt_us)]++;
		s->n_rtts++;
	}
	if (s->n == s->max)
		make_room_by_thinning(s);
	s->rows = mem_grow(s->rows, s->n, width_of(s) * sizeof(*s->rows));
	row = row_of(s, s->n);
	row[0] = e->time_ns;
	for (unsigned int curve = 0; curve < s->n_curves; curve++)
		row[1 + curve] = curve_value(s, curve, e);
	/* Events of one socket come in order. If a file's do not, our rows still must. */
	if (s->n && e->time_ns < flow_series_time_ns(s, s->n - 1))
		row[0] = flow_series_time_ns(s, s->n - 1);
	s->n++;
}

void flow_series_finish(struct flow_series *s)
{
	if (s->interval_ns)
		thin(s);
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

/*
 * The value that 99.5 % of a series are not above. Samples count equally, other values by the time
 * for which they were in force.
 */
static double usual_top_of(const struct flow_series *s, unsigned int curve)
{
	struct weighted *list AUTO_FREE = mem_new(s->n, sizeof(*list));
	bool is_sampled = s->curve[curve].look == LOOK_POINTS;
	double total = 0, seen = 0;
	size_t n = 0, i;

	for (i = 0; i < s->n; i++) {
		__u64 begin = flow_series_time_ns(s, i);
		__u64 end = i + 1 < s->n ? flow_series_time_ns(s, i + 1) : begin;

		if (flow_series_value(s, i, curve) == VALUE_NONE)
			continue;
		list[n].value = flow_series_value(s, i, curve);
		list[n].weight = is_sampled ? 1 : end - begin;
		n++;
	}
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
	double usual = 0, highest = 0;

	for (unsigned int curve = 0; curve < s->n_curves; curve++) {
		if (s->curve[curve].lane != LANE_RATE)
			continue;
		highest = fmax(highest, highest_of(s, curve));
		if (!s->curve[curve].may_be_far_off)
			usual = fmax(usual, usual_top_of(s, curve));
	}
	/* The pacing gain with which a connection begins is 2.9. */
	return highest > 4 * usual ? 1.25 * usual : 0;
}

double flow_series_largest(const struct flow_series *s, enum field_lane lane)
{
	double largest = lane == LANE_RATE ? flow_series_rate_top(s) : 0;

	if (largest)
		return largest;
	for (unsigned int curve = 0; curve < s->n_curves; curve++)
		if (s->curve[curve].lane == lane && !s->curve[curve].may_be_far_off)
			largest = fmax(largest, highest_of(s, curve));
	return largest;
}

void flow_series_free(struct flow_series *s)
{
	free(s->curve);
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

const size_t n_panels = N(panels);

const char *panel_lack(const struct panel *p, const struct flow *flow)
{
	const struct flow_series *s = flow->series;
	bool has = false, changes = false;

	for (unsigned int curve = 0; p->lane && curve < s->n_curves; curve++) {
		__s64 first = VALUE_NONE;

		for (size_t i = 0; s->curve[curve].lane == p->lane && i < s->n; i++) {
			__s64 value = flow_series_value(s, i, curve);

			if (value == VALUE_NONE)
				continue;
			has = true;
			changes |= first != VALUE_NONE && value != first;
			first = value;
		}
	}
	if (!has)
		return p->lane ? "not known" : NULL;
	return p->lane == LANE_LOSSES && !changes ? "nothing was lost or sent again" : NULL;
}

const struct panel_unit *panel_unit(const struct panel *p, const struct report *r,
				    const struct flow *flow)
{
	const struct panel_unit *unit = p->units;
	double largest;

	if (!unit)
		return NULL;
	largest = p->lane ? flow_series_largest(flow->series, p->lane) :
			    rate_shares_top_bps(&r->shares);
	while (unit[1].name && largest < unit->size)
		unit++;
	return unit;
}
