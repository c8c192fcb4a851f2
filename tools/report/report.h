/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was read from a recording, for the code that draws it.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdio.h>

#include "flow.h"
#include "rate_shares.h"
#include "stream/event_source.h"

struct report {
	const char *file; /* the recording */
	struct flows flows;
	struct rate_shares shares;
	struct flow **shown; /* those with series, by number */
	unsigned int n_shown;
	__u64 points; /* the most that a series has */
	struct watch_totals totals; /* of the whole recording */
};

/* Writes all that the page shows, as JSON that may stand in a <script>. */
void report_write_json(FILE *out, const struct report *r);
/* Writes the page. */
void report_write_html(FILE *out, const struct report *r);
/* Draws a figure of one flow. */
void report_write_svg(FILE *out, const struct report *r, const struct flow *flow);

#endif
