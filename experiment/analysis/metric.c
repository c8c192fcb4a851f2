// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metric.h"

#define US_PER_S 1e6

/* Those before RETRANSMITTED have a curve. */
enum {
	GOODPUT,
	FIRST_16K,
	FIRST_64K,
	FIRST_1M,
	RTT_MIN,
	RTT_MEAN,
	RTT_P95,
	RETRANSMITTED,
	TIMEOUTS,
	FAILED,
};

const struct quantity quantities[] = {
	[GOODPUT] = { "goodput", METRIC_BPS, .has_clock = true },
	[FIRST_16K] = { "first_16k", METRIC_US },
	[FIRST_64K] = { "first_64k", METRIC_US },
	[FIRST_1M] = { "first_1m", METRIC_US },
	[RTT_MIN] = { "rtt_min", METRIC_US },
	[RTT_MEAN] = { "rtt_mean", METRIC_US },
	[RTT_P95] = { "rtt_p95", METRIC_US },
	[RETRANSMITTED] = { "retransmitted", METRIC_SHARE },
	[TIMEOUTS] = { "timeouts", METRIC_COUNT },
	[FAILED] = { "failed", METRIC_SHARE },
};
const int n_quantities = RETRANSMITTED;

bool quantity_get(const struct quantity *q, const struct row *row, double *value, double *of)
{
	const __u32 rtt_us[] = { row->rtt_min_us, row->rtt_mean_us, row->rtt_above_p95_us };

	switch (q - quantities) {
	case GOODPUT: /* a time below one tick of the kernel is not known */
		*value = row->busy_us ? 8.0 * row->acked * US_PER_S / row->busy_us : 0;
		return row->busy_us && row->acked;
	case FIRST_16K:
	case FIRST_64K:
	case FIRST_1M: /* a part's time would begin in the middle of a connection */
		*value = row->first_us[q - quantities - FIRST_16K];
		return *value && !row->continued;
	case RTT_MIN:
	case RTT_MEAN:
	case RTT_P95:
		*value = rtt_us[q - quantities - RTT_MIN];
		return row->rtts;
	case RETRANSMITTED:
		*value = row->retransmitted;
		*of = row->sent;
		return row->sent;
	case TIMEOUTS:
		*value = row->timeouts;
		return true;
	default: /* a part that ended at a seam says nothing about how the connection ended */
		*value = row->end == EXPERIMENT_RESET || row->end == EXPERIMENT_TIMED_OUT;
		return row->end != EXPERIMENT_SEAM;
	}
}

/* clang-format off */
const struct metric metrics[] = {
	{ "goodput_p10", "goodput, p10", &quantities[GOODPUT], 0.10, true, true },
	{ "goodput_p50", "goodput, p50", &quantities[GOODPUT], 0.50, true, true },
	{ "first_16k_p50", "first 16 KB, p50", &quantities[FIRST_16K], 0.50, false, false },
	{ "first_16k_p95", "first 16 KB, p95", &quantities[FIRST_16K], 0.95, false, false },
	{ "first_64k_p50", "first 64 KB, p50", &quantities[FIRST_64K], 0.50, false, false },
	{ "first_64k_p95", "first 64 KB, p95", &quantities[FIRST_64K], 0.95, false, false },
	{ "first_1m_p50", "first 1 MB, p50", &quantities[FIRST_1M], 0.50, false, false },
	{ "first_1m_p95", "first 1 MB, p95", &quantities[FIRST_1M], 0.95, false, false },
	{ "rtt_min", "minimum RTT, p50", &quantities[RTT_MIN], 0.50, false, false },
	{ "rtt_mean", "mean RTT, p50", &quantities[RTT_MEAN], 0.50, false, false },
	{ "rtt_p95", "RTT p95 above minimum", &quantities[RTT_P95], METRIC_MEAN, false, true },
	{ "retransmitted", "retransmitted bytes", &quantities[RETRANSMITTED], METRIC_MEAN, false, true },
	{ "timeouts", "timeouts per connection", &quantities[TIMEOUTS], METRIC_MEAN, false, true },
	{ "failed", "reset or timed out", &quantities[FAILED], METRIC_MEAN, false, true },
};
/* clang-format on */
const int n_metrics = sizeof(metrics) / sizeof(metrics[0]);

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
	bool has_sign = value >= 0;

	buf[0] = '+';
	metric_format_amount(buf + has_sign, size - has_sign, unit, value);
}
