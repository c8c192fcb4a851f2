// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metric.h"

#define US_PER_S 1e6
#define N(array) (sizeof(array) / sizeof((array)[0]))

/* A time below one tick of the kernel is not known. */
static bool get_goodput(const struct row *row, double *value, double *of)
{
	(void)of;
	if (!row->busy_us || !row->acked)
		return false;
	*value = 8.0 * row->acked * US_PER_S / row->busy_us;
	return true;
}

static __u64 busy_clock(const struct row *row)
{
	return row->busy_us;
}

/* A part's time would begin in the middle of a connection. */
static bool get_first(const struct row *row, int which, double *value)
{
	*value = row->first_us[which];
	return row->first_us[which] && !row->continued;
}

static bool get_first_16k(const struct row *row, double *value, double *of)
{
	(void)of;
	return get_first(row, 0, value);
}

static bool get_first_64k(const struct row *row, double *value, double *of)
{
	(void)of;
	return get_first(row, 1, value);
}

static bool get_first_1m(const struct row *row, double *value, double *of)
{
	(void)of;
	return get_first(row, 2, value);
}

static bool get_rtt_min(const struct row *row, double *value, double *of)
{
	(void)of;
	*value = row->rtt_min_us;
	return row->rtts;
}

static bool get_rtt_mean(const struct row *row, double *value, double *of)
{
	(void)of;
	*value = row->rtt_mean_us;
	return row->rtts;
}

static bool get_rtt_p95(const struct row *row, double *value, double *of)
{
	(void)of;
	*value = row->rtt_above_p95_us;
	return row->rtts;
}

static bool get_retransmitted(const struct row *row, double *value, double *of)
{
	*value = row->retransmitted;
	*of = row->sent;
	return row->sent;
}

static bool get_timeouts(const struct row *row, double *value, double *of)
{
	(void)of;
	*value = row->timeouts;
	return true;
}

/* A part that ended at a seam says nothing about how the connection ended. */
static bool get_failed(const struct row *row, double *value, double *of)
{
	(void)of;
	*value = row->end == EXPERIMENT_RESET || row->end == EXPERIMENT_TIMED_OUT;
	return row->end != EXPERIMENT_SEAM;
}

static const struct quantity goodput = { "goodput", METRIC_BPS, get_goodput, busy_clock };
static const struct quantity first_16k = { "first_16k", METRIC_US, get_first_16k, NULL };
static const struct quantity first_64k = { "first_64k", METRIC_US, get_first_64k, NULL };
static const struct quantity first_1m = { "first_1m", METRIC_US, get_first_1m, NULL };
static const struct quantity rtt_min = { "rtt_min", METRIC_US, get_rtt_min, NULL };
static const struct quantity rtt_mean = { "rtt_mean", METRIC_US, get_rtt_mean, NULL };
static const struct quantity rtt_p95 = { "rtt_p95", METRIC_US, get_rtt_p95, NULL };
static const struct quantity retransmitted = { "retransmitted", METRIC_SHARE, get_retransmitted,
					       NULL };
static const struct quantity timeouts = { "timeouts", METRIC_COUNT, get_timeouts, NULL };
static const struct quantity failed = { "failed", METRIC_SHARE, get_failed, NULL };

const struct quantity *const quantities[] = {
	&goodput, &first_16k, &first_64k, &first_1m, &rtt_min, &rtt_mean, &rtt_p95,
};
const int n_quantities = N(quantities);

/* clang-format off */
const struct metric metrics[] = {
	{ "goodput_p10", "goodput, p10", &goodput, 0.10, true, true },
	{ "goodput_p50", "goodput, p50", &goodput, 0.50, true, true },
	{ "first_16k_p50", "first 16 KB, p50", &first_16k, 0.50, false, false },
	{ "first_16k_p95", "first 16 KB, p95", &first_16k, 0.95, false, false },
	{ "first_64k_p50", "first 64 KB, p50", &first_64k, 0.50, false, false },
	{ "first_64k_p95", "first 64 KB, p95", &first_64k, 0.95, false, false },
	{ "first_1m_p50", "first 1 MB, p50", &first_1m, 0.50, false, false },
	{ "first_1m_p95", "first 1 MB, p95", &first_1m, 0.95, false, false },
	{ "rtt_min", "minimum RTT, p50", &rtt_min, 0.50, false, false },
	{ "rtt_mean", "mean RTT, p50", &rtt_mean, 0.50, false, false },
	{ "rtt_p95", "RTT p95 above minimum", &rtt_p95, METRIC_MEAN, false, true },
	{ "retransmitted", "retransmitted bytes", &retransmitted, METRIC_MEAN, false, true },
	{ "timeouts", "timeouts per connection", &timeouts, METRIC_MEAN, false, true },
	{ "failed", "reset or timed out", &failed, METRIC_MEAN, false, true },
};
/* clang-format on */
const int n_metrics = N(metrics);

const struct metric *metric_find(const char *name, size_t len)
{
	for (int i = 0; i < n_metrics; i++)
		if (!strncmp(metrics[i].name, name, len) && !metrics[i].name[len])
			return &metrics[i];
	return NULL;
}

const struct size_class size_classes[SIZE_CLASSES] = {
	{ "below_16k", "below 16 KB", 0 },     { "16k", "16 to 64 KB", 16384 },
	{ "64k", "64 KB to 1 MB", 65536 },     { "1m", "1 to 10 MB", 1048576 },
	{ "10m", "10 MB and more", 10485760 },
};

int size_class_of(const struct row *row)
{
	int i = SIZE_CLASSES - 1;

	while (row->acked < size_classes[i].from)
		i--;
	return i;
}

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
