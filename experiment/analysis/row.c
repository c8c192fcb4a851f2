// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "cli/err.h"
#include "row.h"

#define US_PER_S 1000000ull
#define TRIES 1000 /* an update takes less than a microsecond, but may be preempted */

/* Copies it like a reader of the kernel's seqcount. */
static bool copy(const struct experiment_outcome *place, struct experiment_outcome *to)
{
	__u32 version = __atomic_load_n(&place->version, __ATOMIC_ACQUIRE);

	if (version & 1)
		return false;
	memcpy(to, place, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&place->version, __ATOMIC_RELAXED) == version;
}

enum outcome_state outcome_read(const struct experiment_outcome *ring, __u32 places, __u64 number,
				struct experiment_outcome *to)
{
	const struct experiment_outcome *place = &ring[(number - 1) & (places - 1)];

	for (int i = 0; i < TRIES; i++) {
		if (!copy(place, to))
			continue;
		if (to->number == number)
			return OUTCOME_READ;
		return to->number > number ? OUTCOME_OVERWRITTEN : OUTCOME_NOT_YET;
	}
	return OUTCOME_TORN;
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
	units.n = units.prefixes;
	if (e->design == EXPERIMENT_SWITCHBACK) {
		units.by = ROWS_BY_BLOCK;
		units.n = 0;
		for (size_t i = 0; i < rows->n; i++) {
			rows->at[i].unit = rows->at[i].block;
			if (rows->at[i].block >= units.n)
				units.n = rows->at[i].block + 1;
		}
	} else if (e->unit != EXPERIMENT_BY_PREFIX && units.prefixes < EXPERIMENT_CLUSTERS) {
		units.by = ROWS_BY_CONNECTION;
		units.n = rows->n;
		for (size_t i = 0; i < rows->n; i++)
			rows->at[i].unit = i;
	}
	return units;
}
