// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metric_text.h"

struct step {
	double from;
	const char *unit;
};

static const struct step rates[] = {
	{ 1e9, "Gbit/s" }, { 1e6, "Mbit/s" }, { 1e3, "kbit/s" }, { 1, "bit/s" }, {},
};
static const struct step times[] = { { 1e6, "s" }, { 1e3, "ms" }, { 1, "us" }, {} };

/* In the largest unit that is not above it, with three digits. */
static void format_steps(char *buf, size_t size, const struct step *step, double value)
{
	while (step[1].unit && fabs(value) < step->from * 0.9995)
		step++;
	value /= step->from;
	snprintf(buf, size, "%.*f%s",
		 fabs(value) < 9.995 ? 2 :
		 fabs(value) < 99.95 ? 1 :
				       0,
		 value, step->unit);
}

static void format(char *buf, size_t size, enum metric_unit unit, double value, const char *share)
{
	switch (unit) {
	case METRIC_BPS:
		format_steps(buf, size, rates, value);
		break;
	case METRIC_US:
		format_steps(buf, size, times, value);
		break;
	case METRIC_SHARE:
		snprintf(buf, size, "%.3g%s", value * 100, share);
		break;
	case METRIC_COUNT:
		snprintf(buf, size, "%.3g", value);
		break;
	}
}

void metric_format(char *buf, size_t size, enum metric_unit unit, double value)
{
	format(buf, size, unit, value, "%");
}

void metric_format_amount(char *buf, size_t size, enum metric_unit unit, double value)
{
	format(buf, size, unit, value, "pp");
}

void metric_format_difference(char *buf, size_t size, enum metric_unit unit, double value)
{
	if (value >= 0)
		snprintf(buf, size, "+");
	else
		buf[0] = 0;
	metric_format_amount(buf + strlen(buf), size - strlen(buf), unit, value);
}
