// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "event/field.h"
#include "field_metric.h"

/* 100 kbit/s to 100 Gbit/s. */
const struct om_bounds rate_bounds = {
	.n = 11,
	.le = { 12500, 125000, 625000, 1.25e6, 6.25e6, 1.25e7, 6.25e7, 1.25e8, 6.25e8, 1.25e9,
		1.25e10 },
};

static const struct om_bounds time_bounds = {
	.n = 11,
	.le = { 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10 },
};

static const struct om_bounds packet_bounds = {
	.n = 11,
	.le = { 4, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000 },
};

/* The unit of a metric, by the plot in which its field is drawn. */
static const struct {
	const char *of_key; /* how the key of such a field ends */
	const char *unit;
	double size; /* in the unit of field_value() */
	const struct om_bounds *bounds; /* NULL: the plot has no numbers, or they only grow */
} units[LANES] = {
	[LANE_RATE] = { "_bps", "bytes_per_second", 8, &rate_bounds },
	[LANE_RTT] = { "_us", "seconds", 1e6, &time_bounds },
	[LANE_INFLIGHT] = { "", "packets", 1, &packet_bounds },
};

const struct om_bounds *field_metric_bounds(const struct field *f)
{
	return field_is_own(f) ? units[f->lane].bounds : NULL;
}

const char *field_metric_name(char buf[FIELD_METRIC_LEN], const struct field *f)
{
	const char *unit = units[f->lane].unit, *of_key = units[f->lane].of_key;
	size_t len = strlen(f->key), end = strlen(of_key);

	if (len > end && !strcmp(f->key + len - end, of_key))
		len -= end;
	snprintf(buf, FIELD_METRIC_LEN, "bbr_%.*s_%s", (int)len, f->key, unit);
	/* A key may have "." and "-", a metric's name may not. */
	for (char *c = buf; (c = strpbrk(c, ".-"));)
		*c = '_';
	return unit;
}

bool field_metric_value(const struct field *f, const struct bbr_event *e, double *value)
{
	__u64 shown;

	/* A rate of 0 has not been measured yet. */
	if (!field_value(f, e, &shown) || (f->lane == LANE_RATE && !shown))
		return false;
	*value = shown / units[f->lane].size;
	return true;
}
