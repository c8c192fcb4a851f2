// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "flow_series.h"
#include "kernel/clock.h"
#include "report.h"

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
