// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "cli/err.h"

void rate_shares_init(struct rate_shares *r, const struct flows *flows)
{
	memset(r, 0, sizeof(*r));
	r->start_ns = flows->start_ns;
	r->interval_ns = (flows->end_ns - flows->start_ns) / RATE_INTERVALS + 1;
	r->share = mem_new(flows->n, sizeof(*r->share));
	r->n_flows = flows->n;
	for (unsigned int i = 0; i < flows->n; i++)
		if (flows->flow[i]->series)
			r->share[i].bytes = mem_new(RATE_INTERVALS, sizeof(*r->share[i].bytes));
}

static int interval_of(const struct rate_shares *r, __u64 time_ns)
{
	__u64 interval = time_ns > r->start_ns ? (time_ns - r->start_ns) / r->interval_ns : 0;

	return interval < RATE_INTERVALS ? interval : RATE_INTERVALS - 1;
}

/* Closes a flow's interval, whose bytes are known. until_end: was the flow there until its end? */
static void close_interval(struct rate_shares *r, struct share *share, bool until_end)
{
	double bytes = share->now_bytes;

	r->total[share->now] += bytes;
	if (share->bytes)
		share->bytes[share->now] = bytes;
	if (share->whole && until_end) {
		r->sum[share->now] += bytes;
		r->squares[share->now] += bytes * bytes;
		r->whole[share->now]++;
	}
	share->now_bytes = 0;
}

void rate_shares_note(struct rate_shares *r, const struct flow *flow, const struct bbr_event *e)
{
	struct share *share = &r->share[flow->number];
	int until = interval_of(r, e->time_ns);
	double bytes, ns;

	if (!flow_sends(flow))
		return;
	if (!share->time_ns) {
		share->time_ns = e->time_ns;
		share->acked = e->bytes_acked;
		share->now = until;
		share->whole = e->time_ns == r->start_ns + until * r->interval_ns;
		return;
	}
	if (e->time_ns < share->time_ns || e->bytes_acked < share->acked)
		return;
	bytes = e->bytes_acked - share->acked;
	ns = e->time_ns - share->time_ns;
	while (share->now < until) {
		__u64 end = r->start_ns + (share->now + 1) * r->interval_ns;

		share->now_bytes += bytes * (end - share->time_ns) / ns;
		bytes -= bytes * (end - share->time_ns) / ns;
		ns -= end - share->time_ns;
		share->time_ns = end;
		close_interval(r, share, true);
		share->now++;
		share->whole = true;
	}
	share->now_bytes += bytes;
	share->time_ns = e->time_ns;
	share->acked = e->bytes_acked;
}

void rate_shares_note_drops(struct rate_shares *r, __u64 time_ns, __u64 drops)
{
	r->drops[interval_of(r, time_ns)] += drops;
}

void rate_shares_note_unwatched(struct rate_shares *r, __u64 from_ns, __u64 until_ns)
{
	if (from_ns < r->start_ns)
		from_ns = r->start_ns;
	while (from_ns < until_ns) {
		int interval = interval_of(r, from_ns);
		__u64 end = r->start_ns + (interval + 1) * r->interval_ns;

		if (end > until_ns || interval == RATE_INTERVALS - 1)
			end = until_ns;
		r->unwatched_ns[interval] += end - from_ns;
		from_ns = end;
	}
}

void rate_shares_finish(struct rate_shares *r)
{
	for (unsigned int i = 0; i < r->n_flows; i++)
		if (r->share[i].time_ns)
			close_interval(r, &r->share[i], false);
}

void rate_shares_free(struct rate_shares *r)
{
	for (unsigned int i = 0; i < r->n_flows; i++)
		free(r->share[i].bytes);
	free(r->share);
}

static double jain(double sum, double squares, unsigned int n)
{
	return squares > 0 ? sum * sum / (n * squares) : NAN;
}

double rate_shares_jain(const struct rate_shares *r, int interval)
{
	return jain(r->sum[interval], r->squares[interval], r->whole[interval]);
}

double flows_jain(const struct flows *flows)
{
	double sum = 0, squares = 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < flows->n; i++) {
		double bps = flow_mean_bps(flows->flow[i]);

		if (!flow_sends(flows->flow[i]))
			continue;
		n++;
		sum += bps;
		squares += bps * bps;
	}
	return jain(sum, squares, n);
}
