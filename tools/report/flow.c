// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "event/field.h"
#include "flow.h"
#include "kernel/clock.h"
#include "cli/err.h"

/* A key with a conn consists of it and of the origin, so the recent flows need no hash. */
struct flow *flows_find(struct flows *f, const struct origin *origin, const struct bbr_event *e)
{
	struct flow **recent = &f->recent[e->conn % FLOWS_RECENT], *flow = *recent;
	struct conn_key key;

	if (e->conn && flow && flow->key.conn == e->conn && flow->key.origin == origin->id)
		return flow;
	key = conn_key_of(origin, e);
	flow = (struct flow *)conn_map_find(&f->by_key, &key); /* its first member */
	if (flow)
		*recent = flow;
	return flow;
}

static struct flow *add(struct flows *f, const struct origin *origin, const struct bbr_event *e)
{
	const struct conn_key key = conn_key_of(origin, e);
	struct flow *flow = mem_need(conn_map_new(&f->by_key, &key, sizeof(*flow)));

	flow->algorithm = origin->algorithm;
	strcpy(flow->instance, origin->name);
	flow->is_kernel = origin->is_kernel;
	flow->first = flow->last = *e;
	flow->min_rtt_us = BBR_RTT_NONE;
	for (unsigned int i = 0; i < FINDINGS_MAX; i++)
		flow->finding[i] = finding_field(origin->algorithm, i);
	flow->mode_ns = mem_new(origin->algorithm->n_modes, sizeof(*flow->mode_ns));
	MEM_ADD(f->flow, f->n_all) = flow;
	return flow;
}

static void note_state(struct flow *flow, const struct bbr_event *e)
{
	const struct bbr_event *before = &flow->last;

	if (event_has_state(before) && before->mode < flow->algorithm->n_modes &&
	    e->time_ns > before->time_ns)
		flow->mode_ns[before->mode] += e->time_ns - before->time_ns;
	for (unsigned int i = 0; i < FINDINGS_MAX && flow->finding[i]; i++) {
		bool is_found = finding_is_made(flow->finding[i], e);

		flow->found[i] += is_found && !flow->is_found[i];
		flow->is_found[i] = is_found;
	}
	if (event_has_state(e) && e->min_rtt_us < flow->min_rtt_us)
		flow->min_rtt_us = e->min_rtt_us;
}

void flows_note(struct flows *f, const struct origin *origin, const struct bbr_event *e)
{
	const char *profile = origin_profile(origin, e);
	struct flow *flow = flows_find(f, origin, e);

	if (!flow && f->n_all == FLOWS_MAX) {
		f->left_out++;
		return;
	}
	if (!flow)
		flow = add(f, origin, e);
	if (!f->start_ns || e->time_ns < f->start_ns)
		f->start_ns = e->time_ns;
	if (e->time_ns > f->end_ns)
		f->end_ns = e->time_ns;
	note_state(flow, e);
	flow->last = *e;
	flow->events++;
	flow->acks += e->kind == BBR_EV_ACK;
	flow->rtos += e->kind == BBR_EV_RTO;
	flow->has_state |= event_has_state(e);
	flow->has_start |= e->kind == BBR_EV_START;
	flow->has_end |= e->kind == BBR_EV_END;
	if (e->flags & BBR_F_SAMPLE) {
		flow->samples++;
		flow->app_limited += !!(e->flags & BBR_F_APP_LIMITED);
	}
	if (profile)
		strcpy(flow->profile, profile);
}

void flows_choose(struct flows *f)
{
	for (unsigned int i = 0; i < f->n_all; i++) {
		struct flow *flow = f->flow[i];

		if (!flow->has_state)
			continue;
		memmove(f->flow + f->n + 1, f->flow + f->n, (i - f->n) * sizeof(flow));
		f->flow[f->n++] = flow;
	}
	for (unsigned int i = 0; i < f->n_all; i++)
		f->flow[i]->number = i;
}

void flows_free(struct flows *f)
{
	while (f->n_all) {
		struct flow *flow = f->flow[--f->n_all];

		free(flow->mode_ns);
		conn_map_drop(&f->by_key, &flow->key);
	}
	free(f->flow);
}

bool flow_sends(const struct flow *flow)
{
	return flow->last.bytes_sent;
}

unsigned int flows_sending(const struct flows *f)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < f->n; i++)
		n += flow_sends(f->flow[i]);
	return n;
}

/* A socket that is disconnected starts its counters again. */
static __u64 growth(__u64 first, __u64 last)
{
	return last > first ? last - first : 0;
}

struct flow_growth flow_growth(const struct flow *flow)
{
	const struct bbr_event *first = &flow->first, *last = &flow->last;

	return (struct flow_growth){
		.ns = growth(first->time_ns, last->time_ns),
		.bytes_acked = growth(first->bytes_acked, last->bytes_acked),
		.bytes_sent = growth(first->bytes_sent, last->bytes_sent),
		.bytes_retrans = growth(first->bytes_retrans, last->bytes_retrans),
		.lost = growth(first->lost, last->lost),
	};
}

double flow_mean_bps(const struct flow *flow)
{
	struct flow_growth grown = flow_growth(flow);

	return grown.ns ? (double)grown.bytes_acked * 8 * NS_PER_S / grown.ns : 0;
}

/* ---- shares of the rate */

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

double rate_shares_top_bps(const struct rate_shares *r)
{
	double largest = 0;

	for (int i = 0; i < RATE_INTERVALS; i++)
		largest = fmax(largest, r->total[i]);
	return largest * 8 * NS_PER_S / r->interval_ns;
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
