// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event/event.h"
#include "flow.h"

static struct flow_key key_of(const struct origin *origin, const struct bbr_event *e)
{
	struct flow_key key = { .conn = e->conn, .instance = origin->id };

	if (key.conn)
		return key;
	key.netns = e->netns;
	memcpy(key.laddr, e->laddr, sizeof(key.laddr));
	memcpy(key.raddr, e->raddr, sizeof(key.raddr));
	key.ports = (__u32)e->lport << 16 | e->rport;
	return key;
}

/* The key comes first in struct flow, so that either can be looked for. */
static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct flow_key));
}

struct flow *flows_find(const struct flows *f, const struct origin *origin,
			const struct bbr_event *e)
{
	struct flow_key key = key_of(origin, e);
	struct flow **found = tfind(&key, &f->tree, compare);

	return found ? *found : NULL;
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

static struct flow *add(struct flows *f, const struct origin *origin, const struct bbr_event *e)
{
	struct flow *flow;

	if (!make_room(f))
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	flow->key = key_of(origin, e);
	strcpy(flow->instance, origin->name);
	flow->is_kernel = origin->is_kernel;
	flow->first = flow->last = *e;
	flow->min_rtt_us = BBR_RTT_NONE;
	if (!tsearch(flow, &f->tree, compare)) {
		free(flow);
		return NULL;
	}
	f->flow[f->n_all++] = flow;
	return flow;
}

static bool is_policed(const struct bbr_event *e)
{
	return event_has_state(e) && e->flags & BBR_F_LT_USE_BW;
}

static void note_state(struct flow *flow, const struct bbr_event *e)
{
	const struct bbr_event *before = &flow->last;

	if (event_has_state(before) && before->mode < BBR_MODES && e->time_ns > before->time_ns)
		flow->mode_ns[before->mode] += e->time_ns - before->time_ns;
	if (is_policed(e) && (!flow->events || !is_policed(before)))
		flow->policers++;
	if (event_has_state(e) && e->min_rtt_us < flow->min_rtt_us)
		flow->min_rtt_us = e->min_rtt_us;
}

bool flows_note(struct flows *f, const struct origin *origin, const struct bbr_event *e)
{
	const char *profile = origin_profile(origin, e);
	struct flow *flow = flows_find(f, origin, e);

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

		tdelete(flow, &f->tree, compare);
		percentiles_free(&flow->rtt_us);
		free(flow);
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

/* A socket that is disconnected begins its counters anew. */
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
