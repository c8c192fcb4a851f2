// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "kernel/clock.h"
#include "event/event.h"
#include "event/field.h"
#include "flow.h"

/* The key comes first in struct flow. */
static struct flow *find(const struct flows *f, const struct conn_key *key)
{
	return (struct flow *)conn_map_find(&f->by_key, key);
}

struct flow *flows_find(const struct flows *f, const struct origin *origin,
			const struct bbr_event *e)
{
	const struct conn_key key = conn_key_of(origin, e);

	return find(f, &key);
}

static bool make_room(struct flows *f)
{
	unsigned int room = f->room ? 2 * f->room : 16;
	struct flow **grown;

	if (f->n_all < f->room)
		return true;
	grown = realloc(f->flow, room * sizeof(*grown));
	if (!grown)
		return false;
	f->flow = grown;
	f->room = room;
	return true;
}

static void free_flow(struct flow *flow)
{
	percentiles_free(&flow->rtt_us);
	free(flow->mode_ns);
	free(flow);
}

static struct flow *add(struct flows *f, const struct origin *origin, const struct bbr_event *e)
{
	struct flow *flow;

	if (!make_room(f))
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	flow->key = conn_key_of(origin, e);
	flow->algorithm = origin->algorithm;
	strcpy(flow->instance, origin->name);
	flow->is_kernel = origin->is_kernel;
	flow->first = flow->last = *e;
	flow->min_rtt_us = BBR_RTT_NONE;
	flow->mode_ns = calloc(origin->algorithm->n_modes, sizeof(*flow->mode_ns));
	if (!flow->mode_ns || !conn_map_add(&f->by_key, &flow->key)) {
		free_flow(flow);
		return NULL;
	}
	f->flow[f->n_all++] = flow;
	return flow;
}

static void note_state(struct flow *flow, const struct bbr_event *e)
{
	const struct bbr_event *before = &flow->last;
	const struct field *f;

	if (event_has_state(before) && before->mode < flow->algorithm->n_modes &&
	    e->time_ns > before->time_ns)
		flow->mode_ns[before->mode] += e->time_ns - before->time_ns;
	for (unsigned int i = 0; (f = finding_field(flow->algorithm, i)); i++)
		flow->found[i] +=
			finding_is_made(f, e) && (!flow->events || !finding_is_made(f, before));
	if (event_has_state(e) && e->min_rtt_us < flow->min_rtt_us)
		flow->min_rtt_us = e->min_rtt_us;
}

bool flows_note(struct flows *f, const struct origin *origin, const struct bbr_event *e)
{
	const char *profile = origin_profile(origin, e);
	struct flow *flow = flows_find(f, origin, e);

	if (!flow && f->n_all == FLOWS_MAX) {
		f->left_out++;
		return true;
	}
	if (!flow)
		flow = add(f, origin, e);
	if (!flow)
		return false;
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
	return e->rtt_us == BBR_RTT_NONE || percentiles_add(&flow->rtt_us, e->rtt_us);
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

		conn_map_remove(&f->by_key, &flow->key);
		free_flow(flow);
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

__u64 flow_bytes_acked(const struct flow *flow)
{
	return growth(flow->first.bytes_acked, flow->last.bytes_acked);
}

__u64 flow_bytes_retrans(const struct flow *flow)
{
	return growth(flow->first.bytes_retrans, flow->last.bytes_retrans);
}

__u64 flow_bytes_sent(const struct flow *flow)
{
	return growth(flow->first.bytes_sent, flow->last.bytes_sent);
}

__u32 flow_lost(const struct flow *flow)
{
	return growth(flow->first.lost, flow->last.lost);
}

__u64 flow_duration_ns(const struct flow *flow)
{
	return growth(flow->first.time_ns, flow->last.time_ns);
}

double flow_mean_bps(const struct flow *flow)
{
	__u64 ns = flow_duration_ns(flow);

	return ns ? (double)flow_bytes_acked(flow) * 8 * NS_PER_S / ns : 0;
}
