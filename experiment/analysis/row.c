// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "cli/err.h"
#include "row.h"

#define US_PER_S 1000000ull
#define TRIES 1000 /* an update takes less than a microsecond, but may be preempted */

/* Like a reader of the kernel's seqcount. */
bool outcome_read(const struct experiment_outcome *place, struct experiment_outcome *to)
{
	for (int i = 0; i < TRIES; i++) {
		__u32 version = __atomic_load_n(&place->version, __ATOMIC_ACQUIRE);

		if (version & 1)
			continue;
		memcpy(to, place, sizeof(*to));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&place->version, __ATOMIC_RELAXED) == version)
			return true;
	}
	return false;
}

static __u64 ticks_to_us(const struct experiment *e, __u32 ticks)
{
	return e->hz ? ticks * US_PER_S / e->hz : 0;
}

/* The quantile p of the histogram, as if a bucket's round trips were spread over it evenly. */
static __u32 histogram_quantile(const __u16 bucket[EXPERIMENT_RTT_BUCKETS], double p)
{
	double rank, before = 0;
	__u64 total = 0;

	for (__u32 i = 0; i < EXPERIMENT_RTT_BUCKETS; i++)
		total += bucket[i];
	rank = p * total;
	for (__u32 i = 0; i < EXPERIMENT_RTT_BUCKETS; i++) {
		__u32 low = experiment_bucket_us(i);

		if (bucket[i] && before + bucket[i] >= rank) {
			if (i == EXPERIMENT_RTT_BUCKETS - 1)
				return low;
			return low +
			       (experiment_bucket_us(i + 1) - low) * (rank - before) / bucket[i];
		}
		before += bucket[i];
	}
	return 0;
}

void row_from_outcome(struct row *row, const struct experiment *e,
		      const struct experiment_outcome *outcome)
{
	*row = (struct row){
		.number = outcome->number,
		.connection = outcome->connection,
		.begin_ns = outcome->begin > e->started ? outcome->begin - e->started : 0,
		.last_ns = outcome->last > e->started ? outcome->last - e->started : 0,
		.acked = outcome->acked,
		.sent = outcome->sent,
		.retransmitted = outcome->retransmitted,
		.busy_us = ticks_to_us(e, outcome->busy_ticks),
		.rwnd_us = ticks_to_us(e, outcome->rwnd_ticks),
		.sndbuf_us = ticks_to_us(e, outcome->sndbuf_ticks),
		.block = outcome->block,
		.netns = outcome->netns,
		.timeouts = outcome->timeouts,
		.rport = outcome->rport,
		.lport = outcome->lport,
		.arm = outcome->arm,
		.end = outcome->end,
		.continued = outcome->continued,
		.rtts = outcome->rtts,
	};
	/* Clocks of two CPUs differ a little, and a retransmission counts even if sending it fails. */
	if (row->last_ns < row->begin_ns)
		row->last_ns = row->begin_ns;
	if (row->retransmitted > row->sent)
		row->retransmitted = row->sent;
	memcpy(row->raddr, outcome->raddr, sizeof(row->raddr));
	memcpy(row->laddr, outcome->laddr, sizeof(row->laddr));
	memcpy(row->first_us, outcome->first_us, sizeof(row->first_us));
	if (!row->rtts)
		return;
	row->rtt_min_us = outcome->rtt_min_us;
	row->rtt_mean_us = outcome->rtt_sum_us / outcome->rtts;
	row->rtt_above_p50_us = histogram_quantile(outcome->rtt_above, 0.5);
	row->rtt_above_p95_us = histogram_quantile(outcome->rtt_above, 0.95);
}

void rows_add(struct rows *rows, const struct row *row)
{
	MEM_ADD(rows->at, rows->n) = *row;
}

void rows_free(struct rows *rows)
{
	free(rows->at);
	memset(rows, 0, sizeof(*rows));
}

struct keyed {
	__u32 prefix[4];
	size_t row;
};

static int by_prefix(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order = memcmp(x->prefix, y->prefix, sizeof(x->prefix));

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

struct rows_units rows_find_units(struct rows *rows, const struct experiment *e)
{
	struct rows_units units = { .by = ROWS_BY_PREFIX, .of = e };
	struct keyed *keyed AUTO_FREE = mem_new(rows->n, sizeof(*keyed));
	__u32 mask[4];

	for (size_t i = 0; i < rows->n; i++) {
		const __u32 *addr = rows->at[i].raddr;

		/* IPv4 is ::ffff:a.b.c.d, and the length of its prefix has 96 bits more. */
		prefix_mask(mask, address_is_v4(addr) ? e->prefix4 : e->prefix6);
		for (int k = 0; k < 4; k++)
			keyed[i].prefix[k] = addr[k] & mask[k];
		keyed[i].row = i;
	}
	qsort(keyed, rows->n, sizeof(*keyed), by_prefix);
	for (size_t i = 0; i < rows->n; i++) {
		if (!i || memcmp(keyed[i].prefix, keyed[i - 1].prefix, sizeof(keyed->prefix)))
			units.prefixes++;
		rows->at[keyed[i].row].unit = units.prefixes - 1;
	}
	if (e->design == EXPERIMENT_SWITCHBACK)
		units.by = ROWS_BY_BLOCK;
	else if (e->unit != EXPERIMENT_BY_PREFIX && units.prefixes < EXPERIMENT_CLUSTERS)
		units.by = ROWS_BY_CONNECTION;
	for (size_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->at[i];

		if (units.by != ROWS_BY_PREFIX)
			row->unit = units.by == ROWS_BY_BLOCK ? row->block : i;
		if (row->unit >= units.n)
			units.n = row->unit + 1;
	}
	return units;
}

/* ---- metrics */

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
		*value = row->busy_us ? 8e6 * row->acked / row->busy_us : 0;
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

/* A rate or a time is in the largest unit that is not above it, with three digits. */
const char *metric_text(enum metric_unit unit, enum metric_form form, double value)
{
	static char texts[METRIC_TEXTS][METRIC_TEXT_LEN];
	static unsigned int next;
	char *text = texts[next++ % METRIC_TEXTS];
	const char *sign = form == METRIC_DIFFERENCE && value >= 0 ? "+" : "";
	const struct step *step = unit == METRIC_BPS ? rates : times;

	if (unit == METRIC_SHARE) {
		snprintf(text, METRIC_TEXT_LEN, "%s%.3g%s", sign, value * 100,
			 form == METRIC_VALUE ? "%" : "pp");
		return text;
	}
	if (unit == METRIC_COUNT) {
		snprintf(text, METRIC_TEXT_LEN, "%s%.3g", sign, value);
		return text;
	}
	while (step[1].unit && fabs(value) < step->from * 0.9995)
		step++;
	value /= step->from;
	snprintf(text, METRIC_TEXT_LEN, "%s%.*f%s", sign,
		 fabs(value) < 9.995 ? 2 :
		 fabs(value) < 99.95 ? 1 :
				       0,
		 value, step->unit);
	return text;
}
