// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "snapshot.h"

struct connection {
	struct conn_key key; /* the first member: a key in the map is its connection */
	const struct origin *origin;
	struct bbr_event last;
};

/* A copy: the source may move its own, and uses the place of the names for other origins. */
struct known_origin {
	struct origin origin; /* its profiles point to names */
	char names[BBR_PROFILES][BBR_PROFILE_NAME_LEN];
	struct known_origin *next;
};

/* Keeps the event's origin, and the name of the event's profile. NULL: there is no place. */
static const struct origin *keep_origin(struct recorded *r, const struct origin *origin,
					const struct bbr_event *e)
{
	struct known_origin *k = r->origins;

	while (k && k->origin.id != origin->id)
		k = k->next;
	if (!k && r->n_origins == RECORDED_ORIGINS_MAX)
		return NULL;
	if (!k) {
		k = mem_new(1, sizeof(*k));
		r->n_origins++;
		k->next = r->origins;
		r->origins = k;
	}
	k->origin = *origin;
	k->origin.profiles = (const char(*)[BBR_PROFILE_NAME_LEN])k->names;
	if (origin->profiles && e->profile < BBR_PROFILES)
		memcpy(k->names[e->profile], origin->profiles[e->profile], BBR_PROFILE_NAME_LEN);
	return &k->origin;
}

static void forget_all(struct recorded *r)
{
	conn_map_free(&r->live);
	for (struct known_origin *k = r->origins, *next; k; k = next) {
		next = k->next;
		free(k);
	}
	r->origins = NULL;
	r->n_origins = 0;
}

static bool note_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct recorded *r = ctx;
	const struct recording_run run = event_source_run(&r->source);
	__u64 time_ns = e->time_ns + run_clocks_epoch_ns(&r->clocks, &run);
	struct conn_key key;
	struct connection *c;

	if (!r->until_ns) /* the first one */
		r->until_ns = r->after_ns < ~time_ns ? time_ns + r->after_ns : ~0ull;
	if (time_ns > r->until_ns)
		r->is_past = true;
	if (r->is_past)
		return false;
	if (r->run != run.id) {
		forget_all(r);
		r->run = run.id;
	}
	key = conn_key_of(origin, e);
	if (e->kind == BBR_EV_END) {
		conn_map_drop(&r->live, &key);
		return true;
	}
	origin = keep_origin(r, origin, e);
	if (!origin) {
		r->of_no_origin++;
		return true;
	}
	c = (struct connection *)conn_map_find(&r->live, &key);
	if (!c && r->live.n == RECORDED_CONNS_MAX) {
		r->left_out++;
		return true;
	}
	if (!c)
		c = mem_need(conn_map_new(&r->live, &key, sizeof(*c)));
	c->origin = origin;
	c->last = *e;
	return true;
}

int recorded_open(struct recorded *r, const char *file, __u64 at_ns)
{
	const struct watch_config config = {
		.request.sampling = BBR_SAMPLE_ACK,
		.handle = note_event,
		.ctx = r,
		.read = file,
	};
	bool idle;
	int ret;

	memset(r, 0, sizeof(*r));
	r->after_ns = at_ns;
	ret = event_source_open(&r->source, &config);
	if (ret)
		return ret;
	while (!ret && !r->is_past && !event_source_is_over(&r->source))
		ret = event_source_poll(&r->source, 0, &idle);
	if (ret) {
		recorded_close(r);
		return ret;
	}
	if (r->left_out)
		err("%llu events are left out: more than %u connections were open at once",
		    r->left_out, RECORDED_CONNS_MAX);
	if (r->of_no_origin)
		err("%llu events are left out: a run has more than %d instances", r->of_no_origin,
		    RECORDED_ORIGINS_MAX);
	return EXIT_DONE;
}

void recorded_for_each(const struct recorded *r, sockets_handler handle, void *ctx)
{
	struct conn_key **sorted = mem_need(conn_map_sorted(&r->live));

	for (struct conn_key **at = sorted; *at; at++) {
		const struct connection *found = (const struct connection *)*at;
		struct bbr_snapshot state = { .event = found->last };

		state.event.kind = BBR_EV_STATE;
		if (!handle(ctx, found->origin, &state))
			break;
	}
	free(sorted);
}

void recorded_close(struct recorded *r)
{
	forget_all(r);
	run_clocks_free(&r->clocks);
	event_source_close(&r->source);
}
