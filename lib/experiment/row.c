// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "row.h"

#define US_PER_S 1000000ull
#define NS_PER_US 1000u

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

bool rows_add(struct rows *rows, const struct row *row)
{
	if (rows->n == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 1024;
		struct row *grown = realloc(rows->at, room * sizeof(*grown));

		if (!grown)
			return false;
		rows->at = grown;
		rows->room = room;
	}
	rows->at[rows->n++] = *row;
	return true;
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

/*
 * Clears the bits of an address after the prefix. IPv4 is ::ffff:a.b.c.d, so its prefix has 96 bits
 * more.
 */
static void cut(__u32 to[4], const __u32 addr[4], const struct experiment *e)
{
	__u32 mask[4];

	prefix_mask(mask, address_is_v4(addr) ? e->prefix4 : e->prefix6);
	for (int i = 0; i < 4; i++)
		to[i] = addr[i] & mask[i];
}

static int by_prefix(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order = memcmp(x->prefix, y->prefix, sizeof(x->prefix));

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

bool rows_find_units(struct rows *rows, const struct experiment *e, struct rows_units *units)
{
	struct keyed *keyed = calloc(rows->n + 1, sizeof(*keyed));

	if (!keyed)
		return false;
	*units = (struct rows_units){};
	for (size_t i = 0; i < rows->n; i++) {
		cut(keyed[i].prefix, rows->at[i].raddr, e);
		keyed[i].row = i;
	}
	qsort(keyed, rows->n, sizeof(*keyed), by_prefix);
	for (size_t i = 0; i < rows->n; i++) {
		if (!i || memcmp(keyed[i].prefix, keyed[i - 1].prefix, sizeof(keyed->prefix)))
			units->prefixes++;
		rows->at[keyed[i].row].unit = units->prefixes - 1;
	}
	free(keyed);
	units->n = units->prefixes;
	units->by = ROWS_BY_PREFIX;
	if (e->design == EXPERIMENT_SWITCHBACK) {
		units->by = ROWS_BY_BLOCK;
		units->n = 0;
		for (size_t i = 0; i < rows->n; i++) {
			rows->at[i].unit = rows->at[i].block;
			if (rows->at[i].block >= units->n)
				units->n = rows->at[i].block + 1;
		}
	} else if (e->unit != EXPERIMENT_BY_PREFIX && units->prefixes < EXPERIMENT_CLUSTERS) {
		units->by = ROWS_BY_CONNECTION;
		units->n = rows->n;
		for (size_t i = 0; i < rows->n; i++)
			rows->at[i].unit = i;
	}
	return true;
}
