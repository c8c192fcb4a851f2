// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "event/field.h"
#include "flow_series.h"
#include "cli/err.h"

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

#define N(list) (sizeof(list) / sizeof((list)[0]))

/* For the algorithm's own fields in a lane, one after the other. */
static const enum colour field_colours[] = { COLOUR_RED, COLOUR_GREEN, COLOUR_SKY, COLOUR_YELLOW };

static void add_common(struct curves *c)
{
	for (size_t i = 0; i < N(common); i++) {
		struct curve *curve = &c->curve[c->n++];

		*curve = common[i];
		if (!curve->value)
			curve->field = field_find(c->algorithm, curve->key);
		if (curve->value == mode_of)
			curve->n_states = c->algorithm->n_modes;
	}
}

static void add_field(struct curves *c, const struct field *f, unsigned int before)
{
	c->curve[c->n++] = (struct curve){
		.key = f->key,
		.name = f->curve ? f->curve : f->key,
		.lane = f->lane,
		.look = f->lane == LANE_STATE ? LOOK_STATES : LOOK_STEP,
		.colour = field_colours[before % N(field_colours)],
		.n_states = f->n_names,
		.states = f->names,
		.field = f,
		.needs_state = true,
	};
}

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

static void share_out_colours(struct curves *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->n; i++) {
		c->curve[i].coloured = n;
		n += coloured_before(&c->curve[i], c->curve[i].n_states);
	}
}

static bool has_curve(const struct curves *c, const char *key)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (!strcmp(c->curve[i].key, key))
			return true;
	return false;
}

void curves_init(struct curves *c, const struct algorithm *a)
{
	unsigned int fields[LANES] = { [LANE_INFLIGHT] = 1 }; /* BDP has the first colour */

	*c = (struct curves){ .algorithm = a };
	c->curve = mem_new(N(common) + a->n_fields, sizeof(*c->curve));
	add_common(c);
	for (int i = 0; i < a->n_fields; i++)
		if (a->fields[i].lane && !has_curve(c, a->fields[i].key))
			add_field(c, &a->fields[i], fields[a->fields[i].lane]++);
	share_out_colours(c);
}

void curves_free(struct curves *c)
{
	free(c->curve);
	c->curve = NULL;
	c->n = 0;
}

__s64 curve_value(const struct curves *c, unsigned int curve, const struct bbr_event *e)
{
	const struct curve *of = &c->curve[curve];
	__u64 value;

	if (of->value == mode_of && e->mode >= c->algorithm->n_modes)
		return VALUE_NONE;
	if (of->value)
		return of->value(e);
	if (of->needs_state && !event_has_state(e))
		return VALUE_NONE;
	return field_value(of->field, e, &value) ? value_if(true, value) : VALUE_NONE;
}

const char *curve_state_name(const struct curves *c, unsigned int curve, unsigned int state)
{
	const struct curve *of = &c->curve[curve];

	return of->states ? of->states[state] : c->algorithm->modes[state].name;
}

enum colour curve_state_colour(const struct curves *c, unsigned int curve, unsigned int state)
{
	const struct curve *of = &c->curve[curve];
	unsigned int n;

	if (state < of->n_states && is_calm(of, state))
		return COLOUR_PALE;
	n = of->coloured + coloured_before(of, state);
	return state < of->n_states && n < COLOUR_GREY ? n : COLOUR_GREY;
}
