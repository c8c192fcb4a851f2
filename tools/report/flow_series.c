// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "flow_series.h"

const char *const flow_series_names[N_SERIES] = {
#define X(name) #name,
	FLOW_SERIES(X)
#undef X
};

static __s64 value_if(bool has, __u64 value)
{
	return has && value <= INT64_MAX ? (__s64)value : VALUE_NONE;
}

/* 64 bits hold it for any bw up to 10 Tbit/s and any min_rtt up to a minute. */
static __s64 bdp_milli(const struct bbr_event *e)
{
	if (!event_has_state(e) || !e->bw || e->min_rtt_us == BBR_RTT_NONE)
		return VALUE_NONE;
	return (double)e->bw * e->min_rtt_us * 1000 / (1 << 24);
}

static int policer_of(const struct bbr_event *e)
{
	if (e->flags & BBR_F_LT_USE_BW)
		return 2;
	return !!(e->flags & BBR_F_LT_SAMPLING);
}

static void fill(struct flow_row *row, const struct bbr_event *e)
{
	bool has_rate = event_has_rate(e), has_state = event_has_state(e);

	row->time_ns = e->time_ns;
	row->value[SERIES_delivery_rate_bps] =
		value_if(has_rate, has_rate ? event_delivery_bps(e) : 0);
	row->value[SERIES_app_limited] = value_if(has_rate, !!(e->flags & BBR_F_APP_LIMITED));
	row->value[SERIES_bw_bps] = value_if(has_state, event_bps(e, e->bw));
	row->value[SERIES_pacing_rate_bps] =
		value_if(e->pacing_rate < EVENT_UNLIMITED / 16, e->pacing_rate * 8);
	row->value[SERIES_rtt_us] = value_if(e->rtt_us != BBR_RTT_NONE, e->rtt_us);
	row->value[SERIES_min_rtt_us] =
		value_if(has_state && e->min_rtt_us != BBR_RTT_NONE, e->min_rtt_us);
	row->value[SERIES_srtt_us] = value_if(e->srtt_us, e->srtt_us);
	/* When a connection ends the stack may have cleared one of the counts that inflight is made of. */
	row->value[SERIES_inflight] = value_if((__s32)e->inflight >= 0, e->inflight);
	row->value[SERIES_bdp_milli] = bdp_milli(e);
	row->value[SERIES_cwnd] = e->cwnd;
	row->value[SERIES_lost] = e->lost;
	row->value[SERIES_bytes_retrans] = value_if(true, e->bytes_retrans);
	row->value[SERIES_mode] = value_if(has_state && e->mode < BBR_MODES, e->mode);
	row->value[SERIES_ca_state] = e->ca_state;
	row->value[SERIES_policer] = value_if(has_state, policer_of(e));
}

/* Of the rows of one interval, marks those with the lowest and the highest value of a series. */
static void mark_extremes(const struct flow_row *rows, size_t n, int series, bool *keep)
{
	size_t lowest = n, highest = n;

	for (size_t i = 0; i < n; i++) {
		__s64 value = rows[i].value[series];

		if (value == VALUE_NONE)
			continue;
		if (lowest == n || value < rows[lowest].value[series])
			lowest = i;
		if (highest == n || value > rows[highest].value[series])
			highest = i;
	}
	if (lowest < n)
		keep[lowest] = keep[highest] = true;
}

/* Moves what is kept of an interval's rows to `to`, which is not behind them. Returns how many these are. */
static size_t thin_interval(struct flow_row *to, const struct flow_row *rows, size_t n, bool *keep)
{
	size_t kept = 0;

	memset(keep, 0, n * sizeof(*keep));
	keep[0] = keep[n - 1] = true;
	for (int series = 0; series < N_SERIES; series++)
		mark_extremes(rows, n, series, keep);
	for (size_t i = 0; i < n; i++)
		if (keep[i])
			to[kept++] = rows[i];
	return kept;
}

static void thin(struct flow_series *s, bool *keep)
{
	__u64 start = s->rows[0].time_ns;
	size_t kept = 0, from = 0;

	while (from < s->n) {
		__u64 interval = (s->rows[from].time_ns - start) / s->interval_ns;
		size_t to = from + 1;

		while (to < s->n && (s->rows[to].time_ns - start) / s->interval_ns == interval)
			to++;
		kept += thin_interval(s->rows + kept, s->rows + from, to - from, keep);
		from = to;
	}
	s->n = kept;
}

/*
 * Thins what has come since the last time as well; if that is not enough, with longer intervals, each of two
 * of those before.
 */
static bool make_room_by_thinning(struct flow_series *s)
{
	bool *keep = malloc(s->n * sizeof(*keep));
	__u64 span = s->rows[s->n - 1].time_ns - s->rows[0].time_ns;

	if (!keep)
		return false;
	if (!s->interval_ns)
		s->interval_ns = span / s->max + 1;
	thin(s, keep);
	while (s->n > s->max / 4 * 3 && s->interval_ns <= span) {
		s->interval_ns *= 2;
		thin(s, keep);
	}
	free(keep);
	return true;
}

static bool make_room(struct flow_series *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct flow_row *grown;

	if (s->n < s->room)
		return true;
	if (s->n == s->max)
		return make_room_by_thinning(s);
	if (room > s->max)
		room = s->max;
	grown = realloc(s->rows, room * sizeof(*grown));
	if (!grown)
		return false;
	s->rows = grown;
	s->room = room;
	return true;
}

bool flow_series_add(struct flow_series *s, const struct bbr_event *e)
{
	struct flow_row *row;

	if (!make_room(s))
		return false;
	row = &s->rows[s->n++];
	fill(row, e);
	/* Events of one socket come in order; whoever wrote others shall not get us out of step. */
	if (row > s->rows && row->time_ns < row[-1].time_ns)
		row->time_ns = row[-1].time_ns;
	return true;
}

void flow_series_finish(struct flow_series *s)
{
	bool *keep = s->interval_ns ? malloc(s->n * sizeof(*keep)) : NULL;

	if (keep)
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

/* What 99.5 % of a series are not above. */
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

/* Of the samples, or by the time for which a value was in force. */
static double usual_top_of(const struct flow_series *s, int series, bool by_time,
			   struct weighted *list)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		__u64 end = i + 1 < s->n ? s->rows[i + 1].time_ns : s->rows[i].time_ns;

		if (s->rows[i].value[series] == VALUE_NONE)
			continue;
		list[n].value = s->rows[i].value[series];
		list[n++].weight = by_time ? end - s->rows[i].time_ns : 1;
	}
	return usual_top(list, n);
}

static double highest_of(const struct flow_series *s, int series)
{
	__s64 highest = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].value[series] > highest)
			highest = s->rows[i].value[series];
	return highest;
}

double flow_series_rate_top(const struct flow_series *s)
{
	struct weighted *list = malloc(s->n * sizeof(*list));
	double usual, highest;

	if (!list)
		return 0;
	usual = fmax(usual_top_of(s, SERIES_delivery_rate_bps, false, list),
		     usual_top_of(s, SERIES_bw_bps, true, list));
	free(list);
	highest = fmax(highest_of(s, SERIES_pacing_rate_bps),
		       fmax(highest_of(s, SERIES_delivery_rate_bps), highest_of(s, SERIES_bw_bps)));
	/* STARTUP's gain is 2.9. */
	return highest > 4 * usual ? 1.25 * usual : 0;
}

void flow_series_free(struct flow_series *s)
{
	free(s->rows);
	free(s);
}
