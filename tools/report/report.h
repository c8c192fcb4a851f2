/* SPDX-License-Identifier: GPL-2.0-only */
/* What was read from a recording, for the code that draws it. */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdio.h>
#include <stddef.h>

#include "flow.h"
#include "stream/event_source.h"

struct report {
	const char *file; /* the recording */
	struct flows flows;
	struct rate_shares shares;
	struct flow **shown; /* those with series, by number */
	unsigned int n_shown;
	__u64 points; /* the most that a series has */
	struct watch_totals totals; /* of the whole recording */

	/* What only report.c needs, options first. */
	struct watch_config config;
	const char *out, *svg;
	__u64 flow; /* of the figure, counted from 1; 0: the largest */
	__u64 max_flows;
	struct recording_part part;
	struct event_source source;
	struct run_clocks clocks; /* the same in both readings */
	__u64 first_ns;
	/* In the second reading. */
	__u64 run; /* of the latest event */
	__u64 newest_ns;
	__u64 drops, unwatched_ns, totals_taken; /* until that event */
};

/* Writes all that the page shows, as JSON that may stand in a <script>. */
void report_write_json(FILE *out, const struct report *r);
/* Writes the page. */
void report_write_html(FILE *out, const struct report *r);
/* Draws a figure of one flow. */
void report_write_svg(FILE *out, const struct report *r, const struct flow *flow);

/* The plots of a report, from top to bottom. The page and the figure draw what is in this list. */
enum panel_kind {
	PANEL_SHARES, /* the rate of each flow */
	PANEL_JAIN, /* Jain's index of these */
	PANEL_CURVES, /* the curves of a lane */
	PANEL_STATES, /* the same, as strips of colour */
	PANEL_GROWTH, /* by how much the curves of a lane grew in each interval */
	PANEL_KINDS,
};

/* A list of units begins with the largest and ends with a name of NULL. */
struct panel_unit {
	const char *name;
	double size; /* in the unit of the curves */
};

struct panel {
	const char *key, *title;
	enum panel_kind kind;
	enum field_lane lane; /* of one flow; LANE_NONE: of all flows together */
	const struct panel_unit *units; /* NULL: it has none */
	bool is_low; /* on the page */
	bool is_only_on_page;
};

extern const struct panel panels[];
extern const size_t n_panels;

/*
 * The unit in which the largest value of the flow, or of all flows together, is a handy number.
 * NULL: the panel has none.
 */
const struct panel_unit *panel_unit(const struct panel *p, const struct report *r,
				    const struct flow *flow);

/* Why there is nothing to draw of this flow, in words; NULL: there is something. */
const char *panel_lack(const struct panel *p, const struct flow *flow);

#endif
