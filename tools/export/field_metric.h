/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fields of an algorithm's own part of an event as metrics: histograms of their values at the
 * ACKs that were sampled. A field has one if it is drawn in a plot of numbers.
 */
#ifndef TOOLS_FIELD_METRIC_H
#define TOOLS_FIELD_METRIC_H

#include "descriptor.h"
#include "openmetrics.h"

#define FIELD_METRIC_LEN 300 /* room for the longest key that a recording may have */

extern const struct om_bounds rate_bounds; /* bytes per second */

/* NULL: the field has no histogram. */
const struct om_bounds *field_metric_bounds(const struct field *f);
/* "bbr_bw_hi_bytes_per_second" of bw_hi_bps. Returns its unit. */
const char *field_metric_name(char buf[FIELD_METRIC_LEN], const struct field *f);
/* The value in that unit. False: not known. */
bool field_metric_value(const struct field *f, const struct bbr_event *e, double *value);

#endif
