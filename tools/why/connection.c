// SPDX-License-Identifier: GPL-2.0-only
/* The connections of a window, and readings of them from what the kernel and BBR say. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "cli/err.h"
#include "connection.h"
#include "event/event.h"
#include "event/field.h"
#include "kernel/clock.h"
#include "kernel/instance.h"

struct why_connection *why_connection_get(struct why_connections *c, const struct conn_key *key,
					  size_t most)
{
	struct why_connection *found = (struct why_connection *)conn_map_find(&c->map, key);

	if (found || c->n >= most)
		return found;
	found = mem_need(conn_map_new(&c->map, key, sizeof(*found)));
	why_window_begin(&found->window);
	MEM_ADD(c->list, c->n) = found;
	return found;
}

void why_connection_note(struct why_connection *c, const char name[BBR_NAME_LEN],
			 const struct bbr_event *e)
{
	memcpy(c->name, name, sizeof(c->name));
	memcpy(c->laddr, e->laddr, sizeof(c->laddr));
	memcpy(c->raddr, e->raddr, sizeof(c->raddr));
	c->lport = e->lport;
	c->rport = e->rport;
	c->netns = e->netns;
}

bool why_connection_note_profile(struct why_connection *c, const struct origin *origin,
				 const struct bbr_event *e)
{
	const char *profile = origin_profile(origin, e);

	if (profile)
		strcpy(c->profile, profile);
	return profile;
}

void why_connections_cut(struct why_connections *c)
{
	for (; c->n_cut < c->n; c->n_cut++)
		conn_map_remove(&c->map, &c->list[c->n_cut]->key);
}

void why_connections_free(struct why_connections *c)
{
	why_connections_cut(c);
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i]);
	free(c->list);
	memset(c, 0, sizeof(*c));
}

/* ---- BBR */

static enum why_mode mode_of(const struct algorithm *a, const struct bbr_event *e)
{
	const char *name = mode_name(a, e->mode);

	if (!strcmp(name, "STARTUP"))
		return WHY_MODE_STARTUP;
	return strcmp(name, "PROBE_RTT") ? WHY_MODE_OTHER : WHY_MODE_PROBE_RTT;
}

void why_reading_of_event(struct why_reading *r, const struct algorithm *a,
			  const struct bbr_event *e)
{
	const struct field *policer = finding_field(a, 0), *rate = field_find(a, "lt_bw_bps");
	__u64 bps;

	*r = (struct why_reading){
		.time_ns = e->time_ns,
		.bytes_acked = e->bytes_acked,
		.bytes_sent = e->bytes_sent,
		.bytes_retrans = e->bytes_retrans,
		.delivered = e->delivered,
		.lost = e->lost,
		.cwnd = e->cwnd,
		.inflight = e->inflight,
		.ssthresh = e->ssthresh,
		.mss = e->mss,
		.srtt_us = e->srtt_us,
		.min_rtt_us = e->min_rtt_us == BBR_RTT_NONE ? 0 : e->min_rtt_us,
		.pacing_rate = e->pacing_rate,
		.ca_state = e->ca_state,
		.mode = mode_of(a, e),
		/* Version 1 heeds no losses but those that look like a policer's. */
		.reacts_to_losses = !rate,
		.bw = event_bytes_per_s(e, e->bw),
		.cwnd_gain = e->cwnd_gain,
		.socket_bound = WHY_NO_RATE,
		.profile_bound = WHY_NO_RATE,
		.is_app_limited = e->flags & BBR_F_APP_LIMITED,
	};
	r->is_policed = policer && !strcmp(policer->key, "policer") && finding_is_made(policer, e);
	/* Version 1 also says at which rate. */
	if (r->is_policed && rate && field_value(rate, e, &bps))
		r->policer_rate = bps / 8;
}

/* ---- the kernel */

const struct algorithm why_no_bbr = { .name = "" };

void why_reading_of_socket(struct why_reading *r, const struct why_socket *s)
{
	why_reading_of_event(r, &why_no_bbr, &s->snap.event);
	r->mode = WHY_MODE_NONE;
	r->has_socket = true;
	r->busy_us = us_of_ticks(s->snap.busy_ticks);
	r->rwnd_us = us_of_ticks(s->snap.rwnd_ticks);
	r->sndbuf_us = us_of_ticks(s->snap.sndbuf_ticks);
	r->snd_wnd = s->snd_wnd;
	r->unacked = s->unacked;
	r->unsent = s->unsent;
	r->sndbuf = s->sndbuf;
	r->no_space = s->no_space;
	r->is_cwnd_limited = s->is_cwnd_limited;
	r->cwnd_clamp = s->cwnd_clamp;
	r->socket_bound = s->max_pacing_rate;
	r->cpu = s->cpu;
	r->is_in_sockmap = s->snap.places & BBR_PLACE_SOCKMAP;
}

void why_reading_merge(struct why_reading *r, const struct why_reading *of_bbr)
{
	r->mode = of_bbr->mode;
	r->reacts_to_losses = of_bbr->reacts_to_losses;
	r->is_policed = of_bbr->is_policed;
	r->policer_rate = of_bbr->policer_rate;
	r->bw = of_bbr->bw;
	r->cwnd_gain = of_bbr->cwnd_gain;
	r->profile_bound = of_bbr->profile_bound;
	/* BBR's minimum is younger, and may be that of a queue that stays; the stack's is of minutes. */
	if (of_bbr->min_rtt_us && (!r->min_rtt_us || of_bbr->min_rtt_us < r->min_rtt_us))
		r->min_rtt_us = of_bbr->min_rtt_us;
}

/* ---- bounds of profiles */

struct bounded_instance {
	struct instance inst;
	const struct bbr_profiles_head *params; /* mapped; NULL: they cannot be read */
	size_t size;
};

/* Bytes per second of a parameter in bits; 0: it is off, or there is none. */
static __u64 rate_of_param(const struct algorithm *a, const __u32 *params, size_t n,
			   const char *key)
{
	for (__u32 i = 0; i < a->n_params; i++) {
		const struct param *p = &a->params[i];

		if (strcmp(p->key, key) || p->first >= n)
			continue;
		return p->unit == BBR_U_KBITRATE ? params[p->first] * 125ull : params[p->first] / 8;
	}
	return 0;
}

__u64 bound_of_params(const struct algorithm *a, const __u32 *params, size_t n)
{
	__u64 bound = rate_of_param(a, params, n, "max_pacing_rate");
	__u64 pinned = rate_of_param(a, params, n, "pacing_rate");

	if (pinned && (!bound || pinned < bound))
		bound = pinned;
	return bound ? bound : WHY_NO_RATE;
}

/* An instance that cannot be read is added, too, so that it is tried once. */
static struct bounded_instance *add_instance(struct profile_bounds *b, __u32 map_id)
{
	struct bounded_instance *added = &MEM_ADD(b->list, b->n);
	struct instance *list AUTO_FREE = NULL;
	int n = instance_list_alive(&list), fd;
	void *p;

	*added = (struct bounded_instance){ .inst.map_id = map_id };
	for (int i = 0; i < n; i++) {
		if (list[i].map_id != map_id || !list[i].supported)
			continue;
		added->inst = list[i];
		fd = instance_map(list[i].params_id);
		added->size =
			sizeof(*added->params) + 2ull * BBR_PROFILES * list[i].abi.params_size;
		p = fd < 0 ? MAP_FAILED : mmap(NULL, added->size, PROT_READ, MAP_SHARED, fd, 0);
		added->params = p == MAP_FAILED ? NULL : p;
		if (fd >= 0)
			close(fd);
	}
	return added;
}

__u64 profile_bound(struct profile_bounds *b, __u32 map_id, unsigned int profile)
{
	struct bounded_instance *found = NULL;
	size_t n, bank;

	for (unsigned int i = 0; i < b->n; i++)
		if (b->list[i].inst.map_id == map_id)
			found = &b->list[i];
	if (!found)
		found = add_instance(b, map_id);
	if (!found->params || profile >= BBR_PROFILES)
		return WHY_NO_RATE;
	bank = 2 * profile + (found->params->gen[profile] & 1);
	n = found->inst.abi.params_size;
	return bound_of_params(found->inst.algorithm,
			       (const __u32 *)((const char *)(found->params + 1) + bank * n),
			       n / sizeof(__u32));
}

void profile_bounds_free(struct profile_bounds *b)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->list[i].params)
			munmap((void *)b->list[i].params, b->list[i].size);
	free(b->list);
	memset(b, 0, sizeof(*b));
}
